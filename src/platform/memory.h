/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the memory of another process, without stopping it and never writing to it.
 *
 * process_vm_readv first; /proc/PID/mem where that call is missing or filtered. A reader belongs
 * to one thread. `unwind/` sees memory only through this small interface, so that tests and
 * fuzzers can put hostile memory behind it.
 */
#ifndef SS_PLATFORM_MEMORY_H
#define SS_PLATFORM_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory_reader.h"

/* Why a read was refused, for `doctor` and for the message of `record -p`. */
enum ss_status ss_memory_open(pid_t pid, struct ss_memory_reader **reader, struct ss_error *err);
void ss_memory_close(struct ss_memory_reader *reader);

#endif
