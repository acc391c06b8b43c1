/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/steps.h"

#include <stdlib.h>

#include "analysis/launches/recorded_devices.h"
#include "analysis/selection/program_facts.h"
#include "analysis/selection/recorded_steps.h"
#include "analysis/steps/ranges.h"
#include "analysis/steps/step_parts.h"
#include "analysis/steps/steps_unrecorded.h"
#include "analysis/table/distribution.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

/* --- which steps there are ------------------------------------------------------------------- */

static int64_t number_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    return range->payload != 0 && payload->type == SS_VALUE_INT    ? payload->integer
           : range->payload != 0 && payload->type == SS_VALUE_UINT ? (int64_t)payload->natural
                                                                   : -1;
}

static int compare_steps(const void *left, const void *right)
{
    const struct ss_step *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* Until when the steps of a process do not count: those that were detected before the program
 * marked its own. */
static uint64_t detected_until_ns(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_note *how = ss_program_fact(model, process, ss_fact_torch_steps);
    struct ss_strview text = ss_program_fact_text(model, how);
    return ss_strview_equal(text, ss_strview_of("program")) ? how->time_ns : 0;
}

/* A range without a recorded end is not a step: it follows the last step of a training, or the end
 * of the recording cuts it. */
static void collect_track(struct ss_step_summary *summary, const struct ss_model *model,
                          const struct ss_range_run *run, const struct ss_steps_options *options)
{
    uint32_t process = model->tracks.data[run->track].process;
    uint64_t from_ns = detected_until_ns(model, process);
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if ((range->flags & (SS_RANGE_OUTSIDE | SS_RANGE_END_UNSEEN)) != 0 ||
            range->begin_ns < from_ns) {
            continue;
        }
        bool cut = (range->flags & SS_RANGE_BEGIN_UNSEEN) != 0;
        struct ss_step step = {.process = process,
                               .number = number_of(model, range),
                               .begin_ns = range->begin_ns,
                               .end_ns = range->end_ns,
                               .kind = cut ? SS_STEP_CUT : SS_STEP_STEADY};
        if (!options->has_numbers ||
            (step.number >= options->first && step.number <= options->last)) {
            ss_vec_push(&summary->steps, step);
        }
    }
}

static void collect_steps(struct ss_step_summary *summary, const struct ss_selection *selection,
                          const struct ss_steps_options *options)
{
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(&summary->index.runs, run, SS_ROLE_STEPS)) != NULL) {
        if (ss_selection_has_track(selection, run->track)) {
            collect_track(summary, selection->model, run, options);
        }
    }
    if (summary->steps.count > 0) {
        qsort(summary->steps.data, summary->steps.count, sizeof *summary->steps.data,
              compare_steps);
    }
}

/* --- which are steady-state ------------------------------------------------------------------ */

enum { FEWEST_TO_CLASSIFY = 5, FEW_OUTLIERS = 3, MOST_OUTLIERS_PERCENT = 10 };

enum among { WITHOUT_OPERATORS, WITH_OPERATORS, ALL };

/* The duration above which a step is slow; UINT64_MAX with too few steps. */
static uint64_t slow_ns(const struct ss_step *steps, size_t count, enum among among,
                        uint64_t *scratch)
{
    size_t whole = 0;
    for (size_t i = 0; i < count; i++) {
        bool counts = among == ALL || steps[i].has_operators == (among == WITH_OPERATORS);
        if (steps[i].kind != SS_STEP_CUT && counts) {
            scratch[whole++] = steps[i].end_ns - steps[i].begin_ns;
        }
    }
    if (whole < FEWEST_TO_CLASSIFY) {
        return UINT64_MAX;
    }
    ss_sort_u64(scratch, whole);
    /* The lower of two in the middle: of four steps, two slow ones do not raise it. */
    uint64_t median = ss_percentile_u64(scratch, whole, 50);
    for (size_t i = 0; i < whole; i++) {
        scratch[i] = scratch[i] > median ? scratch[i] - median : median - scratch[i];
    }
    ss_sort_u64(scratch, whole);
    double deviation = 1.4826 * (double)ss_percentile_u64(scratch, whole, 50);
    double least = 0.02 * (double)median;
    double slow = (double)median + 5 * (deviation > least ? deviation : least);
    return slow < (double)INT64_MAX ? (uint64_t)slow : UINT64_MAX;
}

/* Frequent slow steps are how the program runs: every fourth step waits for four workers, or every
 * tenth compiles. */
static void reclassify_frequent(struct ss_step *steps, size_t count)
{
    size_t outliers = 0, later = 0;
    for (size_t i = 0; i < count; i++) {
        outliers += steps[i].kind == SS_STEP_OUTLIER;
        later += steps[i].kind == SS_STEP_OUTLIER || steps[i].kind == SS_STEP_STEADY;
    }
    bool is_frequent = outliers > FEW_OUTLIERS && 100 * outliers > MOST_OUTLIERS_PERCENT * later;
    for (size_t i = 0; i < count && is_frequent; i++) {
        steps[i].kind = steps[i].kind == SS_STEP_OUTLIER ? SS_STEP_STEADY : steps[i].kind;
    }
}

/* A first step that is cut is not a warm-up. Steps whose operators are recorded take longer for
 * that: each step is compared with its peers. */
static void classify(struct ss_step *steps, size_t count, uint64_t *scratch)
{
    uint64_t slow[] = {slow_ns(steps, count, WITHOUT_OPERATORS, scratch),
                       slow_ns(steps, count, WITH_OPERATORS, scratch)};
    for (size_t i = 0; i < 2; i++) { /* with too few peers, by all steps */
        slow[i] = slow[i] == UINT64_MAX ? slow_ns(steps, count, ALL, scratch) : slow[i];
    }
    bool warming_up = true;
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind == SS_STEP_CUT) {
            continue;
        }
        bool is_slow = steps[i].end_ns - steps[i].begin_ns > slow[steps[i].has_operators];
        warming_up = warming_up && is_slow;
        steps[i].kind = warming_up ? SS_STEP_WARM_UP : is_slow ? SS_STEP_OUTLIER : SS_STEP_STEADY;
    }
    reclassify_frequent(steps, count);
}

static void find_recorded(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_recorded_steps recorded;
    struct ss_recorded_devices devices;
    ss_recorded_steps_init(&recorded, model);
    ss_recorded_devices_init(&devices, model);
    ss_lost_kernels_init(&summary->lost, selection, &devices);
    for (size_t i = 0; i < summary->steps.count; i++) {
        struct ss_step *step = &summary->steps.data[i];
        step->has_operators = ss_recorded_steps_has(&recorded, step->process, step->end_ns);
        step->counts_operators = ss_recorded_steps_counts(&recorded, step->process, step->end_ns);
        step->is_whole = ss_recorded_steps_is_whole(&recorded, step->process, step->end_ns);
        step->is_summed = ss_recorded_steps_is_summed(&recorded, step->process, step->end_ns);
        summary->summed += step->is_summed;
        summary->stood_out += !step->is_summed && !step->is_whole;
        bool is_recorded =
            ss_recorded_devices_has(&devices, step->process, step->begin_ns, step->end_ns);
        step->lacks_kernels = is_recorded && ss_lost_kernels_hide(&summary->lost, step->process,
                                                                  step->begin_ns, step->end_ns);
        step->has_device_work = is_recorded && !step->lacks_kernels;
        summary->lacking_kernels += step->lacks_kernels;
        summary->lost_operators =
            summary->lost_operators || ss_recorded_steps_lost_some(&recorded, step->process);
    }
    ss_recorded_devices_fini(&devices);
    ss_recorded_steps_fini(&recorded);
}

static void count_kinds(struct ss_step_summary *summary)
{
    const struct ss_step *steps = summary->steps.data;
    for (size_t i = 0; i < summary->steps.count; i++) {
        summary->steady += steps[i].kind == SS_STEP_STEADY;
        summary->warm_up += steps[i].kind == SS_STEP_WARM_UP;
        summary->outliers += steps[i].kind == SS_STEP_OUTLIER;
        summary->profiled += steps[i].kind == SS_STEP_PROFILED;
        summary->cut += steps[i].kind == SS_STEP_CUT;
        summary->outside += steps[i].kind == SS_STEP_OUTSIDE;
    }
}

static void classify_all(struct ss_step_summary *summary, const struct ss_model *model)
{
    struct ss_step *steps = summary->steps.data;
    uint64_t *scratch = ss_alloc((summary->steps.count + 1) * sizeof *scratch);
    summary->trains = ss_alloc_zero(model->processes.count + 1, sizeof *summary->trains);
    for (size_t first = 0, end; first < summary->steps.count; first = end) {
        for (end = first;
             end < summary->steps.count && steps[end].process == steps[first].process;) {
            end++;
        }
        classify(steps + first, end - first, scratch);
        summary->processes++;
        summary->trains[steps[first].process] = true;
    }
    ss_free(scratch);
    ss_window_steps_mark(summary, model);
}

/* --- steps in which a profiler of the program worked ------------------------------------------ */

static bool may_be_profiled(const struct ss_step *step)
{
    return step->kind != SS_STEP_CUT && step->kind != SS_STEP_OUTSIDE;
}

static bool is_profiled(const struct ss_step *step, uint64_t profiler_ns)
{
    double ns = (double)(step->end_ns - step->begin_ns);
    return may_be_profiled(step) && profiler_ns > 0 &&
           (double)profiler_ns >= ss_limit_factor(SS_LIMIT_PROFILED_PERCENT) * ns;
}

/* Where most steps are profiled, that is how the program runs: the phase is shown then. */
static void mark_profiled(struct ss_step_summary *summary, const struct ss_model *model)
{
    size_t count = summary->phases.count, profiled = 0, whole = 0;
    size_t phase =
        ss_step_find_phase(summary, count - 1, ss_step_find_name(model, ss_phase_profiler));
    if (phase == count - 1) {
        return;
    }
    for (size_t i = 0; i < summary->steps.count; i++) {
        const struct ss_step *step = &summary->steps.data[i];
        profiled += is_profiled(step, summary->phase_ns[i * count + phase]);
        whole += may_be_profiled(step);
    }
    for (size_t i = 0; i < summary->steps.count && 2 * profiled <= whole; i++) {
        struct ss_step *step = &summary->steps.data[i];
        bool is_one = is_profiled(step, summary->phase_ns[i * count + phase]);
        step->kind = is_one ? SS_STEP_PROFILED : step->kind;
    }
}

static uint64_t time_of_profilers(const struct ss_step_summary *summary,
                                  const struct ss_selection *selection)
{
    uint32_t name = ss_step_find_name(selection->model, ss_phase_profiler);
    const struct ss_range_run *run = NULL;
    uint64_t ns = 0;
    while (name != 0 && (run = ss_step_next_run(summary, selection, run)) != NULL) {
        for (size_t i = run->first; i < run->end; i++) {
            const struct ss_model_range *range = &selection->model->ranges.data[i];
            bool is_profiler = ss_step_phase_name(selection->model, range) == name;
            const struct ss_step *step = ss_step_at(
                summary, selection->model->tracks.data[run->track].process, range->begin_ns);
            bool counts = step != NULL && step->kind != SS_STEP_PROFILED;
            ns += is_profiler && !counts ? range->end_ns - range->begin_ns : 0;
        }
    }
    return ns;
}

/* --- steps by time --------------------------------------------------------------------------- */

const struct ss_step *ss_step_last(const struct ss_step_summary *summary, uint32_t process,
                                   uint64_t time_ns)
{
    /* The first that begins later. */
    size_t low = ss_search(i, 0, summary->steps.count,
                           ss_pair_at_most(summary->steps.data[i].process,
                                           summary->steps.data[i].begin_ns, process, time_ns));
    const struct ss_step *step = low > 0 ? &summary->steps.data[low - 1] : NULL;
    return step != NULL && step->process == process ? step : NULL;
}

const struct ss_step *ss_step_at(const struct ss_step_summary *summary, uint32_t process,
                                 uint64_t time_ns)
{
    const struct ss_step *step = ss_step_last(summary, process, time_ns);
    return step != NULL && time_ns < step->end_ns ? step : NULL;
}

/* --- figures --------------------------------------------------------------------------------- */

/* The steps of a damaged recording may add up to more than 64 bits. */
static uint64_t add_up(uint64_t a, uint64_t b)
{
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static void sum_up_phase(struct ss_step_summary *summary, size_t phase, uint64_t *scratch)
{
    struct ss_step_phase *row = &summary->phases.data[phase];
    size_t count = 0;
    for (size_t i = 0; i < summary->steps.count; i++) {
        if (summary->steps.data[i].kind == SS_STEP_STEADY) {
            uint64_t ns = summary->phase_ns[i * summary->phases.count + phase];
            scratch[count++] = ns;
            row->total_ns = add_up(row->total_ns, ns);
            row->steps += ns > 0;
        }
    }
    ss_sort_u64(scratch, count);
    row->percent =
        100 * (double)row->total_ns / (double)(summary->total_ns > 0 ? summary->total_ns : 1);
    row->mean_ns = row->total_ns / summary->steady;
    row->p50_ns = ss_median_u64(scratch, count);
    row->p95_ns = ss_percentile_u64(scratch, count, 95);
    row->max_ns = scratch[count - 1];
}

static void sum_up(struct ss_step_summary *summary)
{
    if (summary->steady == 0) {
        return;
    }
    uint64_t *scratch = ss_alloc((summary->steady + 1) * sizeof *scratch);
    size_t count = 0;
    for (size_t i = 0; i < summary->steps.count; i++) {
        const struct ss_step *step = &summary->steps.data[i];
        if (step->kind == SS_STEP_STEADY) {
            scratch[count++] = step->end_ns - step->begin_ns;
            summary->total_ns = add_up(summary->total_ns, step->end_ns - step->begin_ns);
        }
    }
    ss_sort_u64(scratch, count);
    summary->mean_ns = summary->total_ns / summary->steady;
    summary->p50_ns = ss_median_u64(scratch, count);
    summary->p95_ns = ss_percentile_u64(scratch, count, 95);
    summary->max_ns = scratch[count - 1];
    for (size_t i = 0; i < summary->phases.count; i++) {
        sum_up_phase(summary, i, scratch);
    }
    ss_free(scratch);
}

void ss_step_summary_init(struct ss_step_summary *summary, const struct ss_selection *selection,
                          const struct ss_steps_options *options)
{
    *summary = (struct ss_step_summary){.analysis = ss_analysis_new()};
    ss_process_index_init(&summary->index, selection);
    collect_steps(summary, selection, options);
    find_recorded(summary, selection);
    classify_all(summary, selection->model);
    ss_step_phases_find(summary, selection);
    mark_profiled(summary, selection->model);
    count_kinds(summary);
    summary->profiler_ns = time_of_profilers(summary, selection);
    sum_up(summary);
    ss_phase_lines_find(summary, selection);
}

void ss_step_summary_fini(struct ss_step_summary *summary)
{
    ss_analysis_free(summary->analysis);
    ss_process_index_fini(&summary->index);
    ss_vec_fini(&summary->steps);
    ss_vec_fini(&summary->phases);
    ss_free(summary->phase_ns);
    ss_free(summary->trains);
    ss_lost_kernels_fini(&summary->lost);
    *summary = (struct ss_step_summary){0};
}

size_t ss_step_grown_phase(const struct ss_step_summary *summary, size_t step, uint64_t *more_ns)
{
    size_t count = summary->phases.count, grown = count;
    *more_ns = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = summary->phase_ns[step * count + i];
        uint64_t median_ns = summary->phases.data[i].p50_ns;
        if (ns > median_ns && ns - median_ns > *more_ns) {
            *more_ns = ns - median_ns;
            grown = i;
        }
    }
    return grown;
}

struct ss_strview ss_step_phase_text(const struct ss_model *model,
                                     const struct ss_step_phase *phase)
{
    return phase->name != 0 ? ss_intern_get(&model->strings, phase->name) : ss_strview_of("other");
}

size_t ss_step_phase_named(const struct ss_step_summary *summary, const struct ss_model *model,
                           const char *name)
{
    size_t at = 0;
    while (at < summary->phases.count &&
           !ss_strview_equal(ss_step_phase_text(model, &summary->phases.data[at]),
                             ss_strview_of(name))) {
        at++;
    }
    return at;
}
