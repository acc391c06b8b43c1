/* SPDX-License-Identifier: Apache-2.0 */
/* The rule on steps that become slower over the run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diagnosis/rule_parts.h"
#include "analysis/selection/program_facts.h"

static void add_who(const struct ss_training_facts *facts, const struct ss_drift_row *row,
                    struct ss_finding *finding)
{
    int64_t rank = ss_rank_of(facts->model, row->process);
    if (rank >= 0) {
        ss_finding_add(finding, "rank", SS_EVIDENCE_NUMBER, (double)rank);
    } else {
        ss_finding_add(finding, "process ID", SS_EVIDENCE_NUMBER,
                       (double)facts->model->processes.data[row->process].pid);
    }
    ss_finding_add(finding, "ranks that drift by themselves", SS_EVIDENCE_COUNT,
                   (double)facts->drifts.drifting);
    ss_finding_add(finding, "of", SS_EVIDENCE_COUNT, (double)facts->drifts.processes);
}

static void add_cause(const struct ss_training_facts *facts, const struct ss_drift_row *cause,
                      struct ss_finding *finding)
{
    char what[SS_EVIDENCE_MAX_BYTES];
    struct ss_strview phase = ss_drift_stage_text(cause, facts->model, facts->steps);
    snprintf(what, sizeof what, "more in %.*s", (int)phase.length, phase.data);
    ss_finding_add(finding, what, SS_EVIDENCE_NS, cause->drift.change);
}

/* --- the same time in other findings ------------------------------------------------------------
 */

static bool is_in(const struct ss_finding *finding, const struct ss_step_phase *phase)
{
    return (finding->phase != NULL ? finding->phase : finding->mostly_in) == phase;
}

/* The finding with most of the phase's time; adds the time of all of them, as far as the phase
 * drifts. NULL: none has any. */
static struct ss_finding *find_overlap(const struct ss_finding *drift, struct ss_finding *findings,
                                       size_t count, const struct ss_step_phase *phase,
                                       uint64_t lost_ns, uint64_t *overlap_ns)
{
    struct ss_finding *most = NULL;
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < count; i++) {
        struct ss_finding *finding = &findings[i];
        if (finding == drift || finding->recoverable_ns == 0 || !is_in(finding, phase)) {
            continue;
        }
        sum_ns += finding->recoverable_ns;
        if (most == NULL || finding->recoverable_ns > most->recoverable_ns) {
            most = finding;
        }
    }
    *overlap_ns += sum_ns < lost_ns ? sum_ns : lost_ns;
    return most;
}

/* The phases of a step: of all that count, and of those at the start of the run. */
struct phase_sums {
    double all[SS_STEP_MAX_PHASES], start[SS_STEP_MAX_PHASES];
    size_t all_steps, start_steps;
};

/* The steps before the drift: those before the jump, or the first ones of a line. */
static size_t steps_at_start(const struct ss_drift *drift)
{
    double first = ss_limit_factor(SS_LIMIT_DRIFT_START_PERCENT) * (double)drift->count;
    return drift->has_changed_once ? drift->change_at : (size_t)ceil(first);
}

static void sum_phases(const struct ss_step_summary *steps, const struct ss_drift_row *row,
                       struct phase_sums *sums)
{
    size_t count = steps->phases.count;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        if (step->process != row->process || !ss_drift_counts(step)) {
            continue;
        }
        bool is_at_start = sums->all_steps < steps_at_start(&row->drift);
        for (size_t phase = 0; phase < count; phase++) {
            double ns = (double)steps->phase_ns[i * count + phase];
            sums->all[phase] += ns;
            sums->start[phase] += is_at_start ? ns : 0;
        }
        sums->all_steps++;
        sums->start_steps += is_at_start;
    }
}

/* What the mean step takes more in each phase than at the start of the run, so that all phases
 * together have what the drift costs. */
static void find_lost(const struct ss_step_summary *steps, const struct ss_drift_row *row,
                      double *lost)
{
    struct phase_sums sums = {.all_steps = 0};
    double sum = 0;
    sum_phases(steps, row, &sums);
    for (size_t phase = 0; phase < steps->phases.count; phase++) {
        double all = sums.all[phase] / fmax((double)sums.all_steps, 1);
        double start = sums.start[phase] / fmax((double)sums.start_steps, 1);
        lost[phase] = fmax(all - start, 0);
        sum += lost[phase];
    }
    for (size_t phase = 0; phase < steps->phases.count && sum > 0; phase++) {
        lost[phase] *= fmax(row->lost_ns, 0) / sum;
    }
}

static void add_drift(const struct ss_drift_row *row, struct ss_finding *finding)
{
    ss_finding_add(finding, "a step at the start", SS_EVIDENCE_NS, row->drift.before);
    ss_finding_add(finding, "at the end", SS_EVIDENCE_NS, row->drift.after);
    if (row->drift.has_changed_once) {
        ss_finding_add(finding, "since step", SS_EVIDENCE_NUMBER, (double)row->change_step);
    }
}

struct ss_finding *ss_drift_yield(const struct ss_training_facts *facts, struct ss_finding *drift,
                                  struct ss_finding *findings, size_t count)
{
    const struct ss_step_summary *steps = facts->steps;
    const struct ss_drift_row *row = &facts->drifts.rows.data[facts->drifts.largest];
    struct ss_finding *most = NULL;
    double lost[SS_STEP_MAX_PHASES] = {0};
    uint64_t overlap_ns = 0, most_ns = 0;
    if (drift->recoverable_ns == 0) { /* more work: nothing is lost */
        return NULL;
    }
    find_lost(steps, row, lost);
    for (size_t phase = 0; phase < steps->phases.count; phase++) {
        uint64_t before_ns = overlap_ns;
        struct ss_finding *here = find_overlap(drift, findings, count, &steps->phases.data[phase],
                                               (uint64_t)llround(lost[phase]), &overlap_ns);
        if (overlap_ns - before_ns > most_ns) {
            most_ns = overlap_ns - before_ns;
            most = here;
        }
    }
    if (most == NULL) {
        return NULL;
    }
    uint64_t all_ns = drift->cost_ns, rest_ns = all_ns > overlap_ns ? all_ns - overlap_ns : 0;
    ss_finding_set_cost(drift, rest_ns, rest_ns);
    if (ss_is_percent_of(rest_ns, drift->of_ns, (int)drift->rule->least_percent) &&
        ss_is_percent_of(rest_ns, all_ns, SS_LIMIT_DRIFT_REST_PERCENT)) {
        ss_finding_add(drift, "more of it in other findings", SS_EVIDENCE_NS, (double)overlap_ns);
        return NULL;
    }
    add_drift(row, most);
    return most;
}

/* Objects that are kept from step to step cost time, too: new memory is touched in each step, and
 * what walks all of it walks more. */
static void add_growth(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_memory *grows = ss_growing_memory(facts);
    if (grows == NULL) {
        return;
    }
    finding->headline = "is lost: steps slow down as memory grows with each of them";
    ss_finding_add(finding, "memory more with each step", SS_EVIDENCE_BYTES, grows->bytes_per_step);
    for (const struct ss_rule *rule = ss_rules; rule->id != NULL; rule++) {
        finding->fix = strcmp(rule->id, "memory-growth") == 0 ? rule->fix : finding->fix;
    }
}

/* The share of the drift, 0 to 1, that more operators in each step explain. */
static double explained_by_work(const struct ss_work_growth *work)
{
    if (work->operators_before <= 0 || work->ns_after <= work->ns_before) {
        return 0;
    }
    double more_operators = work->operators_after / work->operators_before - 1;
    double more_time = work->ns_after / work->ns_before - 1;
    return fmin(fmax(more_operators / more_time, 0), 1);
}

/* Longer episodes or sequences are work, which nothing gives back. */
static void add_work(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_work_growth *work = &facts->work;
    if (finding->fix != finding->rule->fix ||
        explained_by_work(work) < ss_limit_factor(SS_LIMIT_DRIFT_WORK_PERCENT)) {
        return;
    }
    finding->headline = "is spent in what steps do more than at the start of the training";
    finding->fix =
        "none where episodes, sequences or batches are meant to become longer; else report --by op "
        "--steps of the first and of the last steps names what they do more often";
    ss_finding_set_cost(finding, finding->cost_ns, 0);
    ss_finding_add(finding, "operators a step at the start", SS_EVIDENCE_COUNT,
                   round(work->operators_before));
    ss_finding_add(finding, "operators a step at the end", SS_EVIDENCE_COUNT,
                   round(work->operators_after));
}

bool ss_rule_drift(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_drifts *drifts = &facts->drifts;
    if (drifts->largest >= drifts->rows.count) {
        return false;
    }
    const struct ss_drift_row *row = &drifts->rows.data[drifts->largest];
    uint64_t lost_ns = row->lost_ns > 0 ? (uint64_t)llround(row->lost_ns) : 0;
    ss_finding_set_cost(finding, lost_ns, lost_ns);
    ss_finding_add(finding, "own time at the start", SS_EVIDENCE_NS, row->drift.before);
    ss_finding_add(finding, "at the end", SS_EVIDENCE_NS, row->drift.after);
    if (drifts->cause < drifts->rows.count) {
        add_cause(facts, &drifts->rows.data[drifts->cause], finding);
    }
    if (row->drift.has_changed_once) {
        ss_finding_add(finding, "since step", SS_EVIDENCE_NUMBER, (double)row->change_step);
    }
    if (drifts->processes > 1) {
        add_who(facts, row, finding);
    }
    add_growth(facts, finding);
    add_work(facts, finding);
    return lost_ns > 0;
}
