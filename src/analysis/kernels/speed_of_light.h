/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The speed of light of kernels: what hardware counters measured of compute, L1, L2 and DRAM, in
 * percent of what the device can do, and which of them limits the kernel. Of a kernel's launches
 * the mean, weighted by their time. Throughputs that were not measured are derived where their
 * parts were: bytes over time against the peak, how busy pipelines were. Pure.
 */
#ifndef SS_ANALYSIS_KERNELS_SPEED_OF_LIGHT_H
#define SS_ANALYSIS_KERNELS_SPEED_OF_LIGHT_H

#include "analysis/selection/selection.h"
#include "analysis/table/table.h"

enum ss_light_column {
    SS_LIGHT_KERNEL, /* whole name; or "training step", whose counters were measured */
    SS_LIGHT_BASE,
    SS_LIGHT_SHORT,
    SS_LIGHT_INSTANCES,
    SS_LIGHT_TIME,
    SS_LIGHT_PERCENT, /* of the time of all that was measured */
    SS_LIGHT_COMPUTE, /* percent of the peak, as the next four; absent: unknown */
    SS_LIGHT_MEMORY,  /* of the most used part of it */
    SS_LIGHT_L1,
    SS_LIGHT_L2,
    SS_LIGHT_DRAM,
    SS_LIGHT_SOURCE,   /* "measured", or what is derived: a throughput is at least that */
    SS_LIGHT_LIMITER,  /* "compute", "DRAM", "L2", "L1", "memory", "latency"; absent: unknown */
    SS_LIGHT_SENTENCE, /* why */
    SS_LIGHT_COLUMNS
};

struct ss_light_options {
    size_t size;
    bool by_base;      /* kernels of one base name are one */
    uint64_t max_rows; /* 0: all */
};

/* Kernels by their time, the longest first. */
void ss_light_table(const struct ss_selection *selection, const struct ss_light_options *options,
                    struct ss_table *table);

#endif
