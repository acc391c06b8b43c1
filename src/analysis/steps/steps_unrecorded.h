/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that a schedule did not record: only their times are known. Figures of the steady-state
 * step leave them out, so that cost and contents of a step come from the same steps. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_STEPS_UNRECORDED_H
#define SS_ANALYSIS_STEPS_STEPS_UNRECORDED_H

#include "analysis/steps/steps.h"

/* Marks steps SS_STEP_OUTSIDE, except cut ones, in processes that followed a schedule. Where a
 * process recorded no steady-state step, its recorded outliers count as such, or else its recorded
 * warm-up; if no whole step was recorded, marks nothing. Called by ss_step_summary_init only. */
void ss_window_steps_mark(struct ss_step_summary *summary, const struct ss_model *model);

#endif
