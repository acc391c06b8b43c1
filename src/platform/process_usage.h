/* SPDX-License-Identifier: Apache-2.0 */
/* Resource usage of a process: /proc/PID/stat, io and status. Pure functions over their text. */
#ifndef SS_PLATFORM_PROCESS_USAGE_H
#define SS_PLATFORM_PROCESS_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

struct ss_process_usage {
    char state;
    uint64_t minor_faults, major_faults;
    uint64_t user_ticks, system_ticks;
    uint64_t threads;
    uint64_t start_time_ticks;
    uint64_t rss_pages;
};
bool ss_process_usage_parse(struct ss_strview text, struct ss_process_usage *usage);

struct ss_process_io {
    uint64_t read_bytes, written_bytes;           /* from and to storage */
    uint64_t read_call_bytes, written_call_bytes; /* by read and write calls, caches included */
};
bool ss_process_io_parse(struct ss_strview text, struct ss_process_io *io);

/* Context switches of one thread: it gave up the CPU, or the kernel preempted it. */
struct ss_thread_switches {
    uint64_t voluntary, involuntary;
};
bool ss_thread_switches_parse(struct ss_strview text, struct ss_thread_switches *switches);

#endif
