/* SPDX-License-Identifier: Apache-2.0 */
/* What the cores of a machine spend their time on, who waits for what: /proc/stat, /proc/loadavg
 * and /proc/pressure. Pure functions over their text. */
#ifndef SS_PLATFORM_HOST_CPU_H
#define SS_PLATFORM_HOST_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strview.h"

/* In the order of the file. Guest time is contained in user and nice time as well. */
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
    int32_t number; /* of the core; -1: all cores together */
    uint64_t ticks[SS_CPU_USES];
};

/* The rows of /proc/stat that tell of cores, in the file's order: only cores that are online have
 * one. Returns how many there are; no more than `capacity` are stored. */
size_t ss_host_cpu_parse(struct ss_strview text, struct ss_cpu_times *rows, size_t capacity);

struct ss_host_load {
    double one, five, fifteen; /* tasks that run or wait, as averages over so many minutes */
    uint64_t runnable, tasks;  /* now */
};
bool ss_host_load_parse(struct ss_strview text, struct ss_host_load *load);

/* Time since boot in which some, or all, tasks that had work to do waited for the resource. */
struct ss_host_pressure {
    bool has_some, has_full;
    uint64_t some_us, full_us;
};
bool ss_host_pressure_parse(struct ss_strview text, struct ss_host_pressure *pressure);

#endif
