/* SPDX-License-Identifier: Apache-2.0 */
/* A phase over steady-state steps and outliers, also those that do not have it. Pure. */
#ifndef SS_ANALYSIS_STEPS_PHASE_SPREAD_H
#define SS_ANALYSIS_STEPS_PHASE_SPREAD_H

#include "analysis/steps/steps.h"

struct ss_phase_spread {
    uint64_t steps, all_steps; /* steps with the phase, and all */
    uint64_t mean_ns;          /* per step */
    uint64_t each_ns;          /* per step with the phase */
};

/* `phase` belongs to the summary; NULL: all is 0. */
struct ss_phase_spread ss_phase_spread_of(const struct ss_step_summary *steps,
                                          const struct ss_step_phase *phase);

#endif
