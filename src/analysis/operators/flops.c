/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/flops.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls/calls.h"
#include "analysis/calls/forward_operators.h"
#include "analysis/selection/program_facts.h"
#include "analysis/steps/ranges.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

const char *const ss_flops_tracks[] = {ss_domain_torch_flops, ss_domain_torch,
                                       ss_domain_torch_module, ss_domain_torch_compile, NULL};

static const struct ss_column columns[SS_FLOPS_COLUMNS] = {
    [SS_FLOPS_KIND] = {.key = "kind", .comparison = SS_COMPARES_KEY},
    [SS_FLOPS_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_FLOPS_COUNT] = {.key = "flops_per_step", .unit = "flops", .comparison = SS_COMPARES_STEP},
    [SS_FLOPS_PERCENT] = {.key = "percent", .unit = "percent"},
    [SS_FLOPS_CALLS] = {.key = "calls_per_step", .unit = "calls"},
    [SS_FLOPS_TIME] = {.key = "time_per_step_ns", .unit = "ns", .comparison = SS_COMPARES_STEP},
    [SS_FLOPS_RATE] = {.key = "flops_per_s", .unit = "flops/s"},
    [SS_FLOPS_PEAK] = {.key = "peak_flops_per_s", .unit = "flops/s"},
    [SS_FLOPS_PEAK_PERCENT] = {.key = "peak_percent", .unit = "percent"},
    [SS_FLOPS_PEAK_OF] = {.key = "peak_of"},
    [SS_FLOPS_STEPS] = {.key = "counted_steps", .unit = "steps"},
};

struct row {
    uint32_t name; /* string */
    bool is_module;
    double flops;
    uint64_t calls, ns;
    size_t last_mark; /* of a module: the last mark added to it, + 1 */
};

struct tally {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_step_summary *training;
    struct ss_vec_of(struct ss_step) steps;   /* in which FLOPs were counted */
    const struct ss_track_span *track_ranges; /* by track */
    struct ss_forward_operators forwards;
    struct ss_vec_of(struct row) rows;
    double flops;
    uint64_t calls;
    size_t marks;
};

static bool is_track(const struct ss_model *model, uint32_t track, const char *name)
{
    return strcmp(ss_model_text(model, model->tracks.data[track].name), name) == 0;
}

/* --- which steps were counted ----------------------------------------------------------------- */

static bool has_step(const struct tally *tally, const struct ss_step *step)
{
    for (size_t i = 0; i < tally->steps.count; i++) {
        const struct ss_step *one = &tally->steps.data[i];
        if (one->process == step->process && one->begin_ns == step->begin_ns) {
            return true;
        }
    }
    return false;
}

/* The steps of the process that lie within a range of counting. */
static void add_steps(struct tally *tally, uint32_t process, const struct ss_model_range *range)
{
    for (size_t s = 0; s < tally->training->steps.count; s++) {
        const struct ss_step *step = &tally->training->steps.data[s];
        if (step->process == process && step->kind != SS_STEP_CUT &&
            range->begin_ns <= step->begin_ns && step->end_ns <= range->end_ns &&
            !has_step(tally, step)) {
            ss_vec_push(&tally->steps, *step);
        }
    }
}

static void find_steps(struct tally *tally)
{
    const struct ss_model *model = tally->model;
    const struct ss_range_runs *runs = &tally->training->index.runs;
    for (size_t r = 0; r < runs->rows.count; r++) {
        const struct ss_range_run *run = &runs->rows.data[r];
        bool counts = is_track(model, run->track, ss_domain_torch_flops);
        for (size_t i = run->first; i < run->end && counts; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            if (range->lane != 0) {
                add_steps(tally, model->tracks.data[run->track].process, range);
            }
        }
    }
}

static bool is_in_step(const struct tally *tally, uint32_t process, uint64_t time_ns)
{
    for (size_t i = 0; i < tally->steps.count; i++) {
        const struct ss_step *step = &tally->steps.data[i];
        if (step->process == process && step->begin_ns <= time_ns && time_ns < step->end_ns) {
            return true;
        }
    }
    return false;
}

/* --- open ranges ------------------------------------------------------------------------------ */

/* The thread's track of nested ranges; 0: none. */
static uint32_t track_of(const struct tally *tally, uint32_t thread, const char *domain)
{
    for (uint32_t track = 1; track < tally->model->tracks.count; track++) {
        if (tally->model->tracks.data[track].thread == thread && thread != 0 &&
            ss_calls_has_track(tally->selection, track, domain)) {
            return track;
        }
    }
    return 0;
}

static size_t ranges_begun(const struct tally *tally, uint32_t track, uint64_t time_ns)
{
    return ss_search(i, tally->track_ranges[track].first, tally->track_ranges[track].end,
                     tally->model->ranges.data[i].begin_ns <= time_ns);
}

/* Index + 1 of the innermost range before index `at` that encloses the time; 0: none. Begin with
 * `at` = ranges_begun, continue with the index found. */
static size_t enclosing_range(const struct tally *tally, uint32_t track, uint64_t time_ns,
                              size_t at)
{
    const struct ss_model *model = tally->model;
    while (at > tally->track_ranges[track].first) {
        const struct ss_model_range *range = &model->ranges.data[--at];
        if (range->end_ns > time_ns) {
            return at + 1;
        }
        if (model->paths.data[range->path].depth <= 1) {
            break; /* all before it have ended too */
        }
    }
    return 0;
}

static bool is_compiling(const struct tally *tally, uint32_t thread, uint64_t time_ns)
{
    uint32_t track = track_of(tally, thread, ss_domain_torch_compile);
    return track != 0 &&
           enclosing_range(tally, track, time_ns, ranges_begun(tally, track, time_ns)) != 0;
}

/* --- adding up -------------------------------------------------------------------------------- */

static struct row *row_of(struct tally *tally, uint32_t name, bool is_module)
{
    for (size_t i = 0; i < tally->rows.count; i++) {
        struct row *row = &tally->rows.data[i];
        if (row->name == name && row->is_module == is_module) {
            return row;
        }
    }
    ss_vec_push(&tally->rows, (struct row){.name = name, .is_module = is_module});
    return &tally->rows.data[tally->rows.count - 1];
}

/* Adds to each module that is open at that time, once per module. */
static void charge_modules(struct tally *tally, uint32_t thread, uint64_t time_ns, double flops)
{
    const struct ss_model *model = tally->model;
    uint32_t track = track_of(tally, thread, ss_domain_torch_module);
    size_t at = track != 0 ? ranges_begun(tally, track, time_ns) : 0;
    while (track != 0 && (at = enclosing_range(tally, track, time_ns, at)) != 0) {
        uint32_t name = model->paths.data[model->ranges.data[--at].path].name;
        struct row *row = row_of(tally, model->names.data[name].text, true);
        if (row->last_mark != tally->marks) {
            row->last_mark = tally->marks;
            row->flops += flops;
            row->calls++;
        }
    }
}

static void add_mark(struct tally *tally, const struct ss_model_mark *mark, double flops)
{
    const struct ss_model *model = tally->model;
    uint32_t thread = model->tracks.data[mark->track].thread;
    uint32_t process = model->tracks.data[mark->track].process;
    uint32_t name = model->names.data[mark->name].text;
    uint32_t track = track_of(tally, thread, ss_domain_torch);
    const struct ss_forward_operator *forward = NULL;
    uint64_t ns = 0;
    size_t at = track != 0 ? ranges_begun(tally, track, mark->time_ns) : 0;
    while (track != 0 && (at = enclosing_range(tally, track, mark->time_ns, at)) != 0) {
        const struct ss_model_range *range = &model->ranges.data[--at];
        uint32_t range_name = model->paths.data[range->path].name;
        uint64_t number;
        if (ns == 0 && model->names.data[range_name].text == name) {
            ns = range->end_ns - range->begin_ns;
        }
        if (forward == NULL && ss_call_kind_of(model, range_name) == SS_CALL_BACKWARD &&
            ss_sequence_number(model, range, &number)) {
            forward = ss_forward_operator_of(&tally->forwards, process, number, range->begin_ns);
        }
    }
    struct row *row = row_of(tally, name, false);
    row->flops += flops;
    row->calls++;
    row->ns += ns;
    if (forward != NULL) {
        thread = model->tracks.data[model->ranges.data[forward->range].track].thread;
    }
    charge_modules(tally, thread, forward != NULL ? forward->begin_ns : mark->time_ns, flops);
}

/* Sums the counted marks and calls `add` for each. */
static void add_marks(struct tally *tally,
                      void (*add)(struct tally *, const struct ss_model_mark *, double))
{
    const struct ss_model *model = tally->model;
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_model_track *track = &model->tracks.data[mark->track];
        const struct ss_model_payload *payload = &model->payloads.data[mark->payload];
        bool is_number = payload->type == SS_VALUE_UINT || payload->type == SS_VALUE_INT;
        if (mark->payload != 0 && is_number && track->thread != 0 &&
            is_track(model, mark->track, ss_domain_torch_flops) &&
            ss_selection_has_track(tally->selection, mark->track) &&
            is_in_step(tally, track->process, mark->time_ns) &&
            !is_compiling(tally, track->thread, mark->time_ns)) {
            tally->marks++;
            tally->flops += (double)payload->natural;
            tally->calls++;
            add(tally, mark, (double)payload->natural);
        }
    }
}

/* --- the table -------------------------------------------------------------------------------- */

static int64_t fact_number(const struct ss_model *model, uint32_t process, const char *key)
{
    const struct ss_model_note *note = ss_program_fact(model, process, key);
    return note != NULL ? note->value : 0;
}

/* Of the first counted process. */
static struct ss_peak find_peak(const struct tally *tally, bool *is_gpu)
{
    const struct ss_model *model = tally->model;
    uint32_t process = tally->steps.data[0].process;
    struct ss_strview device =
        ss_program_fact_text(model, ss_program_fact(model, process, ss_fact_torch_device));
    *is_gpu = device.length > 0 || fact_number(model, process, ss_fact_torch_cuda) != 0;
    if (*is_gpu) {
        return ss_peak_of_gpu(device);
    }
    return ss_peak_of_cpu(
        ss_program_fact_text(model, ss_program_fact(model, process, ss_fact_cpu_capability)),
        fact_number(model, process, ss_fact_cpu_mhz),
        fact_number(model, process, ss_fact_torch_threads));
}

static uint64_t step_ns(const struct tally *tally)
{
    uint64_t sum = 0;
    if (tally->training->steady > 0) {
        return tally->training->mean_ns;
    }
    for (size_t i = 0; i < tally->steps.count; i++) {
        sum += tally->steps.data[i].end_ns - tally->steps.data[i].begin_ns;
    }
    return sum / tally->steps.count;
}

static struct ss_flops_figures figures_of(const struct tally *tally)
{
    struct ss_flops_figures figures = {.steps = tally->steps.count};
    figures.flops = tally->flops / (double)figures.steps;
    figures.calls = (double)tally->calls / (double)figures.steps;
    figures.step_ns = step_ns(tally);
    figures.peak = find_peak(tally, &figures.is_gpu);
    return figures;
}

double ss_flops_rate(const struct ss_flops_figures *figures)
{
    return figures->step_ns > 0 ? figures->flops * 1e9 / (double)figures->step_ns : 0;
}

static void fill_rate(struct ss_cell *cells, double flops, double ns)
{
    if (ns > 0) {
        cells[SS_FLOPS_TIME] = ss_cell_integer((int64_t)ns);
        cells[SS_FLOPS_RATE] = ss_cell_real(flops / ns * 1e9);
    }
}

static void fill_step(const struct ss_flops_figures *figures, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    const struct ss_peak *peak = &figures->peak;
    double rate = ss_flops_rate(figures);
    cells[SS_FLOPS_KIND] = ss_cell_text(ss_strview_of("step"));
    cells[SS_FLOPS_COUNT] = ss_cell_real(figures->flops);
    cells[SS_FLOPS_PERCENT] = ss_cell_real(100);
    cells[SS_FLOPS_CALLS] = ss_cell_real(figures->calls);
    cells[SS_FLOPS_STEPS] = ss_cell_integer((int64_t)figures->steps);
    fill_rate(cells, figures->flops, (double)figures->step_ns);
    if (peak->flops_per_s > 0 && rate > 0) {
        size_t length = strlen(peak->of);
        const char *of = ss_arena_strndup(&table->texts, peak->of, length);
        cells[SS_FLOPS_PEAK] = ss_cell_real(peak->flops_per_s);
        cells[SS_FLOPS_PEAK_PERCENT] = ss_cell_real(100 * rate / peak->flops_per_s);
        cells[SS_FLOPS_PEAK_OF] = ss_cell_text((struct ss_strview){of, length});
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->is_module != y->is_module ? x->is_module - y->is_module
           : x->flops != y->flops       ? (x->flops < y->flops ? 1 : -1)
           : x->name != y->name         ? (x->name > y->name ? 1 : -1)
                                        : 0;
}

static void fill_row(const struct tally *tally, const struct row *row, bool is_gpu,
                     struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    double steps = (double)tally->steps.count;
    cells[SS_FLOPS_KIND] = ss_cell_text(ss_strview_of(row->is_module ? "module" : "operator"));
    cells[SS_FLOPS_NAME] = ss_cell_text(ss_intern_get(&tally->model->strings, row->name));
    cells[SS_FLOPS_COUNT] = ss_cell_real(row->flops / steps);
    cells[SS_FLOPS_PERCENT] = ss_cell_real(tally->flops > 0 ? 100 * row->flops / tally->flops : 0);
    cells[SS_FLOPS_CALLS] = ss_cell_real((double)row->calls / steps);
    if (!is_gpu && !row->is_module) { /* on a GPU it is the time of the launch */
        fill_rate(cells, row->flops / steps, (double)row->ns / steps);
    }
}

static void fill_table(struct tally *tally, uint64_t max_rows, struct ss_table *table)
{
    struct ss_flops_figures figures = figures_of(tally);
    uint64_t shown[2] = {0};
    fill_step(&figures, table);
    if (tally->rows.count > 0) {
        qsort(tally->rows.data, tally->rows.count, sizeof *tally->rows.data, compare_rows);
    }
    for (size_t i = 0; i < tally->rows.count; i++) {
        const struct row *row = &tally->rows.data[i];
        if (max_rows == 0 || shown[row->is_module]++ < max_rows) {
            fill_row(tally, row, figures.is_gpu, table);
        } else {
            table->hidden_rows++;
        }
    }
}

/* "Model FLOPs utilisation 12 % of 3.2 TFLOP/s (…)"; more than 100 % is not a valid measurement. */
static void add_intro(struct ss_table *table)
{
    const struct ss_cell *step = ss_table_cell(table, 0, 0);
    struct ss_sentence *text = ss_table_add_intro(table, SS_NOTE_FACT);
    ss_sentence_add(text, "Matrix products, convolutions and attention, counted in ");
    ss_sentence_add_number(text, step[SS_FLOPS_STEPS].integer);
    ss_sentence_add(text, " steps, backward as it ran; modules with their backward.");
    text = ss_table_add_intro(table, SS_NOTE_FACT);
    if (step[SS_FLOPS_PEAK].type != SS_CELL_REAL) {
        ss_sentence_add(text,
                        "The peak of this device is not known, and so neither is the utilisation.");
        return;
    }
    ss_sentence_add(text, "Model FLOPs utilisation ");
    ss_sentence_add_figure(text, step[SS_FLOPS_PEAK_PERCENT].real, 3);
    ss_sentence_add(text, " % of ");
    ss_sentence_add_flop_rate(text, step[SS_FLOPS_PEAK].real);
    ss_sentence_add(text, " (");
    ss_sentence_add_name(text, step[SS_FLOPS_PEAK_OF].text);
    ss_sentence_add(text, ").");
    if (step[SS_FLOPS_PEAK_PERCENT].real > 100) {
        ss_sentence_add(ss_table_add_intro(table, SS_NOTE_WARNING),
                        "More than the device's peak: the peak is not of this device or "
                        "number format, or steps differ from those counted.");
    }
}

void ss_flops_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    uint64_t max_rows, struct ss_table *table)
{
    struct tally tally = {.selection = selection,
                          .model = selection->model,
                          .training = training,
                          .track_ranges = training->index.runs.spans};
    *table = (struct ss_table){.name = "flops",
                               .title = "Floating-point operations per step (estimate)",
                               .is_of_program = true,
                               .empty_text = "no FLOPs: they are counted in the third to fifth "
                                             "step of a PyTorch training whose operators are "
                                             "recorded (stepscope info)",
                               .columns = columns,
                               .column_count = SS_FLOPS_COLUMNS};
    find_steps(&tally);
    if (tally.steps.count > 0) {
        uint8_t *kinds = ss_call_kinds(tally.model);
        ss_forward_operators_init(&tally.forwards, tally.model, ss_domain_torch, kinds, NULL);
        add_marks(&tally, add_mark);
        ss_free(kinds);
        fill_table(&tally, max_rows, table);
        add_intro(table);
    }
    ss_vec_fini(&tally.rows);
    ss_forward_operators_fini(&tally.forwards);
    ss_vec_fini(&tally.steps);
}

static void add_nothing(struct tally *tally, const struct ss_model_mark *mark, double flops)
{
    (void)tally;
    (void)mark;
    (void)flops;
}

void ss_flops_figures_find(struct ss_flops_figures *figures, const struct ss_selection *selection,
                           const struct ss_step_summary *training)
{
    struct tally tally = {.selection = selection,
                          .model = selection->model,
                          .training = training,
                          .track_ranges = training->index.runs.spans};
    *figures = (struct ss_flops_figures){0};
    find_steps(&tally);
    if (tally.steps.count > 0) {
        add_marks(&tally, add_nothing);
        *figures = figures_of(&tally);
    }
    ss_vec_fini(&tally.steps);
}
