/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on interruptions of a step: collections, checkpoints, logs, stalls, other ranks,
 * evaluation. */
#include "analysis/diagnosis/rule_parts.h"

#include <math.h>
#include <string.h>

#include "analysis/table/uncertainty.h"
#include "base/shared_names.h"

bool ss_rule_gc_pauses(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    ss_finding_set_spread_cost(facts, finding, facts->collections_ns);
    finding->interrupts = true;
    ss_finding_add(finding, "collections", SS_EVIDENCE_COUNT, (double)facts->collections);
    if (facts->samples.collects.samples >= SS_MIN_CLAIM_SAMPLES) {
        finding->headline = "goes into calls of gc.collect()";
        finding->fix = "call it after large parts of the program's data were freed, not in each "
                       "step; Python collects by itself";
        ss_finding_set_line(finding, &facts->samples.collects, "those calls");
    }
    return facts->collections >= SS_LIMIT_FEWEST_COLLECTIONS;
}

bool ss_rule_checkpoint_stalls(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_phase_spread *checkpoints = &facts->checkpoints;
    bool has_more = checkpoints->mean_ns > facts->saves_ns; /* a framework's checkpoint, around
                                                             * torch.save */
    ss_finding_set_spread_cost(facts, finding, has_more ? checkpoints->mean_ns : facts->saves_ns);
    finding->phase = ss_training_phase(facts, ss_phase_checkpoint);
    ss_finding_set_phase_line(finding, facts, ss_phase_checkpoint, "that time");
    finding->ends_with_line = true;
    finding->interrupts = true;
    uint64_t count = checkpoints->steps > 0 ? checkpoints->steps : facts->saves;
    ss_finding_add(finding, checkpoints->steps > 0 ? "steps with a checkpoint" : "checkpoints",
                   SS_EVIDENCE_COUNT, (double)count);
    if (facts->saves > count) {
        ss_finding_add(finding, "calls of torch.save", SS_EVIDENCE_COUNT, (double)facts->saves);
    }
    return count >= SS_LIMIT_FEWEST_CHECKPOINTS;
}

/* Samples include slow steps. */
static uint64_t logs_time_ns(const struct ss_training_facts *facts)
{
    const struct ss_training_samples *samples = &facts->samples;
    double all = samples->all > 0 ? (double)samples->all : 1;
    return ss_share_of_ns(facts->spread_ns, (double)samples->logs.all / all);
}

/* What the slow steps do: the heaviest line of that phase, if it explains their time. */
static void name_stalls(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_period *period = &facts->period;
    for (size_t i = 0; i < facts->hot_lines.count; i++) {
        const struct ss_hot_line *line = &facts->hot_lines.rows[i];
        if (line->phase != period->phase || line->line.samples < SS_MIN_CLAIM_SAMPLES ||
            !ss_is_percent_of(line->cost_ns, period->more_ns, SS_LIMIT_STALLS_LINE_PERCENT)) {
            continue;
        }
        const char *cure = ss_activity_fix(line->activity);
        finding->line = &line->line;
        finding->hot_line = line;
        finding->activity = line->activity;
        finding->fix = cure != NULL ? cure : finding->fix;
        return;
    }
}

/* A policy that acts in its environment, or a test. */
static void name_rollouts(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_period *period = &facts->period;
    struct ss_strview phase = ss_step_phase_text(facts->model, period->phase);
    bool is_inference = ss_strview_equal(phase, ss_strview_of(ss_phase_inference));
    uint64_t inference_ns = is_inference ? period->each_ns : period->inference_ns;
    if (inference_ns > 0 &&
        ss_is_percent_of(inference_ns, period->each_ns, SS_LIMIT_STALLS_INFERENCE_PERCENT)) {
        finding->headline = "goes into periodic slow steps, in which the model runs without a "
                            "backward";
        finding->fix =
            "a rollout: step several environments at once, act on batches, or collect in "
            "other processes; a test: do it less often or on less data";
        ss_finding_add(finding, "the model in each", SS_EVIDENCE_NS, (double)inference_ns);
    }
}

bool ss_rule_periodic_stalls(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_period *period = &facts->period;
    uint64_t known_ns = facts->reads_ns + facts->collections_ns + logs_time_ns(facts);
    if (period->phase == NULL ||
        ss_is_percent_of(known_ns, period->more_ns, SS_LIMIT_KNOWN_STALLS_PERCENT)) {
        return false;
    }
    struct ss_strview phase = ss_step_phase_text(facts->model, period->phase);
    if (ss_strview_equal(phase, ss_strview_of(ss_phase_evaluation))) {
        return false; /* it has a rule of its own */
    }
    if (ss_strview_equal(phase, ss_strview_of(ss_phase_data))) {
        finding->headline = "waits for data that comes late again and again";
    }
    ss_finding_set_spread_cost(facts, finding,
                               period->more_ns + period->inference_ns / period->every);
    finding->interrupts = true;
    ss_finding_set_line(finding, &period->phase->line, "that phase");
    name_stalls(facts, finding);
    ss_finding_add(finding, "a slow step every", SS_EVIDENCE_COUNT, (double)period->every);
    ss_finding_add(finding, "slow steps", SS_EVIDENCE_COUNT, (double)period->slow);
    ss_finding_add(finding, "each longer by", SS_EVIDENCE_NS,
                   (double)(period->each_ns + period->inference_ns));
    name_rollouts(facts, finding);
    return true;
}

/* The late rank, where its waits are worth a finding; else NULL. The slowest stage of a pipeline
 * has a rule of its own, and so have waits on devices. */
static const struct ss_lateness *late_rank(const struct ss_training_facts *facts)
{
    const struct ss_lateness *late = facts->late;
    bool is_one = late != NULL && late->verdict == SS_LATE_ONE && !late->is_of_devices &&
                  late->claim.by != SS_LATE_BY_STAGES && facts->pipeline.steps == 0;
    return is_one && ss_is_percent_of(late->claim.wait_ns, late->claim.of_ns, SS_LIMIT_GAIN_PERCENT)
               ? late
               : NULL;
}

bool ss_rule_communication(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    uint64_t all_ns = ss_training_phase_ns(facts, ss_phase_communication), ns = all_ns;
    if (facts->joint_communication >= 0) {
        uint64_t joint_ns = ss_share_of_ns(facts->step_ns, facts->joint_communication);
        ns = joint_ns < all_ns ? joint_ns : all_ns;
        ss_finding_add(finding, "additional wait for other ranks", SS_EVIDENCE_NS,
                       (double)(all_ns - ns));
    }
    uint64_t idle_ns = facts->pipeline.steps > 0 ? (uint64_t)facts->pipeline.idle_ns : 0;
    ns -= idle_ns < ns ? idle_ns : ns;
    ss_finding_set_cost(finding, ns, ns);
    finding->phase = ss_training_phase(facts, ss_phase_communication);
    finding->exposed = facts->exposed.ns > 0 ? &facts->exposed : NULL;
    ss_finding_add(finding, "trainers in this recording", SS_EVIDENCE_COUNT,
                   (double)facts->steps->processes);
    return finding->phase != NULL && late_rank(facts) == NULL;
}

bool ss_rule_late_rank(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_lateness *late = late_rank(facts);
    if (late == NULL) {
        return false;
    }
    finding->interrupts = true;
    finding->phase = ss_training_phase(facts, ss_phase_communication);
    finding->is_part = true; /* the cause of the others' waits: more specific than what that rank
                              * does meanwhile */
    ss_finding_set_late_rank(finding, facts, late);
    ss_finding_add(finding, "it takes longer itself by", SS_EVIDENCE_NS, (double)late->more_ns);
    ss_finding_set_line(finding, &late->line, "its samples in the phase that takes it longer");
    return true;
}

/* The recoverable time is that of evaluating once in SS_LIMIT_SELDOM_STEPS steps. */
bool ss_rule_evaluation(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_phase_spread *evaluations = &facts->evaluations;
    double every =
        evaluations->steps > 0 ? (double)evaluations->all_steps / (double)evaluations->steps : 0;
    if (evaluations->steps < SS_LIMIT_FEWEST_EVALUATIONS || every >= SS_LIMIT_SELDOM_STEPS) {
        return false;
    }
    ss_finding_set_spread_cost(facts, finding, evaluations->mean_ns);
    finding->interrupts = true;
    finding->recoverable_ns =
        ss_share_of_ns(evaluations->mean_ns, 1 - every / SS_LIMIT_SELDOM_STEPS);
    finding->phase = ss_training_phase(facts, ss_phase_evaluation);
    ss_finding_set_phase_line(finding, facts, ss_phase_evaluation, "that time");
    ss_finding_add(finding, "steps with an evaluation", SS_EVIDENCE_COUNT,
                   (double)evaluations->steps);
    ss_finding_add(finding, "one in so many steps", SS_EVIDENCE_COUNT, every);
    ss_finding_add(finding, "each", SS_EVIDENCE_NS, (double)evaluations->each_ns);
    return true;
}

bool ss_rule_inference(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    uint64_t inference_ns = ss_training_phase_ns(facts, ss_phase_inference);
    bool trains = ss_training_phase_ns(facts, ss_phase_backward) > 0;
    ss_finding_set_cost(finding, inference_ns, inference_ns);
    finding->phase = ss_training_phase(facts, ss_phase_inference);
    ss_finding_set_phase_line(finding, facts, ss_phase_inference, "that time");
    ss_finding_add(finding, "the rest of the step", SS_EVIDENCE_NS,
                   (double)facts->step_ns - (double)inference_ns);
    return trains && facts->has_frozen_model && ss_knows_compute_time(facts);
}

bool ss_rule_logging(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_samples *samples = &facts->samples;
    if (samples->logs.all < SS_MIN_CLAIM_SAMPLES) {
        return false;
    }
    ss_finding_set_spread_cost(facts, finding, logs_time_ns(facts));
    finding->interrupts = true;
    finding->is_spread = false;
    ss_finding_set_error(finding, samples->logs.all, samples->all, facts->spread_ns);
    ss_finding_set_line(finding, &samples->logs, "that time");
    ss_finding_add(finding, "samples", SS_EVIDENCE_COUNT, (double)samples->logs.all);
    return true;
}
