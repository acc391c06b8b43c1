/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface's times on CLOCK_MONOTONIC. CUPTI accepts a function that returns the time; where
 * it refuses, pairs of readings convert, linearly between neighbours, because its own clock may be
 * stepped and slewed. One thread. Pure.
 */
#ifndef SS_INJECT_DEVICE_CLOCK_H
#define SS_INJECT_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { SS_DEVICE_CLOCK_PAIRS = 64 };

struct ss_device_clock_pair {
    uint64_t theirs, ours;
};

struct ss_device_clock {
    struct ss_device_clock_pair pairs[SS_DEVICE_CLOCK_PAIRS]; /* a queue, in order of `theirs` */
    uint32_t count;                                           /* 0: times are ours already */
};

/* Later pairs have later times; else the earlier ones are forgotten: the clock was set back. */
void ss_device_clock_add(struct ss_device_clock *clock, struct ss_device_clock_pair pair);
/* 0 stays 0. */
uint64_t ss_device_clock_convert(const struct ss_device_clock *clock, uint64_t theirs);

#endif
