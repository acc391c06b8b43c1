/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "analysis/exposed_communication.h"
#include "analysis/program_facts.h"
#include "analysis/ranges.h"
#include "analysis/recorded_steps.h"
#include "analysis/window_steps.h"
#include "base/alloc.h"
#include "base/shared_names.h"
#include "base/strbuf.h"

/* --- which steps there are ------------------------------------------------------------------- */

static bool is_step_track(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->kind == SS_TRACK_STEPS && row->process != 0 &&
           strcmp(ss_model_text(model, row->name), "step") == 0;
}

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

/* A range without a recorded end is no step: it follows the last step of a training, or the end of
 * the recording cuts it. Steps that were detected before the program marked its own do not
 * count. */
static bool is_no_step(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_note *how =
        ss_program_fact(model, model->tracks.data[range->track].process, ss_fact_torch_steps);
    struct ss_strview text = ss_program_fact_text(model, how);
    bool is_early =
        ss_strview_equal(text, ss_strview_of("program")) && range->begin_ns < how->time_ns;
    return is_early || (range->flags & SS_RANGE_END_UNSEEN) != 0;
}

static void collect_steps(struct ss_step_summary *summary, const struct ss_selection *selection,
                          const struct ss_steps_options *options)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if ((range->flags & SS_RANGE_OUTSIDE) != 0 || !is_step_track(model, range->track) ||
            !ss_selection_has_track(selection, range->track) || is_no_step(model, range)) {
            continue;
        }
        bool cut = (range->flags & SS_RANGE_BEGIN_UNSEEN) != 0;
        struct ss_step step = {.process = model->tracks.data[range->track].process,
                               .number = number_of(model, range),
                               .begin_ns = range->begin_ns,
                               .end_ns = range->end_ns,
                               .kind = cut ? SS_STEP_CUT : SS_STEP_STEADY};
        if (!options->has_numbers ||
            (step.number >= options->first && step.number <= options->last)) {
            ss_vec_push(&summary->steps, step);
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

/* A first step that is cut is no warm-up. Steps whose operators are recorded take longer for that:
 * each step is compared with its peers. */
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

static void classify_all(struct ss_step_summary *summary, const struct ss_model *model)
{
    struct ss_step *steps = summary->steps.data;
    uint64_t *scratch = ss_alloc((summary->steps.count + 1) * sizeof *scratch);
    struct ss_recorded_steps recorded;
    ss_recorded_steps_init(&recorded, model);
    for (size_t i = 0; i < summary->steps.count; i++) {
        steps[i].has_operators =
            ss_recorded_steps_has(&recorded, steps[i].process, steps[i].end_ns);
    }
    ss_recorded_steps_fini(&recorded);
    for (size_t first = 0, end; first < summary->steps.count; first = end) {
        for (end = first;
             end < summary->steps.count && steps[end].process == steps[first].process;) {
            end++;
        }
        classify(steps + first, end - first, scratch);
        summary->processes++;
    }
    ss_free(scratch);
    ss_window_steps_mark(summary, model);
    for (size_t i = 0; i < summary->steps.count; i++) {
        summary->steady += steps[i].kind == SS_STEP_STEADY;
        summary->warm_up += steps[i].kind == SS_STEP_WARM_UP;
        summary->outliers += steps[i].kind == SS_STEP_OUTLIER;
        summary->cut += steps[i].kind == SS_STEP_CUT;
        summary->outside += steps[i].kind == SS_STEP_OUTSIDE;
    }
}

/* --- phases ---------------------------------------------------------------------------------- */

static const char *const ordered_phases[] = {
    ss_phase_data,      ss_phase_forward,    ss_phase_backward,   ss_phase_communication,
    ss_phase_optimizer, ss_phase_checkpoint, ss_phase_evaluation, ss_phase_inference};
enum { ORDERED_COUNT = sizeof ordered_phases / sizeof *ordered_phases };

static bool is_phase(const struct ss_selection *selection, const struct ss_model_range *range)
{
    const struct ss_model_track *track = &selection->model->tracks.data[range->track];
    return track->kind == SS_TRACK_PHASES && track->process != 0 &&
           ss_selection_has_track(selection, range->track);
}

static uint32_t phase_name(const struct ss_model *model, const struct ss_model_range *range)
{
    return model->names.data[model->paths.data[range->path].name].text;
}

/* The index of the phase; `count` where there is none: the index of "other". */
static size_t find_phase(const struct ss_step_summary *summary, size_t count, uint32_t name)
{
    size_t at = 0;
    while (at < count && summary->phases.data[at].name != name) {
        at++;
    }
    return at;
}

static size_t order_of(const struct ss_model *model, const struct ss_step_phase *phase)
{
    size_t at = 0;
    while (at < ORDERED_COUNT &&
           strcmp(ss_model_text(model, phase->name), ordered_phases[at]) != 0) {
        at++;
    }
    return at;
}

/* Known phases first, in the order in which a step has them; the others in order of appearance. */
static void order_phases(struct ss_step_summary *summary, const struct ss_model *model)
{
    struct ss_step_phase *rows = summary->phases.data;
    for (size_t i = 1; i < summary->phases.count; i++) {
        struct ss_step_phase row = rows[i];
        size_t at = i;
        for (; at > 0 && order_of(model, &rows[at - 1]) > order_of(model, &row); at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
}

/* The string of a name in the recording; 0: none. */
static uint32_t find_name(const struct ss_model *model, const char *text)
{
    for (size_t i = 1; i < model->names.count; i++) {
        if (strcmp(ss_model_text(model, model->names.data[i].text), text) == 0) {
            return model->names.data[i].text;
        }
    }
    return 0;
}

static void list_phase(struct ss_step_summary *summary, uint32_t name)
{
    size_t count = summary->phases.count;
    if (name != 0 && count < SS_STEP_MAX_PHASES - 1 && find_phase(summary, count, name) == count) {
        ss_vec_push(&summary->phases, (struct ss_step_phase){.name = name});
    }
}

static void list_phases(struct ss_step_summary *summary, const struct ss_selection *selection,
                        const struct ss_exposed_communication *exposed)
{
    const struct ss_model *model = selection->model;
    if (exposed->spans.count > 0) {
        list_phase(summary, find_name(model, ss_phase_communication));
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        list_phase(summary, is_phase(selection, range) ? phase_name(model, range) : 0);
    }
    order_phases(summary, model);
    ss_vec_push(&summary->phases, (struct ss_step_phase){.name = 0});
}

struct phase_part {
    uint32_t process;
    size_t phase;
    uint64_t begin_ns, end_ns;
    uint64_t before_ns; /* of this phase of this process, before this part */
};

static int compare_parts(const void *left, const void *right)
{
    const struct phase_part *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int compare_of_phase(const void *left, const void *right)
{
    const struct phase_part *a = left, *b = right;
    if (a->phase != b->phase) {
        return a->phase < b->phase ? -1 : 1;
    }
    return compare_parts(a, b);
}

struct phase_parts ss_vec_of(struct phase_part);

/* Of overlapping phases, which a damaged recording may have, the later one ends the earlier one:
 * then parts do not overlap, and prefix sums give a phase's time within any interval. */
static void remove_overlaps(struct phase_parts *parts)
{
    struct phase_part *rows = parts->data;
    qsort(rows, parts->count, sizeof *rows, compare_parts);
    for (size_t i = 0; i + 1 < parts->count; i++) {
        if (rows[i + 1].process == rows[i].process && rows[i + 1].begin_ns < rows[i].end_ns) {
            rows[i].end_ns = rows[i + 1].begin_ns;
        }
    }
    qsort(rows, parts->count, sizeof *rows, compare_of_phase);
    for (size_t i = 1; i < parts->count; i++) {
        const struct phase_part *last = &rows[i - 1];
        if (last->phase == rows[i].phase && last->process == rows[i].process) {
            rows[i].before_ns = last->before_ns + (last->end_ns - last->begin_ns);
        }
    }
}

/* Adds a backward pass without its waits for communication, which become parts of their own. */
static void add_backward(const struct ss_exposed_communication *exposed, size_t communication,
                         struct phase_part part, struct phase_parts *parts)
{
    size_t low = 0, high = exposed->spans.count;
    while (low < high) { /* the first that ends after the part's begin */
        size_t middle = low + (high - low) / 2;
        const struct ss_exposed_span *span = &exposed->spans.data[middle];
        bool is_before = span->process < part.process ||
                         (span->process == part.process && span->end_ns <= part.begin_ns);
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    for (; low < exposed->spans.count; low++) {
        const struct ss_exposed_span *span = &exposed->spans.data[low];
        if (span->process != part.process || span->begin_ns >= part.end_ns) {
            break;
        }
        struct phase_part wait = {part.process, communication, span->begin_ns, span->end_ns, 0};
        wait.begin_ns = wait.begin_ns > part.begin_ns ? wait.begin_ns : part.begin_ns;
        wait.end_ns = wait.end_ns < part.end_ns ? wait.end_ns : part.end_ns;
        struct phase_part before = part;
        before.end_ns = wait.begin_ns;
        ss_vec_push(parts, before);
        ss_vec_push(parts, wait);
        part.begin_ns = wait.end_ns;
    }
    ss_vec_push(parts, part);
}

static void collect_parts(const struct ss_step_summary *summary,
                          const struct ss_selection *selection,
                          const struct ss_exposed_communication *exposed, struct phase_parts *parts)
{
    const struct ss_model *model = selection->model;
    size_t others = summary->phases.count - 1;
    size_t communication =
        exposed->spans.count > 0
            ? find_phase(summary, others, find_name(model, ss_phase_communication))
            : others;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (is_phase(selection, range) && phase_name(model, range) != 0) {
            uint32_t name = phase_name(model, range);
            struct phase_part part = {.process = model->tracks.data[range->track].process,
                                      .phase = find_phase(summary, others, name),
                                      .begin_ns = range->begin_ns,
                                      .end_ns = range->end_ns};
            if (communication < others &&
                strcmp(ss_model_text(model, name), ss_phase_backward) == 0) {
                add_backward(exposed, communication, part, parts);
            } else {
                ss_vec_push(parts, part);
            }
        }
    }
    if (parts->count > 0) {
        remove_overlaps(parts);
    }
}

/* The phase's time in the process until `time_ns`. */
static uint64_t phase_time_until(const struct phase_parts *parts, size_t phase, uint32_t process,
                                 uint64_t time_ns)
{
    const struct phase_part key = {.process = process, .phase = phase, .begin_ns = time_ns};
    size_t low = 0, high = parts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = compare_of_phase(&parts->data[middle], &key) < 0;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    const struct phase_part *last = low > 0 ? &parts->data[low - 1] : NULL;
    if (last == NULL || last->phase != phase || last->process != process) {
        return 0;
    }
    return last->before_ns + (last->end_ns < time_ns ? last->end_ns : time_ns) - last->begin_ns;
}

/* Splits the step into the times of its phases. */
static void split_step(const struct ss_step *step, const struct phase_parts *parts,
                       uint64_t *phase_ns, size_t other)
{
    uint64_t rest_ns = step->end_ns - step->begin_ns;
    for (size_t i = 0; i < other; i++) {
        phase_ns[i] = phase_time_until(parts, i, step->process, step->end_ns) -
                      phase_time_until(parts, i, step->process, step->begin_ns);
        rest_ns -= phase_ns[i];
    }
    phase_ns[other] = rest_ns;
}

static void split_steps(struct ss_step_summary *summary, const struct ss_selection *selection,
                        const struct ss_exposed_communication *exposed)
{
    struct phase_parts parts = {0};
    collect_parts(summary, selection, exposed, &parts);
    size_t phases = summary->phases.count;
    summary->phase_ns = ss_alloc_zero(summary->steps.count * phases + 1, sizeof(uint64_t));
    for (size_t i = 0; i < summary->steps.count; i++) {
        split_step(&summary->steps.data[i], &parts, summary->phase_ns + i * phases, phases - 1);
    }
    ss_vec_fini(&parts);
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
    row->p50_ns = ss_percentile_u64(scratch, count, 50);
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
    summary->p50_ns = ss_percentile_u64(scratch, count, 50);
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
    *summary = (struct ss_step_summary){0};
    collect_steps(summary, selection, options);
    classify_all(summary, selection->model);
    struct ss_exposed_communication exposed;
    ss_exposed_communication_init(&exposed, selection);
    list_phases(summary, selection, &exposed);
    split_steps(summary, selection, &exposed);
    ss_exposed_communication_fini(&exposed);
    sum_up(summary);
    ss_phase_lines_find(summary, selection);
}

void ss_step_summary_fini(struct ss_step_summary *summary)
{
    ss_vec_fini(&summary->steps);
    ss_vec_fini(&summary->phases);
    ss_free(summary->phase_ns);
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

/* --- tables ---------------------------------------------------------------------------------- */

static const char no_steps[] =
    "no steps: the program marked none (stepscope.step(), stepscope_step), and no optimizer of "
    "PyTorch updated a model";

static const struct ss_column step_columns[SS_STEP_COLUMNS] = {
    [SS_STEP_PID] = {.key = "pid"},
    [SS_STEP_PROCESS] = {.key = "process"},
    [SS_STEP_NUMBER] = {.key = "step"},
    [SS_STEP_KIND] = {.key = "kind"},
    [SS_STEP_BEGIN] = {.key = "begin_ns", .unit = "ns"},
    [SS_STEP_DURATION] = {.key = "duration_ns", .unit = "ns"},
};

enum { MAX_KEY_BYTES = 4096 };

/* A phase named "duration" must not have that column's key. */
static const char *phase_key(const struct ss_model *model, const struct ss_step_phase *phase,
                             struct ss_arena *arena)
{
    struct ss_strbuf key;
    ss_strbuf_init(&key, MAX_KEY_BYTES);
    struct ss_strview name = ss_step_phase_text(model, phase);
    bool taken = phase->name != 0 && (ss_strview_equal(name, ss_strview_of("other")) ||
                                      ss_strview_equal(name, ss_strview_of("begin")) ||
                                      ss_strview_equal(name, ss_strview_of("duration")));
    ss_strbuf_append_text(&key, taken ? "phase_" : "");
    ss_strbuf_append_view(&key, name);
    ss_strbuf_append_text(&key, "_ns");
    const char *copy = ss_arena_strndup(arena, key.data, key.length);
    ss_strbuf_fini(&key);
    return copy;
}

static void init_step_columns(const struct ss_step_summary *summary, const struct ss_model *model,
                              struct ss_table *table)
{
    size_t count = SS_STEP_COLUMNS + summary->phases.count;
    struct ss_column *columns = ss_arena_alloc(&table->texts, count * sizeof *columns);
    memcpy(columns, step_columns, sizeof step_columns);
    for (size_t i = 0; i < summary->phases.count; i++) {
        columns[SS_STEP_COLUMNS + i] = (struct ss_column){
            .key = phase_key(model, &summary->phases.data[i], &table->texts), .unit = "ns"};
    }
    table->columns = columns;
    table->column_count = count;
}

void ss_steps_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                    const struct ss_steps_options *options, struct ss_table *table)
{
    static const char *const kinds[] = {[SS_STEP_STEADY] = "usual",
                                        [SS_STEP_WARM_UP] = "warm-up",
                                        [SS_STEP_OUTLIER] = "outlier",
                                        [SS_STEP_CUT] = "cut",
                                        [SS_STEP_OUTSIDE] = "outside"};
    const struct ss_model *model = selection->model;
    *table = (struct ss_table){
        .name = "step", .title = "Steps", .is_of_program = true, .empty_text = no_steps};
    init_step_columns(summary, model, table);
    uint64_t origin_ns = UINT64_MAX;
    for (size_t i = 0; i < summary->steps.count; i++) {
        uint64_t begin_ns = summary->steps.data[i].begin_ns;
        origin_ns = begin_ns < origin_ns ? begin_ns : origin_ns;
    }
    for (size_t i = 0; i < summary->steps.count; i++) {
        const struct ss_step *step = &summary->steps.data[i];
        const struct ss_model_process *process = &model->processes.data[step->process];
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = summary->steps.count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_STEP_PID] = ss_cell_integer(process->pid);
        if (process->name != 0) {
            cells[SS_STEP_PROCESS] = ss_cell_text(ss_intern_get(&model->strings, process->name));
        }
        cells[SS_STEP_NUMBER] = ss_cell_integer(step->number);
        cells[SS_STEP_KIND] = ss_cell_text(ss_strview_of(kinds[step->kind]));
        cells[SS_STEP_BEGIN] = ss_cell_integer((int64_t)(step->begin_ns - origin_ns));
        cells[SS_STEP_DURATION] = ss_cell_integer((int64_t)(step->end_ns - step->begin_ns));
        for (size_t p = 0; p < summary->phases.count; p++) {
            cells[SS_STEP_COLUMNS + p] =
                ss_cell_integer((int64_t)summary->phase_ns[i * summary->phases.count + p]);
        }
    }
}

static const struct ss_column phase_columns[SS_PHASE_COLUMNS] = {
    [SS_PHASE_NAME] = {.key = "phase"},
    [SS_PHASE_PERCENT] = {.key = "percent", .unit = "percent"},
    [SS_PHASE_TOTAL] = {.key = "total_ns", .unit = "ns"},
    [SS_PHASE_MEAN] = {.key = "mean_ns", .unit = "ns"},
    [SS_PHASE_P50] = {.key = "p50_ns", .unit = "ns"},
    [SS_PHASE_P95] = {.key = "p95_ns", .unit = "ns"},
    [SS_PHASE_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_PHASE_STEPS] = {.key = "steps", .unit = "steps"},
    [SS_PHASE_SAMPLES] = {.key = "samples", .unit = "samples"},
    [SS_PHASE_LINE_PERCENT] = {.key = "line_percent", .unit = "percent of samples"},
    [SS_PHASE_LINE_PATH] = {.key = "line_path"},
    [SS_PHASE_LINE] = {.key = "line"},
    [SS_PHASE_LINE_FUNCTION] = {.key = "line_function"},
    [SS_PHASE_LINE_LEAF] = {.key = "line_calls"},
    [SS_PHASE_MEMORY] = {.key = "memory"},
    [SS_PHASE_MEMORY_END] = {.key = "memory_end_bytes", .unit = "bytes"},
    [SS_PHASE_MEMORY_CHANGE] = {.key = "memory_change_bytes", .unit = "bytes"},
    [SS_PHASE_MEMORY_PEAK] = {.key = "memory_peak_bytes", .unit = "bytes"},
};

static void put_line(const struct ss_model *model, const struct ss_phase_line *line,
                     struct ss_cell *cells)
{
    if (line->all > 0) {
        cells[SS_PHASE_SAMPLES] = ss_cell_integer((int64_t)line->all);
    }
    if (line->frame == 0) {
        return;
    }
    const struct ss_model_frame *frame = &model->frames.data[line->frame];
    cells[SS_PHASE_LINE_PERCENT] = ss_cell_real(100 * (double)line->samples / (double)line->all);
    cells[SS_PHASE_LINE_PATH] = ss_cell_text(ss_intern_get(&model->strings, frame->short_file));
    if (frame->line >= 0) {
        cells[SS_PHASE_LINE] = ss_cell_integer(frame->line);
    }
    cells[SS_PHASE_LINE_FUNCTION] = ss_cell_text(ss_intern_get(&model->strings, frame->function));
    if (line->leaf != 0) {
        cells[SS_PHASE_LINE_LEAF] =
            ss_cell_text(ss_intern_get(&model->strings, model->frames.data[line->leaf].function));
    }
}

void ss_phases_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                     struct ss_table *table)
{
    *table = (struct ss_table){.name = "phase",
                               .title = "Phases of a step",
                               .is_of_program = true,
                               .empty_text = no_steps,
                               .columns = phase_columns,
                               .column_count = SS_PHASE_COLUMNS};
    for (size_t i = 0; i < summary->phases.count && summary->steady > 0; i++) {
        const struct ss_step_phase *phase = &summary->phases.data[i];
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_PHASE_NAME] = ss_cell_text(ss_step_phase_text(selection->model, phase));
        cells[SS_PHASE_PERCENT] = ss_cell_real(phase->percent);
        cells[SS_PHASE_TOTAL] = ss_cell_integer((int64_t)phase->total_ns);
        cells[SS_PHASE_MEAN] = ss_cell_integer((int64_t)phase->mean_ns);
        cells[SS_PHASE_P50] = ss_cell_integer((int64_t)phase->p50_ns);
        cells[SS_PHASE_P95] = ss_cell_integer((int64_t)phase->p95_ns);
        cells[SS_PHASE_MAX] = ss_cell_integer((int64_t)phase->max_ns);
        cells[SS_PHASE_STEPS] = ss_cell_integer((int64_t)phase->steps);
        put_line(selection->model, &phase->line, cells);
    }
}
