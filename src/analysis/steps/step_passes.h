/* SPDX-License-Identifier: Apache-2.0 */
/* How often a step runs its model backward. Pure. */
#ifndef SS_ANALYSIS_STEPS_STEP_PASSES_H
#define SS_ANALYSIS_STEPS_STEP_PASSES_H

#include "analysis/steps/steps.h"

/* Backward passes of the median steady-state step; 0: none. */
uint64_t ss_step_passes(const struct ss_step_summary *steps, const struct ss_model *model);

#endif
