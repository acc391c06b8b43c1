/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/range_rows.h"

#include "analysis/steps/ranges.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "model/core/torch_names.h"

struct builder {
    const struct ss_selection *selection;
    const struct ss_model *model;
    unsigned grouping;
    uint32_t *path_of; /* by path of the model: the first equivalent path */
    uint32_t *row_of;  /* by range: row + 1; 0: does not count */
    struct ss_range_rows *out;
};

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint32_t *ss_range_same_paths(const struct ss_model *model, unsigned grouping)
{
    struct ss_intern keys; /* id 0 is the empty key, which no path has */
    struct ss_vec_of(uint32_t) firsts = {0};
    uint32_t *same = ss_alloc_zero(model->paths.count + 1, sizeof *same);
    bool by_name = (grouping & (SS_GROUP_PATH | SS_GROUP_NAME)) != 0;
    ss_intern_init(&keys);
    ss_vec_reserve(&firsts, 16);
    for (size_t i = 1; i < model->paths.count; i++) {
        const struct ss_model_path *path = &model->paths.data[i];
        const struct ss_model_name *name = &model->names.data[by_name ? path->name : 0];
        int64_t number;
        bool is_step = ss_torch_profiler_step(ss_intern_get(&model->strings, name->text), &number);
        uint32_t key[4] = {(grouping & SS_GROUP_PATH) != 0 ? same[path->parent] : 0,
                           is_step ? UINT32_MAX : name->text, name->file, name->line};
        uint32_t id = ss_intern_put(&keys, (const char *)key, sizeof key);
        if (id > firsts.count) {
            ss_vec_push(&firsts, (uint32_t)i);
        }
        same[i] = firsts.data[id - 1];
    }
    ss_intern_fini(&keys);
    ss_vec_fini(&firsts);
    return same;
}

struct row_key {
    uint32_t kind, path, process, thread, domain;
};

static struct row_key key_of(const struct builder *builder, const struct ss_model_range *range)
{
    const struct ss_model_track *track = &builder->model->tracks.data[range->track];
    unsigned grouping = builder->grouping;
    bool by_thread = (grouping & SS_GROUP_THREAD) != 0;
    bool by_process = by_thread || (grouping & SS_GROUP_PROCESS) != 0;
    bool is_domain = track->kind == SS_TRACK_RANGES || track->kind == SS_TRACK_ASYNC;
    /* Steps and epochs differ by the name of their track. */
    bool by_domain = !is_domain || (grouping & SS_GROUP_DOMAIN) != 0;
    return (struct row_key){.kind = (uint32_t)track->kind,
                            .path = builder->path_of[range->path],
                            .process = by_process ? track->process : 0,
                            .thread = by_thread ? track->thread : 0,
                            .domain = by_domain ? track->name : 0};
}

static void find_rows(struct builder *builder)
{
    const struct ss_model *model = builder->model;
    struct ss_range_rows *out = builder->out;
    struct ss_intern keys;
    ss_intern_init(&keys); /* id 0 is the empty key, so ids are row + 1 */
    uint32_t last_track = 0, last_path = 0, last_row = 0;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if ((range->flags & SS_RANGE_OUTSIDE) != 0 ||
            !ss_selection_has_track(builder->selection, range->track)) {
            continue;
        }
        if (last_row == 0 || range->track != last_track || range->path != last_path) {
            struct row_key key = key_of(builder, range);
            last_row = ss_intern_put(&keys, (const char *)&key, sizeof key);
            last_track = range->track;
            last_path = range->path;
            if (last_row > out->rows.count) {
                ss_vec_push(&out->rows, (struct ss_range_row){.track = range->track,
                                                              .path = range->path,
                                                              .order = last_row});
            }
        }
        builder->row_of[i] = last_row;
        out->rows.data[last_row - 1].count++;
    }
    ss_intern_fini(&keys);
}

static void add_payload(const struct ss_model *model, const struct ss_model_range *range,
                        struct ss_range_row *row)
{
    if (range->payload == 0 || model->tracks.data[range->track].kind == SS_TRACK_STEPS) {
        return; /* a step's payload is its number */
    }
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    if (payload->type == SS_VALUE_NONE || payload->type == SS_VALUE_TEXT) {
        return;
    }
    double value = payload->type == SS_VALUE_REAL  ? payload->real
                   : payload->type == SS_VALUE_INT ? (double)payload->integer
                                                   : (double)payload->natural;
    if (value != value) {
        return;
    }
    bool first = row->payload_count++ == 0;
    row->payload_sum += value;
    row->payload_min = first || value < row->payload_min ? value : row->payload_min;
    row->payload_max = first || value > row->payload_max ? value : row->payload_max;
}

static void add_durations(struct builder *builder)
{
    const struct ss_model *model = builder->model;
    struct ss_range_rows *out = builder->out;
    size_t begin = 0;
    for (size_t i = 0; i < out->rows.count; i++) {
        out->rows.data[i].first = begin;
        begin += out->rows.data[i].count;
        out->rows.data[i].count = 0;
    }
    out->durations = ss_alloc((begin + 1) * sizeof *out->durations);
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (builder->row_of[i] == 0) {
            continue;
        }
        struct ss_range_row *row = &out->rows.data[builder->row_of[i] - 1];
        uint64_t duration_ns = range->end_ns - range->begin_ns;
        out->durations[row->first + row->count++] = duration_ns;
        row->sum_ns = add(row->sum_ns, duration_ns);
        row->cut += (range->flags & (SS_RANGE_END_UNSEEN | SS_RANGE_BEGIN_UNSEEN)) != 0;
        add_payload(model, range, row);
    }
    for (size_t i = 0; i < out->rows.count; i++) {
        ss_sort_u64(out->durations + out->rows.data[i].first, out->rows.data[i].count);
    }
}

/* The rows of the open ranges, outermost first; how often each row is among them. */
struct open_rows {
    struct ss_vec_of(uint32_t) rows;
    uint32_t *times; /* by row + 1 */
};

static void close_down_to(struct open_rows *open, size_t count)
{
    while (open->rows.count > count) {
        open->times[open->rows.data[--open->rows.count]]--;
    }
}

/* Subtracts the time of each range from the self time of its enclosing range, which precedes it on
 * the same track and lane and is still open: its path is the parent path. */
static void find_self(struct builder *builder)
{
    const struct ss_model *model = builder->model;
    struct ss_range_row *rows = builder->out->rows.data;
    struct open_rows open = {.times =
                                 ss_alloc_zero(builder->out->rows.count + 1, sizeof(uint32_t))};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        bool same = i > 0 && range->track == range[-1].track && range->lane == range[-1].lane;
        /* The enclosing ranges stay open: as many as the path has parents. */
        close_down_to(&open, same ? model->paths.data[range->path].depth - 1 : 0);
        uint64_t duration_ns = range->end_ns - range->begin_ns;
        uint32_t row = builder->row_of[i];
        if (row != 0) {
            rows[row - 1].self_ns = add(rows[row - 1].self_ns, duration_ns);
            if (open.times[row] == 0) {
                rows[row - 1].total_ns = add(rows[row - 1].total_ns, duration_ns);
            }
        }
        uint32_t outer_row = open.rows.count > 0 ? open.rows.data[open.rows.count - 1] : 0;
        if (outer_row != 0) {
            struct ss_range_row *outer = &rows[outer_row - 1];
            outer->self_ns -= duration_ns < outer->self_ns ? duration_ns : outer->self_ns;
        }
        ss_vec_push(&open.rows, row);
        open.times[row]++;
    }
    ss_vec_fini(&open.rows);
    ss_free(open.times);
}

void ss_range_rows_init(struct ss_range_rows *rows, const struct ss_selection *selection,
                        unsigned grouping)
{
    const struct ss_model *model = selection->model;
    *rows = (struct ss_range_rows){0};
    ss_vec_reserve(&rows->rows, 16);
    struct builder builder = {.selection = selection,
                              .model = model,
                              .grouping = grouping,
                              .row_of = ss_alloc_zero(model->ranges.count + 1, sizeof(uint32_t)),
                              .out = rows};
    builder.path_of = ss_range_same_paths(model, grouping);
    find_rows(&builder);
    add_durations(&builder);
    find_self(&builder);
    ss_range_rows_add_devices(rows, selection, builder.row_of);
    ss_free(builder.path_of);
    ss_free(builder.row_of);
}

void ss_range_rows_fini(struct ss_range_rows *rows)
{
    ss_vec_fini(&rows->rows);
    ss_free(rows->durations);
    *rows = (struct ss_range_rows){0};
}
