/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/flops.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "analysis/ranges.h"
#include "analysis/told.h"
#include "base/alloc.h"

static const char counted_domain[] = "torch.flops";

const char *const ss_flops_tracks[] = {"torch.flops", "torch", "torch.module", "torch.compile",
                                       NULL};

static const struct ss_column columns[SS_FLOPS_COLUMNS] = {
    [SS_FLOPS_KIND] = {.key = "kind"},
    [SS_FLOPS_NAME] = {.key = "name"},
    [SS_FLOPS_COUNT] = {.key = "flops_per_step", .unit = "flops"},
    [SS_FLOPS_PERCENT] = {.key = "percent", .unit = "percent"},
    [SS_FLOPS_CALLS] = {.key = "calls_per_step", .unit = "calls"},
    [SS_FLOPS_TIME] = {.key = "time_per_step_ns", .unit = "ns"},
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
    size_t last_mark; /* of a module: what was added last, + 1 */
};

/* An operator that autograd follows. */
struct numbered {
    uint32_t process;
    uint64_t number, begin_ns;
    uint32_t thread;
};

/* The ranges of a track, which lie together. */
struct place {
    size_t first, end;
};

struct adding {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_step_summary *training;
    struct ss_vec_of(struct ss_step) steps; /* that were counted */
    struct place *places;                   /* by track */
    struct ss_vec_of(struct numbered) numbers;
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

static bool has_step(const struct adding *adding, const struct ss_step *step)
{
    for (size_t i = 0; i < adding->steps.count; i++) {
        const struct ss_step *one = &adding->steps.data[i];
        if (one->process == step->process && one->begin_ns == step->begin_ns) {
            return true;
        }
    }
    return false;
}

static void find_steps(struct adding *adding)
{
    const struct ss_model *model = adding->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (range->lane == 0 || !is_track(model, range->track, counted_domain)) {
            continue;
        }
        for (size_t s = 0; s < adding->training->steps.count; s++) {
            const struct ss_step *step = &adding->training->steps.data[s];
            if (step->process == model->tracks.data[range->track].process &&
                step->kind != SS_STEP_CUT && range->begin_ns <= step->begin_ns &&
                step->end_ns <= range->end_ns && !has_step(adding, step)) {
                ss_vec_push(&adding->steps, *step);
            }
        }
    }
}

static bool is_in_step(const struct adding *adding, uint32_t process, uint64_t time_ns)
{
    for (size_t i = 0; i < adding->steps.count; i++) {
        const struct ss_step *step = &adding->steps.data[i];
        if (step->process == process && step->begin_ns <= time_ns && time_ns < step->end_ns) {
            return true;
        }
    }
    return false;
}

/* --- what is open ----------------------------------------------------------------------------- */

static void find_places(struct adding *adding)
{
    const struct ss_model *model = adding->model;
    adding->places = ss_alloc_zero(model->tracks.count + 1, sizeof *adding->places);
    for (size_t i = 0; i < model->ranges.count; i++) {
        struct place *place = &adding->places[model->ranges.data[i].track];
        place->first = place->end == 0 ? i : place->first;
        place->end = i + 1;
    }
}

/* The thread's track of nested ranges; 0: none. */
static uint32_t track_of(const struct adding *adding, uint32_t thread, const char *domain)
{
    for (uint32_t track = 1; track < adding->model->tracks.count; track++) {
        if (adding->model->tracks.data[track].thread == thread && thread != 0 &&
            ss_calls_has_track(adding->selection, track, domain)) {
            return track;
        }
    }
    return 0;
}

static size_t last_begun(const struct adding *adding, uint32_t track, uint64_t time_ns)
{
    size_t low = adding->places[track].first, high = adding->places[track].end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (adding->model->ranges.data[middle].begin_ns <= time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The next range around, from the innermost one on: `at` is what was returned last, + 1 (or
 * last_begun). 0: there is no more. */
static size_t range_around(const struct adding *adding, uint32_t track, uint64_t time_ns, size_t at)
{
    const struct ss_model *model = adding->model;
    while (at > adding->places[track].first) {
        const struct ss_model_range *range = &model->ranges.data[--at];
        if (range->end_ns > time_ns) {
            return at + 1;
        }
        if (model->paths.data[range->path].depth <= 1) {
            break; /* those before it have ended too */
        }
    }
    return 0;
}

static bool is_compiling(const struct adding *adding, uint32_t thread, uint64_t time_ns)
{
    uint32_t track = track_of(adding, thread, "torch.compile");
    return track != 0 &&
           range_around(adding, track, time_ns, last_begun(adding, track, time_ns)) != 0;
}

/* --- whose backward it is --------------------------------------------------------------------- */

static bool number_of(const struct ss_model *model, const struct ss_model_range *range,
                      uint64_t *number)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    *number = payload->natural;
    return range->payload != 0 && payload->type == SS_VALUE_INT && payload->integer >= 0;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return x->process != y->process     ? (x->process > y->process ? 1 : -1)
           : x->number != y->number     ? (x->number > y->number ? 1 : -1)
           : x->begin_ns != y->begin_ns ? (x->begin_ns > y->begin_ns ? 1 : -1)
                                        : 0;
}

static void collect_numbers(struct adding *adding)
{
    const struct ss_model *model = adding->model;
    for (uint32_t track = 1; track < model->tracks.count; track++) {
        if (!ss_calls_has_track(adding->selection, track, "torch")) {
            continue;
        }
        for (size_t i = adding->places[track].first; i < adding->places[track].end; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            struct numbered one = {.process = model->tracks.data[track].process,
                                   .begin_ns = range->begin_ns,
                                   .thread = model->tracks.data[track].thread};
            if (number_of(model, range, &one.number) &&
                ss_call_kind_of(model, model->paths.data[range->path].name) == SS_CALL_FORWARD &&
                is_in_step(adding, one.process, range->begin_ns)) {
                ss_vec_push(&adding->numbers, one);
            }
        }
    }
    if (adding->numbers.count > 0) {
        qsort(adding->numbers.data, adding->numbers.count, sizeof *adding->numbers.data,
              compare_numbers);
    }
}

/* The last operator with this number before that time: it made the node. */
static const struct numbered *forward_of(const struct adding *adding, struct numbered node)
{
    size_t low = 0, high = adding->numbers.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_numbers(&adding->numbers.data[middle], &node) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct numbered *found = low > 0 ? &adding->numbers.data[low - 1] : NULL;
    return found != NULL && found->process == node.process && found->number == node.number ? found
                                                                                           : NULL;
}

/* --- adding up -------------------------------------------------------------------------------- */

static struct row *row_of(struct adding *adding, uint32_t name, bool is_module)
{
    for (size_t i = 0; i < adding->rows.count; i++) {
        struct row *row = &adding->rows.data[i];
        if (row->name == name && row->is_module == is_module) {
            return row;
        }
    }
    ss_vec_push(&adding->rows, (struct row){.name = name, .is_module = is_module});
    return &adding->rows.data[adding->rows.count - 1];
}

/* To each module that was open then, once. */
static void charge_modules(struct adding *adding, uint32_t thread, uint64_t time_ns, double flops)
{
    const struct ss_model *model = adding->model;
    uint32_t track = track_of(adding, thread, "torch.module");
    size_t at = track != 0 ? last_begun(adding, track, time_ns) : 0;
    while (track != 0 && (at = range_around(adding, track, time_ns, at)) != 0) {
        uint32_t name = model->paths.data[model->ranges.data[--at].path].name;
        struct row *row = row_of(adding, model->names.data[name].text, true);
        if (row->last_mark != adding->marks) {
            row->last_mark = adding->marks;
            row->flops += flops;
            row->calls++;
        }
    }
}

static void add_mark(struct adding *adding, const struct ss_model_mark *mark, double flops)
{
    const struct ss_model *model = adding->model;
    uint32_t thread = model->tracks.data[mark->track].thread;
    uint32_t process = model->tracks.data[mark->track].process;
    uint32_t name = model->names.data[mark->name].text;
    uint32_t track = track_of(adding, thread, "torch");
    const struct numbered *forward = NULL;
    uint64_t ns = 0;
    size_t at = track != 0 ? last_begun(adding, track, mark->time_ns) : 0;
    while (track != 0 && (at = range_around(adding, track, mark->time_ns, at)) != 0) {
        const struct ss_model_range *range = &model->ranges.data[--at];
        uint32_t range_name = model->paths.data[range->path].name;
        struct numbered node = {.process = process, .begin_ns = range->begin_ns};
        if (ns == 0 && model->names.data[range_name].text == name) {
            ns = range->end_ns - range->begin_ns;
        }
        if (forward == NULL && ss_call_kind_of(model, range_name) == SS_CALL_BACKWARD &&
            number_of(model, range, &node.number)) {
            forward = forward_of(adding, node);
        }
    }
    struct row *row = row_of(adding, name, false);
    row->flops += flops;
    row->calls++;
    row->ns += ns;
    charge_modules(adding, forward != NULL ? forward->thread : thread,
                   forward != NULL ? forward->begin_ns : mark->time_ns, flops);
}

/* `add`: what becomes of each. */
static void add_marks(struct adding *adding,
                      void (*add)(struct adding *, const struct ss_model_mark *, double))
{
    const struct ss_model *model = adding->model;
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_model_track *track = &model->tracks.data[mark->track];
        const struct ss_model_payload *payload = &model->payloads.data[mark->payload];
        bool is_number = payload->type == SS_VALUE_UINT || payload->type == SS_VALUE_INT;
        if (mark->payload != 0 && is_number && track->thread != 0 &&
            is_track(model, mark->track, counted_domain) &&
            ss_selection_has_track(adding->selection, mark->track) &&
            is_in_step(adding, track->process, mark->time_ns) &&
            !is_compiling(adding, track->thread, mark->time_ns)) {
            adding->marks++;
            adding->flops += (double)payload->natural;
            adding->calls++;
            add(adding, mark, (double)payload->natural);
        }
    }
}

/* --- the table -------------------------------------------------------------------------------- */

static int64_t told_number(const struct ss_model *model, uint32_t process, const char *key)
{
    const struct ss_model_note *note = ss_told(model, process, key);
    return note != NULL ? note->value : 0;
}

/* Of the first process that was counted. */
static struct ss_peak find_peak(const struct adding *adding, bool *is_gpu)
{
    const struct ss_model *model = adding->model;
    uint32_t process = adding->steps.data[0].process;
    struct ss_strview device = ss_told_text(model, ss_told(model, process, "torch.device"));
    *is_gpu = device.length > 0 || told_number(model, process, "torch.cuda") != 0;
    if (*is_gpu) {
        return ss_peak_of_gpu(device);
    }
    return ss_peak_of_cpu(ss_told_text(model, ss_told(model, process, "cpu.capability")),
                          told_number(model, process, "cpu.mhz"),
                          told_number(model, process, "torch.threads"));
}

static uint64_t step_ns(const struct adding *adding)
{
    uint64_t sum = 0;
    if (adding->training->usual > 0) {
        return adding->training->mean_ns;
    }
    for (size_t i = 0; i < adding->steps.count; i++) {
        sum += adding->steps.data[i].end_ns - adding->steps.data[i].begin_ns;
    }
    return sum / adding->steps.count;
}

static struct ss_flops_figures figures_of(const struct adding *adding)
{
    struct ss_flops_figures figures = {.steps = adding->steps.count};
    figures.flops = adding->flops / (double)figures.steps;
    figures.calls = (double)adding->calls / (double)figures.steps;
    figures.step_ns = step_ns(adding);
    figures.peak = find_peak(adding, &figures.is_gpu);
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

static void fill_row(const struct adding *adding, const struct row *row, bool is_gpu,
                     struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    double steps = (double)adding->steps.count;
    cells[SS_FLOPS_KIND] = ss_cell_text(ss_strview_of(row->is_module ? "module" : "operator"));
    cells[SS_FLOPS_NAME] = ss_cell_text(ss_intern_get(&adding->model->strings, row->name));
    cells[SS_FLOPS_COUNT] = ss_cell_real(row->flops / steps);
    cells[SS_FLOPS_PERCENT] =
        ss_cell_real(adding->flops > 0 ? 100 * row->flops / adding->flops : 0);
    cells[SS_FLOPS_CALLS] = ss_cell_real((double)row->calls / steps);
    if (!is_gpu && !row->is_module) { /* else it is the time to ask for it */
        fill_rate(cells, row->flops / steps, (double)row->ns / steps);
    }
}

static void fill_table(struct adding *adding, uint64_t max_rows, struct ss_table *table)
{
    struct ss_flops_figures figures = figures_of(adding);
    uint64_t shown[2] = {0};
    fill_step(&figures, table);
    if (adding->rows.count > 0) {
        qsort(adding->rows.data, adding->rows.count, sizeof *adding->rows.data, compare_rows);
    }
    for (size_t i = 0; i < adding->rows.count; i++) {
        const struct row *row = &adding->rows.data[i];
        if (max_rows == 0 || shown[row->is_module]++ < max_rows) {
            fill_row(adding, row, figures.is_gpu, table);
        } else {
            table->hidden_rows++;
        }
    }
}

void ss_flops_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    uint64_t max_rows, struct ss_table *table)
{
    struct adding adding = {
        .selection = selection, .model = selection->model, .training = training};
    *table = (struct ss_table){.name = "flops",
                               .title = "Floating-point operations per step (estimate)",
                               .is_of_program = true,
                               .empty_text = "no FLOPs: they are counted in the third to fifth "
                                             "step of a PyTorch training whose operators are "
                                             "recorded (stepscope info)",
                               .columns = columns,
                               .column_count = SS_FLOPS_COLUMNS};
    find_places(&adding);
    find_steps(&adding);
    if (adding.steps.count > 0) {
        collect_numbers(&adding);
        add_marks(&adding, add_mark);
        fill_table(&adding, max_rows, table);
    }
    ss_vec_fini(&adding.rows);
    ss_vec_fini(&adding.numbers);
    ss_free(adding.places);
    ss_vec_fini(&adding.steps);
}

static void add_nothing(struct adding *adding, const struct ss_model_mark *mark, double flops)
{
    (void)adding;
    (void)mark;
    (void)flops;
}

void ss_flops_figures_find(struct ss_flops_figures *figures, const struct ss_selection *selection,
                           const struct ss_step_summary *training)
{
    struct adding adding = {
        .selection = selection, .model = selection->model, .training = training};
    *figures = (struct ss_flops_figures){0};
    find_places(&adding);
    find_steps(&adding);
    if (adding.steps.count > 0) {
        add_marks(&adding, add_nothing);
        *figures = figures_of(&adding);
    }
    ss_vec_fini(&adding.steps);
    ss_free(adding.places);
}
