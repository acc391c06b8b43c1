/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory over a training: the gauges of bytes that the integration writes as steps end, one row
 * for each process and counter. Pure.
 */
#ifndef SS_ANALYSIS_STEP_MEMORY_H
#define SS_ANALYSIS_STEP_MEMORY_H

#include "analysis/steps.h"
#include "analysis/table.h"

enum ss_memory_column {
    SS_MEMORY_NAME, /* of the counter: "memory rss", "cuda allocated", … */
    SS_MEMORY_PID,
    SS_MEMORY_START, /* first value */
    SS_MEMORY_END,   /* last value */
    SS_MEMORY_PEAK,
    SS_MEMORY_PER_STEP, /* slope of the straight line through the values at the ends of usual
                           steps (least squares); absent on fewer than three */
    SS_MEMORY_COLUMNS
};

/* `training` may be NULL. */
void ss_memory_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                     struct ss_table *table);

#endif
