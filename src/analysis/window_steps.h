/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps a schedule did not record: all that is known of them is when they were. Figures of
 * the usual step leave them out, so that what a step cost and what was in it is told of the same
 * steps. Pure.
 */
#ifndef SS_ANALYSIS_WINDOW_STEPS_H
#define SS_ANALYSIS_WINDOW_STEPS_H

#include "analysis/steps.h"

/* Makes steps SS_STEP_OUTSIDE, but for those that are cut, in processes that followed a schedule;
 * not where no usual one would be left. Belongs to ss_step_summary_init. */
void ss_window_steps_mark(struct ss_step_summary *summary, const struct ss_model *model);

#endif
