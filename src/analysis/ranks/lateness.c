/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/lateness.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/samples/line_samples.h"
#include "analysis/table/mean_error.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* What the evidence is taken from. */
struct evidence {
    const struct ss_selection *selection;
    const struct ss_step_summary *training;
    const struct ss_rank_profiles *ranks;
    size_t communication; /* phase; the number of phases: there is none */
};

static bool is_worth_it(const struct ss_late_claim *claim)
{
    return claim->wait_ns > 0 &&
           (claim->of_ns == 0 || 100 * claim->wait_ns >= SS_LIMIT_FINDING_PERCENT * claim->of_ns);
}

/* Ranks that lack calls seem to wait less. Calls that could not be matched are not lacking. */
static bool lacks_calls(const struct evidence *evidence)
{
    const struct ss_wait_sums *waits = &evidence->ranks->waits;
    return !evidence->ranks->collectives->calls.is_ambiguous &&
           100 * waits->lacking > SS_LIMIT_LACKED_CALLS_PERCENT * waits->calls;
}

/* --- 1. collectives --------------------------------------------------------------------------- */

/* Of the ranks that are compared. */
static const struct ss_rank_profile *find_most(const struct ss_rank_profiles *ranks)
{
    const struct ss_rank_profile *most = NULL;
    uint64_t most_ns = 0;
    for (size_t i = 0; i < ranks->rows.count; i++) {
        const struct ss_rank_profile *row = &ranks->rows.data[i];
        uint64_t caused_ns = ranks->waits.ranks[row->process].caused_ns;
        most = caused_ns > most_ns ? row : most;
        most_ns = caused_ns > most_ns ? caused_ns : most_ns;
    }
    return most;
}

/* A collective that computation hides makes no rank wait: no rank waits longer than it is in
 * communication and nothing else. */
static bool knows_communication(const struct ss_rank_profiles *ranks)
{
    for (size_t i = 0; i < ranks->rows.count; i++) {
        if (ranks->rows.data[i].communication_ns > 0) {
            return true;
        }
    }
    return false;
}

/* The mean over the others, each bounded by what was measured there. */
static uint64_t mean_wait_ns(const struct ss_rank_profiles *ranks, const struct ss_rank_profile *by)
{
    uint64_t *on = ss_alloc_zero(ranks->processes, sizeof *on), sum_ns = 0;
    bool is_bounded = knows_communication(ranks);
    ss_rank_waits_for(&ranks->scope, by->process, on);
    for (size_t i = 0; i < ranks->rows.count; i++) {
        const struct ss_rank_profile *row = &ranks->rows.data[i];
        uint64_t ns = on[row->process], waited_ns = ranks->waits.ranks[row->process].waited_ns;
        uint64_t most_ns = row->communication_ns * ranks->steps;
        ns = ns < waited_ns ? ns : waited_ns;
        ns = is_bounded && row->steps > 0 && most_ns < ns ? most_ns : ns;
        sum_ns += ns;
    }
    ss_free(on);
    uint64_t steps = ranks->steps > 0 ? ranks->steps : 1;
    return sum_ns / steps / (ranks->rows.count - 1);
}

static size_t count_in_collectives(const struct ss_rank_profiles *ranks)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->rows.count; i++) {
        count += ranks->waits.ranks[ranks->rows.data[i].process].collectives > 0;
    }
    return count;
}

/* Few steps are stated as they are. */
static bool is_chance(const struct ss_rank_profiles *ranks, const struct ss_rank_profile *row,
                      const struct ss_wait_excess *excess)
{
    bool is_judged = !ranks->has_steps || row->steps >= SS_LIMIT_FEWEST_STEPS;
    return is_judged && !isnan(excess->error_ns) &&
           excess->ns < SS_LIMIT_SLOW_RANK_ERRORS * excess->error_ns;
}

static uint64_t longest_step_ns(const struct ss_rank_profiles *ranks)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < ranks->rows.count; i++) {
        uint64_t ns = ranks->rows.data[i].step_ns;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    return longest_ns;
}

/* Whether collectives that name no rank say that none is late. */
static bool covers(const struct ss_rank_profiles *ranks)
{
    const struct ss_wait_sums *waits = &ranks->waits;
    if (ranks->steps == 0) {
        return waits->counted > 0 &&
               (waits->hidden_ns == 0 || 100 * (waits->counted - waits->resolved) <=
                                             SS_LIMIT_COVERED_STEPS_PERCENT * waits->counted);
    }
    return ranks->scope.steps != NULL &&
           100 * waits->steps >= SS_LIMIT_COVERED_STEPS_PERCENT * ranks->steps &&
           100 * waits->hidden_ns <
               SS_LIMIT_FINDING_PERCENT * longest_step_ns(ranks) * waits->steps;
}

/* Returns the verdict: UNKNOWN where they do not decide. */
static enum ss_late_verdict by_collectives(const struct evidence *evidence,
                                           struct ss_late_claim *claim)
{
    const struct ss_rank_profiles *ranks = evidence->ranks;
    const struct ss_rank_profile *row = find_most(ranks);
    enum ss_late_verdict none = covers(ranks) ? SS_LATE_NONE : SS_LATE_UNKNOWN;
    *claim = (struct ss_late_claim){.by = SS_LATE_BY_COLLECTIVES, .error_ns = NAN};
    if (row == NULL) {
        return none;
    }
    struct ss_wait_excess excess =
        ss_wait_excess_of(&ranks->scope, row->process, count_in_collectives(ranks));
    const struct ss_rank_waits *waits = &ranks->waits.ranks[row->process];
    claim->row = row;
    claim->wait_ns = mean_wait_ns(ranks, row);
    claim->own_ns = waits->waited_ns / (ranks->steps > 0 ? ranks->steps : 1);
    claim->of_ns = row->step_ns > 0 ? row->step_ns : longest_step_ns(ranks);
    claim->error_ns = excess.error_ns / (double)(ranks->rows.count - 1);
    claim->steps = ranks->steps;
    claim->late_in = waits->times_last;
    if (!is_worth_it(claim)) {
        return none;
    }
    return !is_chance(ranks, row, &excess) ? SS_LATE_ONE
           : none == SS_LATE_NONE          ? SS_LATE_VARIES
                                           : none;
}

/* --- 2. and 4. communication ------------------------------------------------------------------ */

/* Of steps that count: in how much communication each is. */
struct communication {
    uint64_t *ns;   /* by step of the summary */
    bool *is_known; /* likewise */
};

/* Of a rank over its steps: sums, then means. */
struct waiting {
    uint64_t steps, step_ns, ns;
};

/* A step of a rank, by its number. */
struct numbered {
    int64_t number;
    double ns; /* of the rank that is asked about; of another one less than 0 */
    bool is_own;
};

struct numbers ss_vec_of(struct numbered);

static bool is_counted(const struct ss_step *step)
{
    return step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER;
}

static struct communication in_phases(const struct evidence *evidence)
{
    const struct ss_step_summary *training = evidence->training;
    size_t count = training->steps.count, phases = training->phases.count;
    struct communication all = {ss_alloc_zero(count + 1, sizeof *all.ns),
                                ss_alloc_zero(count + 1, sizeof *all.is_known)};
    for (size_t i = 0; i < count && evidence->communication < phases; i++) {
        all.is_known[i] = is_counted(&training->steps.data[i]);
        all.ns[i] = training->phase_ns[i * phases + evidence->communication];
    }
    return all;
}

/* Of several devices of a process, the one that communicates longest. */
static struct communication on_devices(const struct evidence *evidence)
{
    const struct ss_step_summary *training = evidence->training;
    const struct ss_device_summary *devices =
        ss_steps_devices(evidence->selection, evidence->training);
    size_t count = training->steps.count;
    struct communication all = {ss_alloc_zero(count + 1, sizeof *all.ns),
                                ss_alloc_zero(count + 1, sizeof *all.is_known)};
    for (size_t i = 0; i < devices->steps.count; i++) {
        const struct ss_device_step *on = &devices->steps.data[i];
        const struct ss_step *step = &training->steps.data[on->step];
        uint64_t ns = on->times.class_ns[SS_WORK_COMMUNICATION];
        all.is_known[on->step] = is_counted(step) && step->has_device_work;
        all.ns[on->step] = ns > all.ns[on->step] ? ns : all.ns[on->step];
    }
    return all;
}

static void make_mean(struct waiting *sum)
{
    uint64_t steps = sum->steps > 0 ? sum->steps : 1;
    sum->step_ns /= steps;
    sum->ns /= steps;
}

/* By process. */
static struct waiting *find_means(const struct evidence *evidence, const struct communication *all)
{
    const struct ss_step_summary *training = evidence->training;
    struct waiting *means = ss_alloc_zero(evidence->ranks->processes, sizeof *means);
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        struct waiting *of = &means[step->process];
        if (all->is_known[i]) {
            of->steps++;
            of->step_ns += step->end_ns - step->begin_ns;
            of->ns += all->ns[i];
        }
    }
    for (size_t i = 0; i < evidence->ranks->processes; i++) {
        make_mean(&means[i]);
    }
    return means;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* In each step that all ranks have: what the others communicate longer than the rank does. */
static double find_error(const struct evidence *evidence, const struct communication *all,
                         const bool *is_compared, uint32_t process, size_t ranks)
{
    const struct ss_step_summary *training = evidence->training;
    struct numbers numbers = {0};
    size_t count = 0;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        bool is_own = step->process == process;
        double share = is_own ? -1 : 1 / (double)(ranks - 1);
        if (all->is_known[i] && is_compared[step->process]) {
            struct numbered row = {step->number, share * (double)all->ns[i], is_own};
            ss_vec_push(&numbers, row);
        }
    }
    if (numbers.count > 1) {
        qsort(numbers.data, numbers.count, sizeof *numbers.data, compare_numbers);
    }
    double *values = ss_alloc_zero(numbers.count + 1, sizeof *values);
    for (size_t first = 0, end; first < numbers.count; first = end) {
        double sum_ns = 0;
        for (end = first;
             end < numbers.count && numbers.data[end].number == numbers.data[first].number; end++) {
            sum_ns += numbers.data[end].ns;
        }
        if (end - first == ranks) {
            values[count++] = sum_ns;
        }
    }
    double error_ns = ss_mean_error(values, count);
    ss_vec_fini(&numbers);
    ss_free(values);
    return error_ns;
}

/* Ranks with steps; false: some has too few of them, or there are fewer than two. */
static bool find_compared(const struct evidence *evidence, const struct waiting *means,
                          bool *is_compared, size_t *count)
{
    const struct ss_rank_profiles *ranks = evidence->ranks;
    *count = 0;
    for (size_t i = 0; i < ranks->rows.count; i++) {
        uint32_t process = ranks->rows.data[i].process;
        if (!ss_step_has_process(evidence->training, process)) {
            continue;
        }
        if (means[process].steps < SS_LIMIT_LATE_RANK_FEWEST_STEPS) {
            return false;
        }
        is_compared[process] = true;
        (*count)++;
    }
    return *count > 1;
}

/* The rank that communicates least; sets what the others do in the mean. */
static const struct ss_rank_profile *find_least(const struct evidence *evidence,
                                                const struct waiting *means,
                                                const bool *is_compared, struct waiting *others)
{
    const struct ss_rank_profiles *ranks = evidence->ranks;
    const struct ss_rank_profile *least = NULL;
    *others = (struct waiting){0};
    for (size_t i = 0; i < ranks->rows.count; i++) {
        const struct ss_rank_profile *row = &ranks->rows.data[i];
        bool is_less = least == NULL || means[row->process].ns < means[least->process].ns;
        least = is_compared[row->process] && is_less ? row : least;
    }
    for (size_t i = 0; i < ranks->rows.count; i++) {
        const struct ss_rank_profile *row = &ranks->rows.data[i];
        if (is_compared[row->process] && row != least) {
            others->steps++;
            others->step_ns += means[row->process].step_ns;
            others->ns += means[row->process].ns;
        }
    }
    make_mean(others);
    return least;
}

static struct ss_late_claim by_communication(const struct evidence *evidence,
                                             const struct communication *all,
                                             enum ss_late_evidence by)
{
    struct ss_late_claim claim = {.by = by, .error_ns = NAN};
    struct waiting *means = find_means(evidence, all), others;
    bool *is_compared = ss_alloc_zero(evidence->ranks->processes, sizeof *is_compared);
    size_t count;
    if (find_compared(evidence, means, is_compared, &count)) {
        const struct ss_rank_profile *row = find_least(evidence, means, is_compared, &others);
        const struct waiting *own = &means[row->process];
        if (100 * own->ns < SS_LIMIT_LATE_RANK_PERCENT * others.ns) {
            claim.row = row;
            claim.wait_ns = others.ns - own->ns;
            claim.own_ns = own->ns;
            claim.of_ns = others.step_ns;
            claim.steps = own->steps;
            claim.error_ns = find_error(evidence, all, is_compared, row->process, count);
        }
    }
    bool is_chance = !isnan(claim.error_ns) &&
                     (double)claim.wait_ns < SS_LIMIT_SLOW_RANK_ERRORS * claim.error_ns;
    claim.row = is_chance || !is_worth_it(&claim) ? NULL : claim.row;
    ss_free(is_compared);
    ss_free(means);
    return claim;
}

static struct ss_late_claim by_waits(const struct evidence *evidence, enum ss_late_evidence by)
{
    struct communication all =
        by == SS_LATE_BY_DEVICES ? on_devices(evidence) : in_phases(evidence);
    struct ss_late_claim claim = by_communication(evidence, &all, by);
    ss_free(all.ns);
    ss_free(all.is_known);
    return claim;
}

/* --- 3. stages -------------------------------------------------------------------------------- */

static size_t count_numbered(const struct ss_rank_profiles *ranks)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->rows.count; i++) {
        count += ranks->rows.data[i].rank >= 0;
    }
    return count;
}

/* Sets `stage` if a rank is named. UNKNOWN: there is no step that all ranks have. */
static enum ss_late_verdict by_stages(const struct evidence *evidence, struct ss_late_claim *claim,
                                      struct ss_stage *stage)
{
    *claim = (struct ss_late_claim){.by = SS_LATE_BY_STAGES, .error_ns = NAN};
    if (count_numbered(evidence->ranks) <= 1) {
        return SS_LATE_UNKNOWN;
    }
    const struct ss_stage_frontier *frontier =
        ss_steps_frontier(evidence->selection, evidence->training);
    const struct ss_stage *behind = ss_stage_frontier_behind(frontier);
    if (behind == NULL) {
        return frontier->steps > 0 && frontier->ranks.count > 1 ? SS_LATE_NONE : SS_LATE_UNKNOWN;
    }
    *stage = *behind;
    claim->row = ss_rank_profile_of(evidence->ranks, frontier->ranks.data[behind->rank]);
    claim->wait_ns = behind->rank_ns / frontier->steps;
    claim->of_ns = frontier->total_ns / frontier->steps;
    claim->steps = frontier->steps;
    claim->late_in = behind->rank_steps;
    return SS_LATE_ONE;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void decide_by_waits(struct ss_lateness *late, const struct evidence *evidence,
                            enum ss_late_evidence by)
{
    struct ss_late_claim claim = by_waits(evidence, by);
    if (claim.row != NULL) {
        late->claim = claim;
        late->verdict = SS_LATE_ONE;
    }
}

/* Evidence is asked in its order, until one decides. */
static void decide(struct ss_lateness *late, const struct evidence *evidence)
{
    bool is_whole = !lacks_calls(evidence);
    bool has_phases = evidence->communication < evidence->training->phases.count;
    late->verdict = by_collectives(evidence, &late->claim);
    if (late->verdict != SS_LATE_UNKNOWN) {
        late->other = is_whole && has_phases ? by_waits(evidence, SS_LATE_BY_PHASES)
                                             : (struct ss_late_claim){.error_ns = NAN};
        return;
    }
    late->claim = (struct ss_late_claim){.error_ns = NAN};
    if (is_whole && has_phases) {
        decide_by_waits(late, evidence, SS_LATE_BY_PHASES);
    }
    if (is_whole && late->verdict == SS_LATE_UNKNOWN) {
        late->verdict = by_stages(evidence, &late->claim, &late->stage);
    }
    if (is_whole && late->verdict != SS_LATE_ONE && evidence->ranks->has_devices) {
        decide_by_waits(late, evidence, SS_LATE_BY_DEVICES);
    }
}

static void find_line(struct ss_lateness *late, const struct evidence *evidence)
{
    const struct ss_model *model = evidence->selection->model;
    struct ss_line_samples lines;
    if (late->phase >= evidence->training->phases.count) {
        return;
    }
    uint32_t phase = evidence->training->phases.data[late->phase].name;
    ss_line_samples_init(&lines, model);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        const struct ss_model_thread *thread = &model->threads.data[total->thread];
        if (thread->is_main && thread->process == late->claim.row->process &&
            total->step == SS_SAMPLE_LATER_STEP && total->phase == phase) {
            ss_line_samples_add(&lines, model, 0, total, &late->line);
        }
    }
    ss_line_samples_find(&lines, 0, &late->line);
    ss_line_samples_fini(&lines);
}

/* Where in its step the rank is late, and why. */
static void describe(struct ss_lateness *late, const struct evidence *evidence)
{
    const struct ss_rank_profile *row = late->claim.row;
    const struct ss_collectives *collectives = late->ranks->collectives;
    bool is_by_collectives = late->claim.by == SS_LATE_BY_COLLECTIVES;
    late->phase = row->stage;
    late->more_ns = row->stage_ns;
    if (late->claim.by == SS_LATE_BY_STAGES && late->stage.kind == SS_STAGE_PHASE) {
        late->phase = late->stage.phase;
        late->more_ns = late->claim.wait_ns;
    }
    late->work = ss_rank_profiles_more_work(late->ranks, row);
    late->clock_ns = is_by_collectives ? collectives->error_ns : 0;
    late->is_of_devices = late->claim.by == SS_LATE_BY_DEVICES ||
                          (is_by_collectives && collectives->calls.is_of_devices);
    find_line(late, evidence);
}

static void *build(const void *of)
{
    const struct ss_step_analysis *steps = of;
    struct ss_lateness *late = ss_alloc_zero(1, sizeof *late);
    struct evidence evidence = {
        .selection = steps->selection,
        .training = steps->training,
        .ranks = ss_steps_ranks(steps->selection, steps->training),
        .communication =
            ss_step_phase_named(steps->training, steps->selection->model, ss_phase_communication)};
    *late = (struct ss_lateness){.ranks = evidence.ranks,
                                 .phase = steps->training->phases.count,
                                 .claim.error_ns = NAN,
                                 .other.error_ns = NAN};
    if (evidence.ranks->rows.count > 1) {
        decide(late, &evidence);
    }
    if (late->verdict == SS_LATE_ONE) {
        describe(late, &evidence);
    } else {
        late->claim.row = NULL;
    }
    return late;
}

const struct ss_lateness *ss_steps_lateness(const struct ss_selection *selection,
                                            const struct ss_step_summary *training)
{
    static const struct ss_analysis_part lateness = {"late rank", build, ss_free};
    return ss_step_analysis_get(selection, training, &lateness);
}
