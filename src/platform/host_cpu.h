/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time by use, load and pressure stall time of a machine: /proc/stat, /proc/loadavg and
 * /proc/pressure. Pure functions over their text. */
#ifndef SS_PLATFORM_HOST_CPU_H
#define SS_PLATFORM_HOST_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strview.h"

/* In the order of the file. User and nice time include guest time. */
enum ss_cpu_use {
    SS_CPU_USER,
    SS_CPU_NICE,
    SS_CPU_SYSTEM,
    SS_CPU_IDLE,
    SS_CPU_IOWAIT,
    SS_CPU_IRQ,
    SS_CPU_SOFTIRQ,
    SS_CPU_STEAL,
    SS_CPU_GUEST,
    SS_CPU_GUEST_NICE,
    SS_CPU_USES
};

struct ss_cpu_times {
    int32_t number; /* of the core; -1: sum over all cores */
    uint64_t ticks[SS_CPU_USES];
};

/* The cpu lines of /proc/stat, in the file's order; the file lists only online cores. Returns the
 * number of lines; stores at most `capacity`. */
size_t ss_host_cpu_parse(struct ss_strview text, struct ss_cpu_times *times, size_t capacity);

struct ss_host_load {
    double one, five, fifteen; /* running and waiting tasks, averages over 1, 5 and 15 minutes */
    uint64_t runnable, tasks;  /* now */
};
bool ss_host_load_parse(struct ss_strview text, struct ss_host_load *load);

/* Time since boot in which some, or all, non-idle tasks waited for the resource. */
struct ss_host_pressure {
    bool has_some, has_full;
    uint64_t some_us, full_us;
};
bool ss_host_pressure_parse(struct ss_strview text, struct ss_host_pressure *pressure);

#endif
