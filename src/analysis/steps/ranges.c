/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/ranges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launches/device_work.h"
#include "analysis/selection/recorded_steps.h"
#include "analysis/steps/range_rows.h"
#include "analysis/table/distribution.h"
#include "analysis/table/owner_cells.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "model/core/torch_names.h"

static const struct ss_column columns[SS_RANGE_COLUMNS] = {
    [SS_RANGE_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_RANGE_PATH] = {.key = "path", .comparison = SS_COMPARES_KEY},
    [SS_RANGE_KIND] = {.key = "kind", .comparison = SS_COMPARES_KEY},
    [SS_RANGE_DOMAIN] = {.key = "domain", .comparison = SS_COMPARES_KEY},
    [SS_RANGE_CATEGORY] = {.key = "category"},
    [SS_RANGE_PID] = {.key = "pid"},
    [SS_RANGE_TID] = {.key = "tid"},
    [SS_RANGE_THREAD] = {.key = "thread"},
    [SS_RANGE_COUNT] = {.key = "count", .unit = "ranges", .comparison = SS_COMPARES_SUM},
    [SS_RANGE_TOTAL] = {.key = "total_ns",
                        .unit = "ns",
                        .comparison = SS_COMPARES_SUM,
                        .leads = true},
    [SS_RANGE_SELF] = {.key = "self_ns", .unit = "ns"},
    [SS_RANGE_MEAN] = {.key = "mean_ns", .unit = "ns"},
    [SS_RANGE_P50] = {.key = "p50_ns", .unit = "ns"},
    [SS_RANGE_P95] = {.key = "p95_ns", .unit = "ns"},
    [SS_RANGE_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_RANGE_CUT] = {.key = "cut", .unit = "ranges"},
    [SS_RANGE_PAYLOADS] = {.key = "payload_count", .unit = "ranges"},
    [SS_RANGE_PAYLOAD_SUM] = {.key = "payload_sum", .unit = "of the payload"},
    [SS_RANGE_PAYLOAD_MIN] = {.key = "payload_min", .unit = "of the payload"},
    [SS_RANGE_PAYLOAD_MEAN] = {.key = "payload_mean", .unit = "of the payload"},
    [SS_RANGE_PAYLOAD_MAX] = {.key = "payload_max", .unit = "of the payload"},
    [SS_RANGE_DEVICE] = {.key = "device_ns", .unit = "ns"},
    [SS_RANGE_DEVICE_WORKS] = {.key = "device_works", .unit = "works"},
};

enum { MAX_PATH_TEXT = 4096 }; /* hostile traces nest tens of thousands of ranges */

/* One name for all steps of a profiler of PyTorch. */
static struct ss_strview shown_name(const struct ss_model *model, uint32_t string)
{
    struct ss_strview text = ss_intern_get(&model->strings, string);
    int64_t number;
    return ss_torch_profiler_step(text, &number) ? ss_strview_of("ProfilerStep*") : text;
}

struct ss_strview ss_range_path_text(const struct ss_model *model, uint32_t path,
                                     struct ss_arena *arena)
{
    struct ss_vec_of(uint32_t) names = {0};
    for (; path != 0; path = model->paths.data[path].parent) {
        ss_vec_push(&names, model->names.data[model->paths.data[path].name].text);
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_PATH_TEXT);
    for (size_t i = names.count; i-- > 0;) {
        ss_strbuf_append_view(&text, shown_name(model, names.data[i]));
        if (i > 0) {
            ss_strbuf_append_char(&text, ';');
        }
    }
    static const char more[] = "…";
    size_t length = text.length + (text.overflow ? sizeof more - 1 : 0);
    char *copy = ss_arena_alloc(arena, length + 1);
    memcpy(copy, text.data, text.length);
    memcpy(copy + text.length, more, length - text.length);
    ss_strbuf_fini(&text);
    ss_vec_fini(&names);
    return (struct ss_strview){copy, length};
}

bool ss_selection_has_track(const struct ss_selection *selection, uint32_t track)
{
    const struct ss_model_track *row = &selection->model->tracks.data[track];
    return row->thread != 0 ? selection->threads[row->thread] : selection->processes[row->process];
}

void ss_track_owner_cells(const struct ss_model *model, uint32_t track, struct ss_cell *pid,
                          struct ss_cell *tid, struct ss_cell *thread)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    *pid = ss_process_cell(model, row->process);
    if (row->thread != 0) {
        const struct ss_model_thread *owner = &model->threads.data[row->thread];
        *tid = ss_thread_cell(model, row->thread);
        if (owner->name != 0) {
            *thread = ss_cell_text(ss_intern_get(&model->strings, owner->name));
        }
    }
}

/* --- by range ------------------------------------------------------------------------------- */

static int by_total(const void *left, const void *right)
{
    const struct ss_range_row *a = left, *b = right;
    if (a->total_ns != b->total_ns) {
        return a->total_ns > b->total_ns ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

static int by_self(const void *left, const void *right)
{
    const struct ss_range_row *a = left, *b = right;
    return a->self_ns != b->self_ns ? (a->self_ns > b->self_ns ? -1 : 1) : by_total(left, right);
}

static void put_text(const struct ss_model *model, uint32_t string, struct ss_cell *cell)
{
    if (string != 0) {
        *cell = ss_cell_text(ss_intern_get(&model->strings, string));
    }
}

static struct ss_cell time_cell(uint64_t ns)
{
    return ss_cell_integer(ns < INT64_MAX ? (int64_t)ns : INT64_MAX);
}

/* An integer cell where a double holds the whole number exactly. */
static struct ss_cell number_cell(double value)
{
    return fabs(value) < 9007199254740992.0 && value == floor(value)
               ? ss_cell_integer((int64_t)value)
               : ss_cell_real(value);
}

static void fill_payloads(const struct ss_range_row *row, struct ss_cell *cells)
{
    cells[SS_RANGE_PAYLOADS] = ss_cell_integer((int64_t)row->payload_count);
    if (row->payload_count > 0 && isfinite(row->payload_sum)) {
        cells[SS_RANGE_PAYLOAD_SUM] = number_cell(row->payload_sum);
        cells[SS_RANGE_PAYLOAD_MIN] = number_cell(row->payload_min);
        cells[SS_RANGE_PAYLOAD_MEAN] = ss_cell_real(row->payload_sum / (double)row->payload_count);
        cells[SS_RANGE_PAYLOAD_MAX] = number_cell(row->payload_max);
    }
}

/* The columns that the rows are grouped by. */
static void fill_identity(const struct ss_model *model, const struct ss_range_row *row,
                          unsigned grouping, struct ss_table *table, struct ss_cell *cells)
{
    static const char *const kinds[SS_TRACK_KIND_COUNT] = {
        [SS_TRACK_RANGES] = "range", [SS_TRACK_ASYNC] = "async",  [SS_TRACK_STEPS] = "step",
        [SS_TRACK_PHASES] = "phase", [SS_TRACK_COUNTER] = "none", [SS_TRACK_GROUP] = "none"};
    const struct ss_model_track *track = &model->tracks.data[row->track];
    const struct ss_model_name *name = &model->names.data[model->paths.data[row->path].name];
    struct ss_cell unused;
    bool by_thread = (grouping & SS_GROUP_THREAD) != 0;
    cells[SS_RANGE_KIND] = ss_cell_text(ss_strview_of(kinds[track->kind]));
    if ((grouping & (SS_GROUP_PATH | SS_GROUP_NAME)) != 0) {
        cells[SS_RANGE_NAME] = ss_cell_text(shown_name(model, name->text));
        if (name->category == 0 && name->type != SS_EVENT_TYPE_NONE) {
            cells[SS_RANGE_CATEGORY] =
                ss_cell_text(ss_strview_of(ss_model_event_type_name(name->type)));
        }
        put_text(model, name->category, &cells[SS_RANGE_CATEGORY]);
    }
    if ((grouping & SS_GROUP_PATH) != 0) {
        cells[SS_RANGE_PATH] = ss_cell_text(ss_range_path_text(model, row->path, &table->texts));
    }
    bool is_domain = track->kind == SS_TRACK_RANGES || track->kind == SS_TRACK_ASYNC;
    if (is_domain && (grouping & SS_GROUP_DOMAIN) != 0) {
        put_text(model, track->name, &cells[SS_RANGE_DOMAIN]);
    }
    if (by_thread || (grouping & SS_GROUP_PROCESS) != 0) {
        ss_track_owner_cells(model, row->track, &cells[SS_RANGE_PID],
                             by_thread ? &cells[SS_RANGE_TID] : &unused,
                             by_thread ? &cells[SS_RANGE_THREAD] : &unused);
    }
}

static void fill_row(const struct ss_model *model, const struct ss_range_row *row,
                     const uint64_t *durations, unsigned grouping, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    fill_identity(model, row, grouping, table, cells);
    cells[SS_RANGE_COUNT] = ss_cell_integer((int64_t)row->count);
    cells[SS_RANGE_TOTAL] = time_cell(row->total_ns);
    cells[SS_RANGE_SELF] = time_cell(row->self_ns);
    cells[SS_RANGE_MEAN] = time_cell(row->sum_ns / row->count);
    cells[SS_RANGE_P50] = time_cell(ss_median_u64(durations, row->count));
    cells[SS_RANGE_P95] = time_cell(ss_percentile_u64(durations, row->count, 95));
    cells[SS_RANGE_MAX] = time_cell(durations[row->count - 1]);
    cells[SS_RANGE_CUT] = ss_cell_integer((int64_t)row->cut);
    fill_payloads(row, cells);
    if (row->device_works > 0) {
        cells[SS_RANGE_DEVICE] = time_cell(row->device_ns);
        cells[SS_RANGE_DEVICE_WORKS] = ss_cell_integer((int64_t)row->device_works);
    }
}

static void add_detail_notes(const struct ss_model *model, struct ss_table *table)
{
    if (ss_model_has_summed_ranges(model)) {
        ss_sentence_add(ss_table_add_note(table, SS_NOTE_ASIDE),
                        "ranges after the file had its size (record --max-size) are not counted");
    }
    if (ss_model_has_summed_steps(model)) {
        ss_sentence_add(ss_table_add_note(table, SS_NOTE_ASIDE),
                        "operators, modules and calls of devices cover the steps in full: --by op "
                        "and --by module count all steps");
    }
}

void ss_ranges_table(const struct ss_selection *selection, const struct ss_ranges_options *options,
                     struct ss_table *table)
{
    unsigned grouping = options->grouping != 0 ? options->grouping : SS_GROUP_DEFAULT;
    *table = (struct ss_table){.name = "range",
                               .title = "Ranges",
                               .is_of_program = true,
                               .empty_text = "no ranges: the program made none, or they were not "
                                             "recorded (stepscope info)",
                               .columns = columns,
                               .column_count = ss_model_has_device_work(selection->model)
                                                   ? SS_RANGE_COLUMNS
                                                   : SS_RANGE_DEVICE};
    struct ss_range_rows all;
    ss_range_rows_init(&all, selection, grouping);
    if (all.rows.count > 0) {
        qsort(all.rows.data, all.rows.count, sizeof *all.rows.data,
              options->sort == SS_SORT_SELF ? by_self : by_total);
    }
    for (size_t i = 0; i < all.rows.count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows++;
            continue;
        }
        const struct ss_range_row *row = &all.rows.data[i];
        fill_row(selection->model, row, all.durations + row->first, grouping, table);
    }
    if (ss_table_has_any(table, SS_RANGE_CUT)) {
        ss_sentence_add(ss_table_add_note(table, SS_NOTE_ASIDE),
                        "* some began before the recording or ended after it: they are longer "
                        "than shown");
    }
    add_detail_notes(selection->model, table);
    ss_range_rows_fini(&all);
}
