/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline of whole steps: floating-point operations and bytes of the kernels that ran in a
 * step, summed, over the time of the step and beside the peaks of the device. Kernels in several
 * number formats have peaks of their own: their share of compute is the sum of the times that each
 * needs at least, over the time of the step. Kernels are measured or estimated as in roofline.h.
 * Steps whose counters were measured as a whole have what was measured. Pure.
 */
#ifndef SS_ANALYSIS_ROOFLINE_STEP_ROOFLINE_H
#define SS_ANALYSIS_ROOFLINE_STEP_ROOFLINE_H

#include "analysis/roofline/roofline.h"

enum ss_step_roofline_column {
    SS_STEP_ROOFLINE_STEP,
    SS_STEP_ROOFLINE_KIND, /* absent: measured by counters, on no recorded step */
    SS_STEP_ROOFLINE_PID,
    SS_STEP_ROOFLINE_DEVICE, /* whose peaks apply; absent: unknown */
    SS_STEP_ROOFLINE_SOURCE, /* "measured": of the step as a whole; else "sum of kernels" */
    SS_STEP_ROOFLINE_KERNELS,
    SS_STEP_ROOFLINE_TIME,        /* of the step */
    SS_STEP_ROOFLINE_KERNEL_TIME, /* of its kernels that compute */
    SS_STEP_ROOFLINE_KNOWN,       /* percent of that: kernels with FLOPs or bytes */
    SS_STEP_ROOFLINE_FLOPS,       /* this and the next four: of these kernels */
    SS_STEP_ROOFLINE_BYTES,
    SS_STEP_ROOFLINE_RATE, /* per second of the step; also the next */
    SS_STEP_ROOFLINE_BANDWIDTH,
    SS_STEP_ROOFLINE_INTENSITY, /* FLOPs per byte */
    SS_STEP_ROOFLINE_COMPUTE,   /* percent of the peaks: this and the next two; absent: unknown */
    SS_STEP_ROOFLINE_MEMORY,
    SS_STEP_ROOFLINE_ROOF,  /* the larger one */
    SS_STEP_ROOFLINE_BOUND, /* "compute", "memory" */
    SS_STEP_ROOFLINE_COLUMNS
};

void ss_step_roofline_table(const struct ss_selection *selection,
                            const struct ss_step_summary *training, uint64_t max_rows,
                            struct ss_table *table);

#endif
