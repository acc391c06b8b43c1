/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on forward, backward and optimizer: what keeps them from computing, and the use of the
 * cores. */
#include "analysis/diagnosis/rule_parts.h"

#include <math.h>
#include <string.h>

#include "analysis/table/uncertainty.h"
#include "base/shared_names.h"

void ss_finding_add_reads(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    ss_finding_add(finding, facts->reads_lost ? "reads a step (at least)" : "reads a step",
                   SS_EVIDENCE_COUNT, facts->reads);
}

/* With CUDA a read waits for kernels, and a copy to the host is not an operator of its own: only
 * the samples show it. */
bool ss_rule_host_sync(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_samples *samples = &facts->samples;
    uint64_t ns = facts->reads_ns;
    if (facts->uses_cuda && samples->reads.all >= SS_MIN_CLAIM_SAMPLES) {
        uint64_t sampled_ns =
            ss_share_of_ns(facts->spread_ns, (double)samples->reads.all / (double)samples->all);
        if (sampled_ns > ns) {
            ns = sampled_ns;
            ss_finding_set_error(finding, samples->reads.all, samples->all, facts->spread_ns);
        }
    }
    if (!ss_knows_compute_time(facts)) {
        finding->headline = "waits for unknown kernels to read values of tensors";
    }
    ss_finding_set_cost(finding, ns, ns);
    finding->interrupts = !facts->uses_cuda;
    ss_finding_set_line(finding, &facts->samples.reads, "the samples in such lines");
    ss_finding_add_reads(facts, finding);
    return (facts->reads >= 1 || facts->uses_cuda) && !facts->device.has_steps;
}

static uint64_t median_of(const struct ss_training_facts *facts, const char *phase)
{
    const struct ss_step_phase *row = ss_training_phase(facts, phase);
    return row != NULL ? row->p50_ns : 0;
}

/* Both passes: the backward of cells is assumed to take the same share of its phase. */
static uint64_t time_of_cells(const struct ss_training_facts *facts)
{
    uint64_t forward_ns = ss_training_phase_ns(facts, ss_phase_forward);
    uint64_t backward_ns = ss_training_phase_ns(facts, ss_phase_backward);
    double share = forward_ns > 0 ? (double)facts->cells_ns / (double)forward_ns : 0;
    return facts->cells_ns + ss_share_of_ns(backward_ns, share);
}

/* The time of other findings in the phases that compute. */
static uint64_t time_of_other_findings(const struct ss_training_facts *facts)
{
    static const char *const phases[] = {ss_phase_forward, ss_phase_backward, ss_phase_optimizer};
    uint64_t ns = facts->cell_calls >= SS_LIMIT_FEWEST_CELL_CALLS ? time_of_cells(facts) : 0;
    for (size_t i = 0; i < facts->hot_lines.count; i++) {
        const struct ss_hot_line *line = &facts->hot_lines.rows[i];
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++) {
            ns += line->phase == ss_training_phase(facts, phases[k]) ? line->cost_ns : 0;
        }
    }
    return ns;
}

/* Uses medians: on a busy machine, means measure the machine. */
bool ss_rule_tiny_batches(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    uint64_t compute_ns = median_of(facts, ss_phase_forward) + median_of(facts, ss_phase_backward) +
                          median_of(facts, ss_phase_optimizer);
    uint64_t explained_ns = facts->long_operators_ns + time_of_other_findings(facts);
    uint64_t outside_ns = compute_ns > explained_ns ? compute_ns - explained_ns : 0;
    ss_finding_set_cost(finding, outside_ns, outside_ns);
    finding->of_ns = facts->steps->p50_ns;
    ss_finding_add(finding, "operators a step", SS_EVIDENCE_COUNT, (double)facts->operators);
    ss_finding_add(finding, "time in all operators", SS_EVIDENCE_NS, (double)facts->operators_ns);
    ss_finding_add(finding, "median operator", SS_EVIDENCE_NS, (double)facts->operator_p50_ns);
    if (facts->batch_size > 0) {
        ss_finding_add(finding, "samples in a batch", SS_EVIDENCE_COUNT, (double)facts->batch_size);
    }
    if (facts->workers < 0) {
        finding->fix = "make batches larger; or torch.compile the model";
    }
    return !facts->device.has_steps && ss_knows_compute_time(facts) &&
           facts->operators >= SS_LIMIT_FEWEST_OPERATORS &&
           facts->operator_p50_ns < SS_LIMIT_TINY_OPERATOR_NS &&
           100 * (double)outside_ns > SS_LIMIT_OUTSIDE_OPERATORS_PERCENT * (double)compute_ns;
}

/* The cost of its tracebacks is in the samples, that of its search for NaN in the operators of the
 * backward. */
bool ss_rule_anomaly_detection(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_samples *samples = &facts->samples;
    double all = samples->all > 0 ? (double)samples->all : 1;
    uint64_t ns =
        facts->nan_checks_ns + ss_share_of_ns(facts->step_ns, (double)samples->tracebacks / all);
    ss_finding_set_cost(finding, ns, ns);
    finding->interrupts = true;
    ss_finding_set_error(finding, samples->tracebacks, samples->all, facts->step_ns);
    ss_finding_add(finding, "search for NaN in the backward", SS_EVIDENCE_NS,
                   (double)facts->nan_checks_ns);
    ss_finding_add(finding, "samples in tracebacks", SS_EVIDENCE_COUNT,
                   (double)samples->tracebacks);
    return facts->has_anomaly_detection;
}

bool ss_rule_float64(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    ss_finding_set_cost(
        finding, facts->long_operators_ns,
        ss_share_of_ns(facts->operators_ns, ss_limit_factor(SS_LIMIT_FLOAT64_PERCENT)));
    finding->of_ns = facts->steps->p50_ns;
    ss_finding_add(finding, "in operators of {TINY_OPERATOR_NS} and more", SS_EVIDENCE_NS,
                   (double)facts->long_operators_ns);
    return strcmp(facts->dtype, "float64") == 0 && ss_knows_compute_time(facts);
}

bool ss_rule_time_loop(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    uint64_t ns = time_of_cells(facts);
    uint64_t layer_ns = ss_share_of_ns(ns, ss_limit_factor(SS_LIMIT_LAYER_PERCENT));
    ss_finding_set_cost(finding, ns, ns - layer_ns);
    ss_finding_add(finding, "calls of cells in a step", SS_EVIDENCE_COUNT,
                   (double)facts->cell_calls);
    ss_finding_add(finding, "in them in the forward", SS_EVIDENCE_NS, (double)facts->cells_ns);
    return facts->cell_calls >= SS_LIMIT_FEWEST_CELL_CALLS && ss_knows_compute_time(facts);
}

bool ss_rule_recompilation(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    ss_finding_set_spread_cost(facts, finding, facts->late_compile_ns);
    ss_finding_add(finding, "compiled after the {LAST_COMPILING_STEP} step", SS_EVIDENCE_COUNT,
                   (double)facts->late_compiles);
    ss_finding_add(finding, "in steps", SS_EVIDENCE_COUNT, (double)facts->late_compile_steps);
    return facts->late_compile_steps >= SS_LIMIT_FEWEST_COMPILING_STEPS;
}

/* True where these processes, not others, account for most of the cores' use. */
static bool uses_most(const struct ss_training_facts *facts)
{
    return facts->cpu_own >= ss_limit_factor(SS_LIMIT_OWN_USE_PERCENT);
}

/* With more threads than cores, an operator also waits for its last thread, asleep. */
static bool waits_for_cores(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_samples *samples = &facts->samples;
    bool has_too_many = facts->threads > (int64_t)facts->cores;
    uint64_t waits = samples->runnable + (has_too_many ? samples->asleep_in_operators : 0);
    if (waits < SS_MIN_CLAIM_SAMPLES) {
        return false;
    }
    double share = (double)waits / (double)samples->all;
    uint64_t waits_ns = ss_share_of_ns(facts->step_ns, share);
    ss_finding_set_cost(finding, waits_ns, waits_ns);
    ss_finding_set_error(finding, waits, samples->all, facts->step_ns);
    return true;
}

static void add_cores(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    ss_finding_add(finding, "cores", SS_EVIDENCE_COUNT, (double)facts->cores);
    if (facts->cpu_own >= 0) {
        ss_finding_add(finding, "of their use by these processes", SS_EVIDENCE_PERCENT,
                       100 * facts->cpu_own);
    }
}

bool ss_rule_busy_machine(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    if (!facts->is_disturbed || !waits_for_cores(facts, finding)) {
        return false;
    }
    finding->recoverable_ns = 0; /* not by a change of the program */
    add_cores(facts, finding);
    return true;
}

/* The part of the waits that as many threads as cores would avoid: these threads do all of the
 * work. Where the main thread runs more than its share of the cores, the work is not spread over
 * the threads: they wait, or spin. */
static uint64_t waits_without_work(const struct ss_training_facts *facts, uint64_t waits_ns)
{
    const struct ss_training_samples *samples = &facts->samples;
    double threads = (double)facts->threads * (double)facts->steps->processes;
    double runs = (double)samples->runs_in_operators / (double)samples->all;
    double more = threads / (double)facts->cores - 1;
    if (more <= 0 || runs * (more + 1) > 1) {
        return waits_ns;
    }
    uint64_t work_ns = ss_share_of_ns(facts->step_ns, runs * more);
    uint64_t least_ns = ss_share_of_ns(waits_ns, ss_limit_factor(SS_LIMIT_RECOVERED_WAIT_PERCENT));
    uint64_t rest_ns = waits_ns > work_ns ? waits_ns - work_ns : 0;
    return rest_ns > least_ns ? rest_ns : least_ns;
}

bool ss_rule_oversubscription(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    bool has_workers = facts->workers > 0 && facts->worker_busy > 0;
    double each = (double)facts->threads +
                  (has_workers ? (double)facts->workers * fmin(facts->worker_busy, 1) : 0);
    bool others = facts->cpu_own >= 0 && !uses_most(facts);
    if (facts->threads < 1 || facts->cores == 0 || others ||
        each * (double)facts->steps->processes <
            ss_limit_factor(SS_LIMIT_THREADS_HUNDREDTHS) * (double)facts->cores ||
        !waits_for_cores(facts, finding)) {
        return false;
    }
    finding->recoverable_ns = waits_without_work(facts, finding->cost_ns);
    finding->interrupts = true;
    ss_finding_add(finding, "trainers", SS_EVIDENCE_COUNT, (double)facts->steps->processes);
    ss_finding_add(finding, "threads of operators in each", SS_EVIDENCE_COUNT,
                   (double)facts->threads);
    if (facts->workers > 0) {
        ss_finding_add(finding, "workers of each", SS_EVIDENCE_COUNT, (double)facts->workers);
    }
    add_cores(facts, finding);
    return true;
}
