/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/phase_spread.h"

struct ss_phase_spread ss_phase_spread_of(const struct ss_step_summary *steps,
                                          const struct ss_step_phase *phase)
{
    struct ss_phase_spread spread = {0};
    if (phase == NULL) {
        return spread;
    }
    size_t column = (size_t)(phase - steps->phases.data);
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        enum ss_step_kind kind = steps->steps.data[i].kind;
        if (kind == SS_STEP_STEADY || kind == SS_STEP_OUTLIER) {
            uint64_t ns = steps->phase_ns[i * steps->phases.count + column];
            spread.all_steps++;
            spread.steps += ns > 0;
            sum_ns += ns < UINT64_MAX - sum_ns ? ns : 0;
        }
    }
    spread.mean_ns = spread.all_steps > 0 ? sum_ns / spread.all_steps : 0;
    spread.each_ns = spread.steps > 0 ? sum_ns / spread.steps : 0;
    return spread;
}
