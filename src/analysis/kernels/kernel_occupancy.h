/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The occupancy of kernels: how many warps of a multiprocessor are resident at most, by what a
 * block needs (theoretical) and as counters measured it (achieved), and which need limits it. A row
 * for each kernel and its needs: threads, registers and shared memory of a block. The theoretical
 * one is Nsight Compute's where it says so, else it is computed from these needs and the limits of
 * the device (device_limits.h). Pure.
 */
#ifndef SS_ANALYSIS_KERNELS_KERNEL_OCCUPANCY_H
#define SS_ANALYSIS_KERNELS_KERNEL_OCCUPANCY_H

#include "analysis/selection/selection.h"
#include "analysis/table/table.h"

enum ss_occupancy_column {
    SS_OCCUPANCY_KERNEL,
    SS_OCCUPANCY_BASE,
    SS_OCCUPANCY_SHORT,
    SS_OCCUPANCY_THREADS,   /* of a block; this and the next: absent where unknown */
    SS_OCCUPANCY_REGISTERS, /* of a thread */
    SS_OCCUPANCY_SHARED,    /* bytes of a block, without the driver's */
    SS_OCCUPANCY_INSTANCES,
    SS_OCCUPANCY_TIME,
    SS_OCCUPANCY_PERCENT,     /* of the time of all kernels in the table */
    SS_OCCUPANCY_THEORETICAL, /* percent of the warps of a multiprocessor */
    SS_OCCUPANCY_ACHIEVED,
    SS_OCCUPANCY_BY_REGISTERS, /* blocks that fit into a multiprocessor: this and the next three */
    SS_OCCUPANCY_BY_SHARED,
    SS_OCCUPANCY_BY_WARPS,
    SS_OCCUPANCY_BY_BLOCKS,
    SS_OCCUPANCY_WAVES,   /* times that the grid fills the device; the mean */
    SS_OCCUPANCY_SOURCE,  /* of the theoretical one: "reported" by the file, or "computed" */
    SS_OCCUPANCY_LIMITER, /* "registers", "shared memory", "block size", "barriers"; absent: all
                             warps fit, or it is unknown */
    SS_OCCUPANCY_SENTENCE,
    SS_OCCUPANCY_COLUMNS
};

struct ss_occupancy_options {
    size_t size;
    uint64_t max_rows; /* 0: all */
};

/* Kernels by their time, the longest first. */
void ss_occupancy_table(const struct ss_selection *selection,
                        const struct ss_occupancy_options *options, struct ss_table *table);

#endif
