/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diagnosis/serving.h"

#include <math.h>
#include <string.h>

#include "analysis/table/uncertainty.h"
#include "base/shared_names.h"

static bool calls_model_only(const struct ss_training_facts *facts)
{
    return strcmp(facts->step_source, "forward passes") == 0;
}

static uint64_t model_ns(const struct ss_training_facts *facts)
{
    return ss_training_phase_ns(facts, ss_phase_inference) +
           ss_training_phase_ns(facts, ss_phase_evaluation) +
           ss_training_phase_ns(facts, ss_phase_forward);
}

void ss_serving_find(struct ss_serving *serving, const struct ss_training_facts *facts)
{
    const struct ss_phase_line *waits = &facts->waits.groups[SS_WAITS_CLIENTS].line;
    *serving = (struct ss_serving){.request_ns = 0};
    if (!calls_model_only(facts) || waits->all < SS_MIN_CLAIM_SAMPLES || facts->spread_ns == 0) {
        return;
    }
    double share = fmin((double)waits->all / (double)facts->waits.samples, 1);
    double busy_ns = fmax((1 - share) * (double)facts->spread_ns, 1);
    uint64_t in_model_ns = model_ns(facts);
    *serving = (struct ss_serving){
        .request_ns = (uint64_t)busy_ns,
        .model_ns = in_model_ns < (uint64_t)busy_ns ? in_model_ns : (uint64_t)busy_ns,
        .waits_percent = 100 * share,
        .waits_error =
            ss_share_error_points(waits->all, facts->waits.samples, facts->waits.samples),
        .per_s = 1e9 * (double)facts->steps->processes / (double)facts->spread_ns,
        .possible_per_s = 1e9 * (double)facts->steps->processes / busy_ns,
        .line = facts->hot_lines.count > 0 ? &facts->hot_lines.rows[0] : NULL};
}
