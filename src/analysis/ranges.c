/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "base/strbuf.h"

static const struct ss_column columns[SS_RANGE_COLUMNS] = {
    [SS_RANGE_NAME] = {.key = "name"},
    [SS_RANGE_PATH] = {.key = "path"},
    [SS_RANGE_KIND] = {.key = "kind"},
    [SS_RANGE_DOMAIN] = {.key = "domain"},
    [SS_RANGE_CATEGORY] = {.key = "category"},
    [SS_RANGE_PID] = {.key = "pid"},
    [SS_RANGE_TID] = {.key = "tid"},
    [SS_RANGE_THREAD] = {.key = "thread"},
    [SS_RANGE_COUNT] = {.key = "count", .unit = "ranges"},
    [SS_RANGE_TOTAL] = {.key = "total_ns", .unit = "ns"},
    [SS_RANGE_SELF] = {.key = "self_ns", .unit = "ns"},
    [SS_RANGE_MEAN] = {.key = "mean_ns", .unit = "ns"},
    [SS_RANGE_P50] = {.key = "p50_ns", .unit = "ns"},
    [SS_RANGE_P95] = {.key = "p95_ns", .unit = "ns"},
    [SS_RANGE_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_RANGE_CUT] = {.key = "cut", .unit = "ranges"},
};

enum { MAX_PATH_TEXT = 4096 }; /* hostile traces nest by the ten thousand */

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
        ss_strbuf_append_view(&text, ss_intern_get(&model->strings, names.data[i]));
        if (i > 0) {
            ss_strbuf_append_char(&text, ';');
        }
    }
    static const char more[] = "…";
    size_t length = text.length + (text.overflow ? sizeof more - 1 : 0);
    char *kept = ss_arena_alloc(arena, length + 1);
    memcpy(kept, text.data, text.length);
    memcpy(kept + text.length, more, length - text.length);
    ss_strbuf_fini(&text);
    ss_vec_fini(&names);
    return (struct ss_strview){kept, length};
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
    if (row->process != 0 && model->processes.data[row->process].pid >= 0) {
        *pid = ss_cell_integer(model->processes.data[row->process].pid);
    }
    if (row->thread != 0) {
        const struct ss_model_thread *owner = &model->threads.data[row->thread];
        *tid = ss_cell_integer(owner->tid);
        if (owner->name != 0) {
            *thread = ss_cell_text(ss_intern_get(&model->strings, owner->name));
        }
    }
}

/* --- by range ------------------------------------------------------------------------------- */

/* One row to be: a path on a track. */
struct range_row {
    uint32_t track, path, order;
    size_t first; /* of its durations */
    uint64_t count, cut, total_ns, self_ns;
};

struct range_rows {
    struct ss_vec_of(struct range_row) rows;
    uint32_t *row_of; /* by range: row + 1; 0: does not count */
    uint64_t *durations;
};

/* Ranges of equal path on tracks of one owner, kind and name are one row: a domain that came
 * twice, the lanes of one track. */
struct row_key {
    uint32_t process, thread, kind, name, path;
};

static void find_rows(const struct ss_selection *selection, struct range_rows *out)
{
    const struct ss_model *model = selection->model;
    struct ss_intern keys;
    ss_intern_init(&keys); /* id 0 is the empty key: row + 1 */
    uint32_t last_track = 0, last_path = 0, last_row = 0;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if ((range->flags & SS_RANGE_OUTSIDE) != 0 ||
            !ss_selection_has_track(selection, range->track)) {
            continue;
        }
        if (last_row == 0 || range->track != last_track || range->path != last_path) {
            const struct ss_model_track *track = &model->tracks.data[range->track];
            struct row_key key = {track->process, track->thread, (uint32_t)track->kind, track->name,
                                  range->path};
            last_row = ss_intern_put(&keys, (const char *)&key, sizeof key);
            last_track = range->track;
            last_path = range->path;
            if (last_row > out->rows.count) {
                ss_vec_push(&out->rows, (struct range_row){.track = range->track,
                                                           .path = range->path,
                                                           .order = last_row});
            }
        }
        out->row_of[i] = last_row;
        out->rows.data[last_row - 1].count++;
    }
    ss_intern_fini(&keys);
}

/* Takes the time of each range from the self time of the one right around it, which comes before it
 * on the same track and lane and is still open: its path is the parent of this one's. */
static void find_self(const struct ss_model *model, struct range_rows *out)
{
    struct ss_vec_of(size_t) open = {0};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        bool same = i > 0 && range->track == range[-1].track && range->lane == range[-1].lane;
        uint32_t depth = model->paths.data[range->path].depth;
        /* The open ones are those above it: as many as its path has parents. */
        open.count = same && depth - 1 < open.count ? depth - 1 : same ? open.count : 0;
        uint64_t duration_ns = range->end_ns - range->begin_ns;
        if (out->row_of[i] != 0) {
            out->rows.data[out->row_of[i] - 1].self_ns += duration_ns;
        }
        if (open.count > 0 && out->row_of[open.data[open.count - 1]] != 0) {
            struct range_row *outer = &out->rows.data[out->row_of[open.data[open.count - 1]] - 1];
            outer->self_ns -= duration_ns < outer->self_ns ? duration_ns : outer->self_ns;
        }
        ss_vec_push(&open, i);
    }
    ss_vec_fini(&open);
}

static void add_up(const struct ss_selection *selection, struct range_rows *out)
{
    const struct ss_model *model = selection->model;
    size_t begin = 0;
    for (size_t i = 0; i < out->rows.count; i++) {
        out->rows.data[i].first = begin;
        begin += out->rows.data[i].count;
        out->rows.data[i].count = 0;
    }
    out->durations = ss_alloc((begin + 1) * sizeof *out->durations);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (out->row_of[i] == 0) {
            continue;
        }
        struct range_row *row = &out->rows.data[out->row_of[i] - 1];
        uint64_t duration_ns = range->end_ns - range->begin_ns;
        out->durations[row->first + row->count++] = duration_ns;
        row->total_ns += duration_ns;
        row->cut += (range->flags & (SS_RANGE_END_UNSEEN | SS_RANGE_BEGIN_UNSEEN)) != 0;
    }
}

static int by_total(const void *left, const void *right)
{
    const struct range_row *a = left, *b = right;
    if (a->total_ns != b->total_ns) {
        return a->total_ns > b->total_ns ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

static int by_self(const void *left, const void *right)
{
    const struct range_row *a = left, *b = right;
    return a->self_ns != b->self_ns ? (a->self_ns > b->self_ns ? -1 : 1) : by_total(left, right);
}

static void put_text(const struct ss_model *model, uint32_t string, struct ss_cell *cell)
{
    if (string != 0) {
        *cell = ss_cell_text(ss_intern_get(&model->strings, string));
    }
}

static void fill_row(const struct ss_model *model, const struct range_row *row, uint64_t *durations,
                     struct ss_table *table)
{
    static const char *const kinds[SS_TRACK_KIND_COUNT] = {
        [SS_TRACK_RANGES] = "range", [SS_TRACK_ASYNC] = "async",  [SS_TRACK_STEPS] = "step",
        [SS_TRACK_PHASES] = "phase", [SS_TRACK_COUNTER] = "none", [SS_TRACK_GROUP] = "none"};
    struct ss_cell *cells = ss_table_add_row(table);
    const struct ss_model_track *track = &model->tracks.data[row->track];
    const struct ss_model_name *name = &model->names.data[model->paths.data[row->path].name];
    ss_sort_u64(durations, row->count);
    cells[SS_RANGE_NAME] = ss_cell_text(ss_intern_get(&model->strings, name->text));
    cells[SS_RANGE_PATH] = ss_cell_text(ss_range_path_text(model, row->path, &table->texts));
    cells[SS_RANGE_KIND] = ss_cell_text(ss_strview_of(kinds[track->kind]));
    if (track->kind == SS_TRACK_RANGES || track->kind == SS_TRACK_ASYNC) {
        put_text(model, track->name, &cells[SS_RANGE_DOMAIN]);
    }
    put_text(model, name->category, &cells[SS_RANGE_CATEGORY]);
    ss_track_owner_cells(model, row->track, &cells[SS_RANGE_PID], &cells[SS_RANGE_TID],
                         &cells[SS_RANGE_THREAD]);
    cells[SS_RANGE_COUNT] = ss_cell_integer((int64_t)row->count);
    cells[SS_RANGE_TOTAL] = ss_cell_integer((int64_t)row->total_ns);
    cells[SS_RANGE_SELF] = ss_cell_integer((int64_t)row->self_ns);
    cells[SS_RANGE_MEAN] = ss_cell_integer((int64_t)(row->total_ns / row->count));
    cells[SS_RANGE_P50] = ss_cell_integer((int64_t)ss_percentile_u64(durations, row->count, 50));
    cells[SS_RANGE_P95] = ss_cell_integer((int64_t)ss_percentile_u64(durations, row->count, 95));
    cells[SS_RANGE_MAX] = ss_cell_integer((int64_t)durations[row->count - 1]);
    cells[SS_RANGE_CUT] = ss_cell_integer((int64_t)row->cut);
}

void ss_ranges_table(const struct ss_selection *selection, const struct ss_ranges_options *options,
                     struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    *table = (struct ss_table){
        .name = "range", .title = "Ranges", .columns = columns, .column_count = SS_RANGE_COLUMNS};
    struct range_rows all = {.row_of = ss_alloc_zero(model->ranges.count + 1, sizeof(uint32_t))};
    ss_vec_reserve(&all.rows, 16);
    find_rows(selection, &all);
    add_up(selection, &all);
    find_self(model, &all);
    if (all.rows.count > 0) {
        qsort(all.rows.data, all.rows.count, sizeof *all.rows.data,
              options->sort == SS_SORT_SELF ? by_self : by_total);
    }
    for (size_t i = 0; i < all.rows.count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows++;
            continue;
        }
        struct range_row *row = &all.rows.data[i];
        fill_row(model, row, all.durations + row->first, table);
    }
    ss_free(all.row_of);
    ss_free(all.durations);
    ss_vec_fini(&all.rows);
}
