/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of devices by the line of Python that launched their work (launch_lines.h). Rows add up
 * to all work: what no line is known of, and what was launched before the recording, has rows of
 * its own, the last ones. Pure.
 */
#ifndef SS_ANALYSIS_KERNELS_KERNEL_LINES_H
#define SS_ANALYSIS_KERNELS_KERNEL_LINES_H

#include "analysis/kernels/launch_lines.h"
#include "analysis/table/table.h"

enum ss_kernel_line_column {
    SS_KERNEL_LINE_PATH, /* this and the next: absent where no line is known */
    SS_KERNEL_LINE_NUMBER,
    SS_KERNEL_LINE_FUNCTION, /* or "(no line known)", … */
    SS_KERNEL_LINE_PERCENT,  /* of the time of all work */
    SS_KERNEL_LINE_TOTAL,
    SS_KERNEL_LINE_KERNELS,
    SS_KERNEL_LINE_WORKS,     /* kernels, copies and memsets */
    SS_KERNEL_LINE_STEP_TIME, /* this and the next: launched in a steady-state step, mean */
    SS_KERNEL_LINE_STEP_KERNELS,
    SS_KERNEL_LINE_BACKWARD,      /* of the total: launched by the backward of the line */
    SS_KERNEL_LINE_COMMUNICATION, /* of the total: kernels that communicate */
    SS_KERNEL_LINE_COPY,          /* of the total: copies and memsets */
    SS_KERNEL_LINE_HEAVIEST,      /* name of the work with most time */
    SS_KERNEL_LINE_HEAVIEST_TIME,
    SS_KERNEL_LINE_SHORT, /* ss_kernel_short_name of the heaviest */
    SS_KERNEL_LINE_COLUMNS
};

enum ss_kernel_line_sort {
    SS_KERNEL_LINES_BY_TOTAL,
    SS_KERNEL_LINES_BY_KERNELS,
    SS_KERNEL_LINES_BY_STEP,
    SS_KERNEL_LINES_BY_BACKWARD,
    SS_KERNEL_LINES_BY_COMMUNICATION,
    SS_KERNEL_LINES_BY_COPY
};

struct ss_kernel_lines_options {
    size_t size;
    enum ss_kernel_line_sort sort; /* largest first; ties by total */
    uint64_t max_rows;             /* 0: all; of rows with a line */
};

/* `training` may be NULL. */
void ss_kernel_lines_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training,
                           const struct ss_kernel_lines_options *options, struct ss_table *table);

#endif
