/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/ranges.h"
#include "analysis/table/distribution.h"
#include "base/strbuf.h"

static const struct ss_column columns[SS_COUNTER_COLUMNS] = {
    [SS_COUNTER_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_COUNTER_GROUP] = {.key = "group", .comparison = SS_COMPARES_KEY},
    [SS_COUNTER_PID] = {.key = "pid"},
    [SS_COUNTER_TID] = {.key = "tid"},
    [SS_COUNTER_UNIT] = {.key = "unit", .comparison = SS_COMPARES_KEY},
    [SS_COUNTER_KIND] = {.key = "kind"},
    [SS_COUNTER_COUNT] = {.key = "count", .unit = "values"},
    [SS_COUNTER_MIN] = {.key = "min", .unit = "unit of the row"},
    [SS_COUNTER_MEAN] = {.key = "mean",
                         .unit = "unit of the row",
                         .comparison = SS_COMPARES_LEVEL,
                         .leads = true},
    [SS_COUNTER_P50] = {.key = "p50", .unit = "unit of the row"},
    [SS_COUNTER_P95] = {.key = "p95", .unit = "unit of the row"},
    [SS_COUNTER_MAX] = {.key = "max", .unit = "unit of the row", .comparison = SS_COMPARES_LEVEL},
    [SS_COUNTER_LAST] = {.key = "last", .unit = "unit of the row"},
    [SS_COUNTER_RATE] = {.key = "rate_per_s",
                         .unit = "unit of the row, per second",
                         .comparison = SS_COMPARES_LEVEL},
};

enum { MAX_GROUP_TEXT = 1 << 16 };

struct reals ss_vec_of(struct ss_weighted);

/* Integers stay integers up to 2^53, which a double represents exactly. */
static struct ss_cell number_cell(double value, bool is_whole)
{
    return is_whole && value == trunc(value) && fabs(value) < 9007199254740992.0
               ? ss_cell_integer((int64_t)value)
               : ss_cell_real(value);
}

static bool are_whole(const struct ss_model *model, size_t first, size_t end)
{
    while (first < end && model->values.data[first].is_integer) {
        first++;
    }
    return first == end;
}

/* Collects the values of a series that count: of values [first, end) of the model. */
static void collect(const struct ss_model *model, enum ss_counter_kind kind, size_t first,
                    size_t end, struct reals *reals)
{
    double before = 0;
    bool has_before = kind == SS_COUNTER_DELTA;
    ss_vec_clear(reals);
    for (size_t i = first; i < end; i++) {
        double value = ss_model_real(&model->values.data[i]);
        if (!isfinite(value)) {
            continue;
        }
        if (kind == SS_COUNTER_GAUGE) {
            ss_vec_push(reals, (struct ss_weighted){value, 1});
        } else if (has_before) {
            ss_vec_push(reals, (struct ss_weighted){value - before, 1});
        }
        before = value;
        has_before = true;
    }
}

static uint64_t end_of_recording(const struct ss_model *model, uint32_t input)
{
    const struct ss_trace_summary *summary = &model->inputs.data[input].summary;
    return summary->last_ns > summary->last_event_ns ? summary->last_ns : summary->last_event_ns;
}

/* Weights each value of a metric by how long it held; for the last one of a process, that was not
 * observed, and it has no weight. */
static void weigh(const struct ss_model *model, const struct ss_model_track *track, size_t first,
                  size_t end, struct reals *reals)
{
    double sum = 0;
    size_t at = 0;
    if (track->counter != SS_COUNTER_GAUGE || track->parent == 0) {
        return;
    }
    for (size_t i = first; i < end; i++) {
        const struct ss_model_value *value = &model->values.data[i];
        if (!isfinite(ss_model_real(value))) {
            continue;
        }
        uint64_t until_ns = i + 1 < end           ? value[1].time_ns
                            : track->process == 0 ? end_of_recording(model, track->input)
                                                  : value->time_ns;
        reals->data[at].weight =
            until_ns > value->time_ns ? (double)(until_ns - value->time_ns) : 0;
        sum += reals->data[at++].weight;
    }
    for (size_t i = 0; i < reals->count && sum == 0; i++) {
        reals->data[i].weight = 1;
    }
}

/* Drops values that held for no time; sets `last` to the last one that remains. */
static void drop_weightless(struct reals *reals, double *last)
{
    size_t remaining = 0;
    for (size_t i = 0; i < reals->count; i++) {
        if (reals->data[i].weight > 0) {
            *last = reals->data[i].value;
            reals->data[remaining++] = reals->data[i];
        }
    }
    reals->count = remaining;
}

/* Growth per second of a delta or cumulative counter, from its first value to its last. */
static struct ss_cell rate_cell(const struct ss_model *model, enum ss_counter_kind kind,
                                size_t first, size_t end)
{
    const struct ss_model_value *from = NULL, *to = NULL;
    for (size_t i = first; i < end; i++) {
        if (isfinite(ss_model_real(&model->values.data[i]))) {
            to = &model->values.data[i];
            from = from == NULL ? to : from;
        }
    }
    if (kind == SS_COUNTER_GAUGE || from == NULL || to->time_ns <= from->time_ns) {
        return (struct ss_cell){0};
    }
    double grown = ss_model_real(to) - ss_model_real(from);
    return ss_cell_real(grown * 1e9 / (double)(to->time_ns - from->time_ns));
}

static struct ss_cell group_cell(const struct ss_model *model, uint32_t track,
                                 struct ss_arena *arena)
{
    struct ss_vec_of(uint32_t) groups = {0};
    for (uint32_t at = model->tracks.data[track].parent; at != 0 && groups.count < 64;
         at = model->tracks.data[at].parent) {
        ss_vec_push(&groups, model->tracks.data[at].name);
    }
    if (groups.count == 0) {
        return (struct ss_cell){0};
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_GROUP_TEXT);
    for (size_t i = groups.count; i-- > 0;) {
        ss_strbuf_append_view(&text, ss_intern_get(&model->strings, groups.data[i]));
        ss_strbuf_append_text(&text, i > 0 ? ";" : "");
    }
    struct ss_strview name = {ss_arena_strndup(arena, text.data, text.length), text.length};
    ss_strbuf_fini(&text);
    ss_vec_fini(&groups);
    return ss_cell_text(name);
}

static void fill_statistics(const struct ss_model *model, size_t first, size_t end,
                            struct reals *reals, struct ss_cell *cells)
{
    const struct ss_model_track *track = &model->tracks.data[model->values.data[first].track];
    bool whole = are_whole(model, first, end);
    weigh(model, track, first, end, reals);
    if (track->counter == SS_COUNTER_GAUGE && track->parent != 0 && track->process != 0) {
        double newest = 0;
        drop_weightless(reals, &newest);
        cells[SS_COUNTER_COUNT] = ss_cell_integer((int64_t)reals->count);
        cells[SS_COUNTER_LAST] = number_cell(newest, whole);
    }
    cells[SS_COUNTER_RATE] = rate_cell(model, track->counter, first, end);
    ss_sort_weighted(reals->data, reals->count);
    cells[SS_COUNTER_MIN] = number_cell(reals->data[0].value, whole);
    cells[SS_COUNTER_MEAN] = ss_cell_real(ss_mean(reals->data, reals->count));
    cells[SS_COUNTER_P50] = number_cell(ss_percentile(reals->data, reals->count, 50), whole);
    cells[SS_COUNTER_P95] = number_cell(ss_percentile(reals->data, reals->count, 95), whole);
    cells[SS_COUNTER_MAX] = number_cell(reals->data[reals->count - 1].value, whole);
}

static void fill_row(const struct ss_model *model, size_t first, size_t end, struct reals *reals,
                     struct ss_table *table)
{
    static const char *const kinds[] = {"gauge", "delta", "cumulative"};
    uint32_t id = model->values.data[first].track;
    const struct ss_model_track *track = &model->tracks.data[id];
    const struct ss_model_value *last = &model->values.data[end - 1];
    struct ss_cell *cells = ss_table_add_row(table), unused;
    cells[SS_COUNTER_NAME] = ss_cell_text(ss_intern_get(&model->strings, track->name));
    cells[SS_COUNTER_GROUP] = group_cell(model, id, &table->texts);
    ss_track_owner_cells(model, id, &cells[SS_COUNTER_PID], &cells[SS_COUNTER_TID], &unused);
    if (track->unit != 0) {
        cells[SS_COUNTER_UNIT] = ss_cell_text(ss_intern_get(&model->strings, track->unit));
    }
    cells[SS_COUNTER_KIND] = ss_cell_text(ss_strview_of(kinds[track->counter]));
    collect(model, track->counter, first, end, reals);
    cells[SS_COUNTER_COUNT] = ss_cell_integer((int64_t)reals->count);
    if (last->is_integer) {
        cells[SS_COUNTER_LAST] = ss_cell_integer(last->integer);
    } else if (isfinite(last->real)) {
        cells[SS_COUNTER_LAST] = ss_cell_real(last->real);
    }
    if (reals->count > 0) {
        fill_statistics(model, first, end, reals, cells);
    }
}

/* The values of one counter: [first, end) of the model. */
struct series {
    uint32_t process, outermost, group, track;
    int32_t rank; /* of the outermost group */
    size_t first, end;
};

/* Series of the host first, then of each process: groups by rank, each contiguous. */
static int compare_series(const void *left, const void *right)
{
    const struct series *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->outermost != b->outermost) {
        return a->outermost < b->outermost ? -1 : 1;
    }
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return (a->track > b->track) - (a->track < b->track);
}

struct series_list ss_vec_of(struct series);

/* The outermost group around a track; 0: none. */
static uint32_t outermost_group(const struct ss_model *model, uint32_t track)
{
    uint32_t outermost = model->tracks.data[track].parent;
    for (int depth = 0; outermost != 0 && depth < 64 && model->tracks.data[outermost].parent != 0;
         depth++) {
        outermost = model->tracks.data[outermost].parent;
    }
    return outermost;
}

static bool is_selected(const struct ss_selection *selection, uint32_t track, const char *prefix)
{
    const struct ss_model *model = selection->model;
    const char *name = ss_model_text(model, model->tracks.data[track].name);
    return ss_selection_has_track(selection, track) &&
           (prefix == NULL || strncmp(name, prefix, strlen(prefix)) == 0);
}

static void list_series(const struct ss_selection *selection, const char *prefix,
                        struct series_list *list)
{
    const struct ss_model *model = selection->model;
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t track = model->values.data[first].track;
        for (end = first; end < model->values.count && model->values.data[end].track == track;) {
            end++;
        }
        if (is_selected(selection, track, prefix)) {
            const struct ss_model_track *row = &model->tracks.data[track];
            uint32_t outermost = outermost_group(model, track);
            int32_t rank = outermost != 0 ? model->tracks.data[outermost].rank : 0;
            ss_vec_push(list, (struct series){row->process, outermost, row->parent, track, rank,
                                              first, end});
        }
    }
    if (list->count > 0) {
        qsort(list->data, list->count, sizeof *list->data, compare_series);
    }
}

void ss_counters_table(const struct ss_selection *selection,
                       const struct ss_counters_options *options, struct ss_table *table)
{
    *table = (struct ss_table){.name = "counter",
                               .title = "Counters",
                               .empty_text = "no counters: nothing counted, or it was not recorded "
                                             "(stepscope info)",
                               .columns = columns,
                               .column_count = SS_COUNTER_COLUMNS};
    struct reals reals = {0};
    struct series_list list = {0};
    list_series(selection, options->prefix, &list);
    for (size_t i = 0; i < list.count; i++) {
        if (options->max_rows != 0 && table->row_count >= options->max_rows) {
            table->hidden_rows++;
            continue;
        }
        fill_row(selection->model, list.data[i].first, list.data[i].end, &reals, table);
    }
    ss_vec_fini(&list);
    ss_vec_fini(&reals);
}
