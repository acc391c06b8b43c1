/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the memory of another process, without stopping it and without writing to it.
 *
 * Uses process_vm_readv; /proc/PID/mem where that call is missing or filtered. A reader belongs to
 * one thread. `unwind/` reads memory only through ss_memory_reader, so that tests and fuzzers can
 * supply hostile memory.
 */
#ifndef SS_PLATFORM_MEMORY_H
#define SS_PLATFORM_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory_reader.h"

/* When the kernel refuses reads, *err gives the reason and the fix (ss_ptrace_explain). */
enum ss_status ss_memory_open(pid_t pid, struct ss_memory_reader **reader, struct ss_error *err);
void ss_memory_close(struct ss_memory_reader *reader);

#endif
