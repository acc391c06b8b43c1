/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on trainings in pipeline stages. */
#include "analysis/diagnosis/rule_parts.h"
#include "analysis/table/rule_limits.h"
#include "base/shared_names.h"

static void set_pipeline(const struct ss_training_facts *facts, struct ss_finding *finding,
                         double recoverable_ns)
{
    const struct ss_pipeline *pipeline = &facts->pipeline;
    uint64_t ns = recoverable_ns > 0 ? (uint64_t)recoverable_ns : 0;
    ss_finding_set_cost(finding, ns, ns);
    finding->phase = ss_training_phase(facts, ss_phase_communication);
    finding->is_part = true; /* the cause of waits: more specific than the phase */
    ss_finding_add(finding, "stages", SS_EVIDENCE_COUNT, (double)pipeline->stages);
    ss_finding_add(finding, "micro-batches in a step", SS_EVIDENCE_COUNT, pipeline->micro_batches);
    ss_finding_add(finding, "of a pass is idle", SS_EVIDENCE_PERCENT,
                   100 * pipeline->idle_ns / pipeline->pass_ns);
    ss_finding_add(finding, "with equal stages it would be", SS_EVIDENCE_PERCENT,
                   100 * ss_pipeline_ideal(pipeline->stages, pipeline->micro_batches));
}

bool ss_rule_unequal_stages(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_pipeline *pipeline = &facts->pipeline;
    if (pipeline->steps == 0) {
        return false;
    }
    if (facts->pipeline_slowest >= 0) {
        ss_finding_add(finding, "slowest: rank", SS_EVIDENCE_NUMBER,
                       (double)facts->pipeline_slowest);
    }
    ss_finding_add(finding, "its micro-batch", SS_EVIDENCE_NS, pipeline->slowest_ns);
    ss_finding_add(finding, "mean of the others", SS_EVIDENCE_NS, pipeline->other_ns);
    set_pipeline(facts, finding, pipeline->unequal_ns);
    return true;
}

bool ss_rule_pipeline_bubble(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_pipeline *pipeline = &facts->pipeline;
    if (pipeline->steps == 0) {
        return false;
    }
    set_pipeline(facts, finding,
                 pipeline->ideal_ns - pipeline->ideal_ns / SS_LIMIT_MORE_MICRO_BATCHES);
    double more = SS_LIMIT_MORE_MICRO_BATCHES * pipeline->micro_batches;
    ss_finding_add(finding, "micro-batches that would save this", SS_EVIDENCE_COUNT, more);
    ss_finding_add(finding, "with them it would be", SS_EVIDENCE_PERCENT,
                   100 * ss_pipeline_ideal(pipeline->stages, more));
    return true;
}
