/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/devices/device_gaps.h"
#include "analysis/kernels/kernel_names.h"
#include "analysis/kernels/launch_lines.h"
#include "analysis/selection/shared_ranges.h"
#include "base/alloc.h"
#include "base/search.h"

enum {
    /* A call returns so much later than the work ends, at most. */
    RETURN_NS = 50000,
    MOST_PLACE_BYTES = 4096
};

/* --- places ----------------------------------------------------------------------------------- */

struct building {
    const struct ss_model *model;
    const struct ss_device_works *works;
    const struct ss_range_finder *finder;
    struct by_end *ends;
    struct ss_intern keys;
    struct ss_device_waits *waits;
    const char **line_of_stack; /* by string: text of the waits; NULL: not found yet */
};

/* Empty: no frame of it has a place. */
static const char *line_of_stack(struct building *building, uint32_t stack)
{
    const char **known = &building->line_of_stack[stack];
    if (*known == NULL) {
        struct ss_intern *texts = &building->waits->texts;
        struct ss_strbuf text;
        struct ss_code_line line =
            ss_stack_field_line(ss_model_text(building->model, stack), texts);
        ss_strbuf_init(&text, MOST_PLACE_BYTES);
        if (line.path != 0) {
            ss_strbuf_append_format(&text, "%s:%u %s", ss_intern_get(texts, line.path).data,
                                    line.line, ss_intern_get(texts, line.function).data);
        }
        *known = ss_intern_text(texts, ss_intern_put(texts, text.data, text.length));
        ss_strbuf_fini(&text);
    }
    return *known;
}

/* The stack of the call, else the one that a profiler recorded with an operator around it. */
static const char *line_of_call(struct building *building, uint32_t range)
{
    const struct ss_model *model = building->model;
    for (uint32_t at = range + 1; at != 0; at = building->finder->parents[at - 1]) {
        uint32_t payload = model->ranges.data[at - 1].payload;
        const struct ss_model_field *field =
            payload != 0 ? ss_model_field_of(model, payload, SS_EVENT_FIELD_stack) : NULL;
        if (field != NULL && field->type == SS_VALUE_TEXT && field->text != 0) {
            return line_of_stack(building, field->text);
        }
    }
    return "";
}

static bool is_operator(const struct ss_model *model, uint32_t name)
{
    const char *text = ss_model_text(model, model->names.data[name].text);
    return strncmp(text, "aten::", strlen("aten::")) == 0;
}

/* What the program called: aten::item, which calls aten::_local_scalar_dense. The calls of the
 * runtime may be on a track of their own. */
static uint32_t operator_of_call(const struct building *building, uint32_t range)
{
    const struct ss_model *model = building->model;
    const struct ss_range_finder *finder = building->finder;
    const struct ss_model_range *call = &model->ranges.data[range];
    uint32_t track = finder->threads[model->tracks.data[call->track].thread].torch;
    uint32_t found = 0, at = finder->parents[range];
    if (track != 0 && track != call->track) {
        at = ss_range_at(finder, track, call->begin_ns);
    }
    for (; at != 0; at = finder->parents[at - 1]) {
        uint32_t name = model->paths.data[model->ranges.data[at - 1].path].name;
        found = is_operator(model, name) ? name : found;
    }
    return found;
}

/* Of a call of the device's runtime, by its range: of its thread, at its start. */
static struct ss_code_place place_of_call(struct building *building, uint32_t range)
{
    const struct ss_range_finder *finder = building->finder;
    const struct ss_model *model = finder->model;
    const struct ss_model_range *call = &model->ranges.data[range];
    uint32_t thread = model->tracks.data[call->track].thread;
    uint32_t track = finder->threads[thread].python;
    uint32_t found = track != 0 ? ss_range_at(finder, track, call->begin_ns) : 0;
    for (uint32_t at = found; at != 0; at = finder->parents[at - 1]) {
        uint32_t name = model->paths.data[model->ranges.data[at - 1].path].name;
        if (model->names.data[name].file != 0) {
            return (struct ss_code_place){.name = name}; /* not a built-in function */
        }
    }
    const char *line = line_of_call(building, range);
    if (line[0] != '\0') {
        return (struct ss_code_place){.line = line};
    }
    for (uint32_t at = finder->parents[range]; at != 0; at = finder->parents[at - 1]) {
        uint32_t name = model->paths.data[model->ranges.data[at - 1].path].name;
        if (strcmp(ss_model_text(model, model->names.data[name].category), "runtime") != 0) {
            return (struct ss_code_place){.name = name};
        }
    }
    return (struct ss_code_place){0};
}

void ss_code_place_append(const struct ss_model *model, struct ss_code_place place,
                          struct ss_strbuf *out)
{
    if (place.line != NULL) {
        ss_strbuf_append_text(out, place.line);
        return;
    }
    const struct ss_model_name *name = &model->names.data[place.name];
    if (name->file != 0) {
        ss_strbuf_append_format(out, "%s:%u ", ss_model_text(model, name->file), name->line);
    }
    ss_strbuf_append_text(out, ss_model_text(model, name->text));
}

/* --- waits ------------------------------------------------------------------------------------ */

/* Works of a process by their end. */
struct by_end {
    uint64_t end_ns;
    uint32_t process;
    uint32_t work;
};

static int compare_ends(const void *left, const void *right)
{
    const struct by_end *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return a->work < b->work ? -1 : a->work > b->work;
}

/* The work that the call waited for; NULL: nothing ended while it waited. */
static const struct ss_device_work *waited_for(const struct building *building, uint32_t process,
                                               const struct ss_model_range *call)
{
    const struct by_end *ends = building->ends;
    uint64_t until_ns = call->end_ns + RETURN_NS;
    const struct ss_device_work *copy = NULL;
    /* The first that ends after the call. */
    size_t low = ss_search(i, 0, building->works->works.count,
                           ss_pair_at_most(ends[i].process, ends[i].end_ns, process, until_ns));
    for (; low > 0 && ends[low - 1].process == process && ends[low - 1].end_ns > call->begin_ns;
         low--) {
        const struct ss_device_work *work = &building->works->works.data[ends[low - 1].work];
        bool is_earlier = work->launch == 0 ||
                          building->model->ranges.data[work->launch - 1].begin_ns <= call->begin_ns;
        if (is_earlier && work->work_class != SS_WORK_COPY) {
            return work;
        }
        copy = is_earlier && copy == NULL ? work : copy;
    }
    return copy;
}

struct key {
    uint64_t place, launcher;
    uint32_t call, work;
};

/* Texts of lines are interned. */
static uint64_t key_of_place(struct ss_code_place place)
{
    return place.line != NULL ? (uint64_t)(uintptr_t)place.line : place.name;
}

static struct ss_device_wait *row_of(struct building *building, const struct ss_device_wait *like)
{
    struct key key = {key_of_place(like->place), key_of_place(like->launcher), like->call,
                      like->work};
    uint32_t id = ss_intern_put(&building->keys, (const char *)&key, sizeof key);
    if (id > building->waits->rows.count) {
        ss_vec_push(&building->waits->rows, *like);
    }
    return &building->waits->rows.data[id - 1];
}

static void add_wait(struct building *building, uint32_t range, uint32_t process,
                     struct ss_steady_cursor *cursor)
{
    const struct ss_model *model = building->model;
    const struct ss_model_range *call = &model->ranges.data[range];
    const struct ss_device_work *work = waited_for(building, process, call);
    struct ss_device_wait like = {.place = place_of_call(building, range),
                                  .call = model->paths.data[call->path].name,
                                  .work = work != NULL ? work->name : 0};
    if (work != NULL && work->launch != 0) {
        like.launcher = place_of_call(building, work->launch - 1);
    }
    struct ss_device_wait *row = row_of(building, &like);
    uint64_t length_ns = call->end_ns - call->begin_ns;
    bool is_in;
    if (row->operator_name == 0) { /* of the steps whose operators were recorded */
        row->operator_name = operator_of_call(building, range);
    }
    row->count++;
    row->total_ns += length_ns;
    row->max_ns = length_ns > row->max_ns ? length_ns : row->max_ns;
    row->steady_ns += ss_steady_time_of(cursor, call->begin_ns, call->end_ns, &is_in);
    row->steady_count += is_in;
}

static int compare_waits(const void *left, const void *right)
{
    const struct ss_device_wait *a = left, *b = right;
    if (a->total_ns != b->total_ns) {
        return a->total_ns > b->total_ns ? -1 : 1;
    }
    return a->call < b->call ? -1 : a->call > b->call;
}

static void sort_ends(struct building *building)
{
    size_t count = building->works->works.count;
    building->ends = ss_alloc((count + 1) * sizeof *building->ends);
    for (size_t i = 0; i < count; i++) {
        const struct ss_device_work *work = &building->works->works.data[i];
        building->ends[i] = (struct by_end){work->end_ns, work->process, (uint32_t)i};
    }
    if (count > 1) {
        qsort(building->ends, count, sizeof *building->ends, compare_ends);
    }
}

void ss_device_waits_init(struct ss_device_waits *waits, const struct ss_selection *selection,
                          const struct ss_device_works *works, const struct ss_range_finder *finder,
                          const struct ss_steady_time *steady)
{
    const struct ss_model *model = selection->model;
    struct building building = {.model = model,
                                .works = works,
                                .finder = finder,
                                .waits = waits,
                                .line_of_stack =
                                    ss_alloc_zero(model->strings.count + 1, sizeof(char *))};
    *waits = (struct ss_device_waits){0};
    ss_intern_init(&waits->texts);
    ss_intern_init(&building.keys);
    sort_ends(&building);
    bool *is_wait = ss_waiting_calls(model, works);
    struct ss_steady_cursor cursor = {0};
    uint32_t track = 0;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t thread = model->tracks.data[range->track].thread;
        if (!is_wait[i] || !selection->threads[thread] || (range->flags & SS_RANGE_OUTSIDE) != 0) {
            continue;
        }
        uint32_t process = model->threads.data[thread].process;
        if (range->track != track) { /* times of a track ascend, but for its lanes */
            track = range->track;
            ss_steady_cursor_init(&cursor, steady, process);
        }
        add_wait(&building, (uint32_t)i, process, &cursor);
    }
    if (waits->rows.count > 1) {
        qsort(waits->rows.data, waits->rows.count, sizeof *waits->rows.data, compare_waits);
    }
    ss_free(is_wait);
    ss_free(building.ends);
    ss_free(building.line_of_stack);
    ss_intern_fini(&building.keys);
}

void ss_device_waits_fini(struct ss_device_waits *waits)
{
    ss_vec_fini(&waits->rows);
    ss_intern_fini(&waits->texts);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct ss_column columns[SS_DEVICE_WAIT_COLUMNS] = {
    [SS_DEVICE_WAIT_PLACE] = {.key = "waits_at", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_WAIT_OPERATOR] = {.key = "operator"},
    [SS_DEVICE_WAIT_CALL] = {.key = "call", .comparison = SS_COMPARES_KEY},
    [SS_DEVICE_WAIT_COUNT] = {.key = "count", .unit = "waits", .comparison = SS_COMPARES_RUN_SUM},
    [SS_DEVICE_WAIT_TOTAL] = {.key = "total_ns",
                              .unit = "ns",
                              .comparison = SS_COMPARES_RUN_SUM,
                              .leads = true},
    [SS_DEVICE_WAIT_MEAN] = {.key = "avg_ns", .unit = "ns"},
    [SS_DEVICE_WAIT_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_DEVICE_WAIT_STEP_COUNT] = {.key = "step_count",
                                   .unit = "waits",
                                   .comparison = SS_COMPARES_STEP},
    [SS_DEVICE_WAIT_STEP_TIME] = {.key = "step_ns",
                                  .unit = "ns",
                                  .comparison = SS_COMPARES_STEP,
                                  .leads = true},
    [SS_DEVICE_WAIT_WORK] = {.key = "waits_for"},
    [SS_DEVICE_WAIT_LAUNCHER] = {.key = "launched_at"},
};

static struct ss_cell text_of_place(const struct ss_model *model, struct ss_code_place place,
                                    struct ss_table *table)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_PLACE_BYTES);
    ss_code_place_append(model, place, &text);
    const char *copy = ss_arena_strndup(&table->texts, text.data, text.length);
    struct ss_cell cell = ss_cell_text((struct ss_strview){copy, text.length});
    ss_strbuf_fini(&text);
    return cell;
}

static struct ss_strview name_text(const struct ss_model *model, uint32_t name)
{
    return ss_intern_get(&model->strings, model->names.data[name].text);
}

static void put_wait(const struct ss_model *model, const struct ss_device_wait *row,
                     const struct ss_steady_time *steady, struct ss_table *table,
                     struct ss_cell *cells)
{
    if (ss_code_place_is_known(row->place)) {
        cells[SS_DEVICE_WAIT_PLACE] = text_of_place(model, row->place, table);
    }
    if (row->operator_name != 0) {
        cells[SS_DEVICE_WAIT_OPERATOR] = ss_cell_text(name_text(model, row->operator_name));
    }
    cells[SS_DEVICE_WAIT_CALL] = ss_cell_text(name_text(model, row->call));
    cells[SS_DEVICE_WAIT_COUNT] = ss_cell_integer((int64_t)row->count);
    cells[SS_DEVICE_WAIT_TOTAL] = ss_cell_integer((int64_t)row->total_ns);
    cells[SS_DEVICE_WAIT_MEAN] = ss_cell_integer((int64_t)(row->total_ns / row->count));
    cells[SS_DEVICE_WAIT_MAX] = ss_cell_integer((int64_t)row->max_ns);
    if (steady->steps > 0) {
        cells[SS_DEVICE_WAIT_STEP_COUNT] =
            ss_cell_real((double)row->steady_count / (double)steady->steps);
        cells[SS_DEVICE_WAIT_STEP_TIME] =
            ss_cell_integer((int64_t)(row->steady_ns / steady->steps));
    }
    if (row->work != 0) {
        struct ss_strbuf brief;
        ss_strbuf_init(&brief, MOST_PLACE_BYTES);
        ss_kernel_short_name(name_text(model, row->work), &brief);
        const char *copy = ss_arena_strndup(&table->texts, brief.data, brief.length);
        cells[SS_DEVICE_WAIT_WORK] = ss_cell_text((struct ss_strview){copy, brief.length});
        ss_strbuf_fini(&brief);
    }
    if (ss_code_place_is_known(row->launcher)) {
        cells[SS_DEVICE_WAIT_LAUNCHER] = text_of_place(model, row->launcher, table);
    }
}

void ss_device_waits_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training, uint64_t max_rows,
                           struct ss_table *table)
{
    struct ss_steady_time steady;
    struct ss_device_waits waits;
    *table = (struct ss_table){.name = "wait",
                               .title = "Waits for devices",
                               .empty_text = "no call that waits for a device was recorded",
                               .columns = columns,
                               .column_count = SS_DEVICE_WAIT_COLUMNS};
    ss_steady_time_init(&steady, training, SS_STEADY_OF_DEVICES);
    ss_device_waits_init(&waits, selection, ss_selection_works(selection),
                         ss_selection_finder(selection), &steady);
    for (size_t i = 0; i < waits.rows.count; i++) {
        if (max_rows != 0 && i >= max_rows) {
            table->hidden_rows = waits.rows.count - i;
            break;
        }
        put_wait(selection->model, &waits.rows.data[i], &steady, table, ss_table_add_row(table));
    }
    ss_device_waits_fini(&waits);
    ss_steady_time_fini(&steady);
}
