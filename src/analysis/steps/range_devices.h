/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of devices that was launched within ranges: of a range on a thread, what this thread
 * launched between its begin and end; of steps and phases, what the process launched. Work counts
 * with its whole time, wherever it runs, and once in a row. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_RANGE_DEVICES_H
#define SS_ANALYSIS_STEPS_RANGE_DEVICES_H

#include "analysis/steps/range_rows.h"

/* `row_of`: by range, its row plus one; 0: none. */
void ss_range_rows_add_devices(struct ss_range_rows *rows, const struct ss_selection *selection,
                               const uint32_t *row_of);

#endif
