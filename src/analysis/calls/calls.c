/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calls/calls.h"

#include <string.h>

#include "analysis/steps/phase_times.h"
#include "analysis/steps/ranges.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "base/parallel.h"
#include "base/shared_names.h"

enum { BLOCKS_PER_WORKER = 4, LEAST_BLOCK_RANGES = 4096 };

/* An open range of the scan. */
struct open_call {
    size_t range;
    uint32_t row; /* + 1; 0: does not count */
    uint32_t inner_calls;
    uint32_t inner_row; /* of the last inner call, + 1 */
    uint64_t duration_ns, steady_ns;
    uint64_t inner_ns, inner_steady_ns;
    bool is_backward, is_steady;
};

/* The cached row of a path, valid for one track, phase and `apart`. */
struct cached_row {
    uint32_t track, phase, apart, row;
};

/* Of a block of ranges, or what the rows of all blocks become. */
struct builder {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_calls_options *options;
    const struct ss_steady_time *steady;
    const struct ss_phase_times *phases; /* NULL: rows are not grouped by phase */
    struct ss_steady_cursor steady_at;   /* of the track's process */
    struct ss_phase_cursor phase_at;
    struct ss_intern keys;
    struct cached_row *cached; /* by path */
    struct ss_vec_of(struct open_call) open;
    struct ss_vec_of(uint32_t) open_counts; /* open calls, by row + 1 */
    struct ss_calls *out;
};

enum ss_call_kind ss_call_kind_of(const struct ss_model *model, uint32_t name)
{
    static const char evaluation[] = "autograd::engine::evaluate_function";
    const char *category = ss_model_text(model, model->names.data[name].category);
    const char *text = ss_model_text(model, model->names.data[name].text);
    return strncmp(text, evaluation, sizeof evaluation - 1) == 0 ? SS_CALL_EVALUATION
           : strcmp(category, "backward") == 0                   ? SS_CALL_BACKWARD
           : strcmp(category, "scope") == 0                      ? SS_CALL_SCOPE
           : strcmp(category, "runtime") == 0                    ? SS_CALL_RUNTIME
                                                                 : SS_CALL_FORWARD;
}

uint8_t *ss_call_kinds(const struct ss_model *model)
{
    uint8_t *kinds = ss_alloc_zero(model->names.count + 1, sizeof *kinds);
    for (uint32_t i = 1; i < model->names.count; i++) {
        kinds[i] = (uint8_t)ss_call_kind_of(model, i);
    }
    return kinds;
}

bool ss_calls_has_track(const struct ss_selection *selection, uint32_t track, const char *domain)
{
    const struct ss_model_track *row = &selection->model->tracks.data[track];
    return row->kind == SS_TRACK_RANGES &&
           strcmp(ss_model_text(selection->model, row->name), domain) == 0 &&
           ss_selection_has_track(selection, track);
}

struct row_key {
    uint32_t text, kind, process, thread, phase, apart;
};

/* The row, + 1, of a call as the first of its row: its name, track, phase and `apart`. */
static uint32_t find_row(struct builder *builder, const struct ss_call_row *first)
{
    const struct ss_model *model = builder->model;
    const struct ss_model_track *track = &model->tracks.data[first->track];
    unsigned grouping = builder->options->grouping;
    bool by_thread = (grouping & SS_CALLS_BY_THREAD) != 0;
    bool by_process = by_thread || (grouping & SS_CALLS_BY_PROCESS) != 0;
    enum ss_call_kind kind = ss_call_kind_of(model, first->name);
    struct row_key key = {.text = model->names.data[first->name].text,
                          .kind = (uint32_t)(kind == SS_CALL_EVALUATION ? SS_CALL_BACKWARD : kind),
                          .process = by_process ? track->process : 0,
                          .thread = by_thread ? track->thread : 0,
                          .phase = first->phase,
                          .apart = first->apart};
    /* id 0 is the empty key: ids are row + 1 */
    uint32_t row = ss_intern_put(&builder->keys, (const char *)&key, sizeof key);
    if (row > builder->out->rows.count) {
        ss_vec_push(&builder->out->rows, (struct ss_call_row){.name = first->name,
                                                              .track = first->track,
                                                              .phase = first->phase,
                                                              .apart = first->apart,
                                                              .kind = (enum ss_call_kind)key.kind,
                                                              .order = row});
        ss_vec_resize(&builder->open_counts, (size_t)row + 1);
    }
    return row;
}

static uint32_t row_of(struct builder *builder, const struct ss_model_range *range, size_t at)
{
    bool by_phase = (builder->options->grouping & SS_CALLS_BY_PHASE) != 0;
    uint32_t phase = by_phase ? ss_phase_at(&builder->phase_at, range->begin_ns) : 0;
    uint32_t apart = builder->options->apart != NULL ? builder->options->apart[at] : 0;
    struct cached_row *cached = &builder->cached[range->path];
    if (cached->row == 0 || cached->track != range->track || cached->phase != phase ||
        cached->apart != apart) {
        const struct ss_call_row first = {.name = builder->model->paths.data[range->path].name,
                                          .track = range->track,
                                          .phase = phase,
                                          .apart = apart};
        *cached = (struct cached_row){range->track, phase, apart, find_row(builder, &first)};
    }
    return cached->row;
}

/* Saturating: the ranges of a damaged recording may overflow the sum. */
static void add(uint64_t *sum, uint64_t more)
{
    *sum = *sum < UINT64_MAX - more ? *sum + more : UINT64_MAX;
}

static uint64_t rest(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

/* Uncounts the only inner call of a call, which has the same row. */
static void join(struct builder *builder, const struct open_call *call)
{
    struct ss_call_row *row = &builder->out->rows.data[call->row - 1];
    size_t inner = call->range + 1; /* an outer range precedes its inner ones */
    row->all.calls--;
    row->steady.calls -= builder->out->row_of[inner] >> 31;
    builder->out->row_of[inner] = 0;
}

/* Closes the innermost open call. */
static void close_call(struct builder *builder, struct open_call *open, size_t count)
{
    const struct open_call *call = &open[count - 1];
    if (count > 1) {
        open[count - 2].inner_ns += call->duration_ns;
        open[count - 2].inner_steady_ns += call->steady_ns;
    }
    if (call->row == 0) {
        return;
    }
    struct ss_call_row *row = &builder->out->rows.data[call->row - 1];
    uint64_t self_ns = rest(call->duration_ns, call->inner_ns);
    uint64_t steady_ns = rest(call->steady_ns, call->inner_steady_ns);
    add(&row->all.self_ns, self_ns);
    add(&row->steady.self_ns, steady_ns);
    add(&row->all.backward_ns, call->is_backward ? self_ns : 0);
    add(&row->steady.backward_ns, call->is_backward ? steady_ns : 0);
    add(&builder->out->self_ns, self_ns);
    if (--builder->open_counts.data[call->row] == 0) {
        add(&row->all.total_ns, call->duration_ns);
        add(&row->steady.total_ns, call->steady_ns);
    }
    if (builder->options->joins_same && call->inner_calls == 1 && call->inner_row == call->row) {
        join(builder, call);
    }
}

static void close_down_to(struct builder *builder, size_t count)
{
    struct open_call *open = builder->open.data;
    for (; open != NULL && builder->open.count > count; builder->open.count--) {
        close_call(builder, open, builder->open.count);
    }
}

/* During the scan, the highest bit of row_of marks calls that begin in a
 * steady-state step. */
static const uint32_t steady_bit = UINT32_C(1) << 31;

static void open_call(struct builder *builder, size_t at)
{
    const struct ss_model_range *range = &builder->model->ranges.data[at];
    struct ss_calls *out = builder->out;
    bool is_outside = (range->flags & SS_RANGE_OUTSIDE) != 0;
    struct open_call call = {.range = at, .duration_ns = range->end_ns - range->begin_ns};
    call.steady_ns =
        ss_steady_time_of(&builder->steady_at, range->begin_ns, range->end_ns, &call.is_steady);
    call.row = is_outside ? 0 : row_of(builder, range, at);
    if (builder->open.count > 0) {
        struct open_call *outer = &builder->open.data[builder->open.count - 1];
        outer->inner_calls++;
        outer->inner_row = call.row;
        call.is_backward = outer->is_backward;
    }
    if (call.row != 0) {
        struct ss_call_row *row = &out->rows.data[call.row - 1];
        call.is_backward = call.is_backward || row->kind == SS_CALL_BACKWARD;
        row->all.calls++;
        row->steady.calls += call.is_steady;
        builder->open_counts.data[call.row]++;
    }
    out->row_of[at] = call.row | (call.is_steady && call.row != 0 ? steady_bit : 0);
    ss_vec_push(&builder->open, call);
}

/* Ranges of whole tracks. */
static void scan_ranges(struct builder *builder, size_t begin, size_t end)
{
    const struct ss_model *model = builder->model;
    uint32_t track = 0;
    bool is_selected = false;
    for (size_t i = begin; i < end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (range->track != track || i == begin) {
            close_down_to(builder, 0);
            track = range->track;
            is_selected = ss_calls_has_track(builder->selection, track, builder->options->domain);
            uint32_t process = model->tracks.data[track].process;
            ss_steady_cursor_init(&builder->steady_at, builder->steady, process);
            if (builder->phases != NULL) {
                ss_phase_cursor_init(&builder->phase_at, builder->phases, process);
            }
        }
        if (is_selected) {
            close_down_to(builder, model->paths.data[range->path].depth - 1);
            open_call(builder, i);
        }
    }
    close_down_to(builder, 0);
}

static void sort_durations(void *context, size_t row)
{
    struct ss_calls *out = context;
    const struct ss_call_row *sorted = &out->rows.data[row];
    if (sorted->all.calls > 0) {
        ss_sort_u64(out->durations + sorted->first, sorted->all.calls);
    }
}

void ss_calls_measure(struct ss_calls *out, const struct ss_model *model)
{
    size_t begin = 0;
    size_t *next = ss_alloc_zero(out->rows.count + 1, sizeof *next);
    for (size_t i = 0; i < out->rows.count; i++) {
        out->rows.data[i].first = next[i] = begin;
        begin += out->rows.data[i].all.calls;
    }
    out->durations = ss_alloc((begin + 1) * sizeof *out->durations);
    for (size_t i = 0; i < model->ranges.count; i++) {
        uint32_t row = out->row_of[i];
        if (row != 0) {
            const struct ss_model_range *range = &model->ranges.data[i];
            out->durations[next[row - 1]++] = range->end_ns - range->begin_ns;
        }
    }
    ss_free(next);
    ss_parallel_run(out->workers, out->rows.count, sort_durations, out);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Whole tracks, whose calls are summed by themselves; row_of is that of all blocks. */
struct block {
    size_t begin, end; /* ranges */
    struct ss_calls calls;
    uint32_t *map; /* by its row + 1: the row + 1 of all blocks */
};

struct blocks {
    struct builder all;
    struct ss_vec_of(struct block) rows;
};

static void list_blocks(struct blocks *blocks, unsigned workers)
{
    const struct ss_model *model = blocks->all.model;
    size_t count = model->ranges.count;
    size_t size = count / (BLOCKS_PER_WORKER * (size_t)(workers > 0 ? workers : 1)) + 1;
    size = size > LEAST_BLOCK_RANGES ? size : LEAST_BLOCK_RANGES;
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = count - begin > size ? begin + size : count;
        while (end < count && model->ranges.data[end].track == model->ranges.data[end - 1].track) {
            end++;
        }
        ss_vec_push(&blocks->rows, (struct block){.begin = begin, .end = end});
    }
}

static void fini_builder(struct builder *builder)
{
    ss_intern_fini(&builder->keys);
    ss_vec_fini(&builder->open);
    ss_vec_fini(&builder->open_counts);
    ss_free(builder->cached);
}

static void sum_block(void *context, size_t index)
{
    struct blocks *blocks = context;
    struct block *block = &blocks->rows.data[index];
    const struct builder *all = &blocks->all;
    struct builder builder = {
        .selection = all->selection,
        .model = all->model,
        .options = all->options,
        .steady = all->steady,
        .phases = all->phases,
        .cached = ss_alloc_zero(all->model->paths.count + 1, sizeof(struct cached_row)),
        .out = &block->calls};
    ss_intern_init(&builder.keys);
    block->calls.row_of = blocks->all.out->row_of; /* each writes those of its own ranges */
    scan_ranges(&builder, block->begin, block->end);
    fini_builder(&builder);
}

static void add_times(struct ss_call_times *sum, const struct ss_call_times *more)
{
    sum->calls += more->calls;
    add(&sum->self_ns, more->self_ns);
    add(&sum->total_ns, more->total_ns);
    add(&sum->backward_ns, more->backward_ns);
}

/* Sums that saturate are the same in any grouping. In the order of blocks, rows are in the order of
 * their first ranges. */
static void merge_block(struct builder *all, struct block *block)
{
    block->map = ss_alloc_zero(block->calls.rows.count + 1, sizeof *block->map);
    for (size_t i = 0; i < block->calls.rows.count; i++) {
        const struct ss_call_row *row = &block->calls.rows.data[i];
        uint32_t id = find_row(all, row);
        add_times(&all->out->rows.data[id - 1].all, &row->all);
        add_times(&all->out->rows.data[id - 1].steady, &row->steady);
        block->map[i + 1] = id;
    }
    add(&all->out->self_ns, block->calls.self_ns);
}

static void renumber_block(void *context, size_t index)
{
    struct blocks *blocks = context;
    struct block *block = &blocks->rows.data[index];
    uint32_t *row_of = blocks->all.out->row_of;
    for (size_t i = block->begin; i < block->end; i++) {
        row_of[i] = block->map[row_of[i] & ~steady_bit];
    }
    ss_vec_fini(&block->calls.rows);
    ss_free(block->map);
}

/* --- sums ------------------------------------------------------------------------------------- */

static uint64_t field_of(const struct ss_model *model, uint32_t payload, uint32_t id)
{
    const struct ss_model_field *field = ss_model_field_of(model, payload, id);
    return field != NULL ? field->natural : 0;
}

static void add_sum(struct builder *all, const struct ss_model_mark *mark)
{
    const struct ss_model *model = all->model;
    const struct ss_call_row first = {.name = mark->name, .track = mark->track};
    uint64_t self_ns = field_of(model, mark->payload, SS_EVENT_FIELD_self_ns);
    bool is_backward = field_of(model, mark->payload, SS_EVENT_FIELD_in_backward) != 0;
    const struct ss_call_times times = {
        .calls = field_of(model, mark->payload, SS_EVENT_FIELD_calls),
        .self_ns = self_ns,
        .total_ns = field_of(model, mark->payload, SS_EVENT_FIELD_total_ns),
        .backward_ns = is_backward ? self_ns : 0};
    add_times(&all->out->rows.data[find_row(all, &first) - 1].summed, &times);
    add(&all->out->self_ns, self_ns);
}

static bool is_mark_of(const struct ss_model *model, const struct ss_model_mark *mark,
                       const char *domain)
{
    return strcmp(ss_model_text(model, model->tracks.data[mark->track].name), domain) == 0;
}

static void count_steps(struct ss_calls *out, const struct ss_model *model,
                        const struct ss_model_mark *mark)
{
    add(&out->summed_steps, field_of(model, mark->payload, SS_EVENT_FIELD_calls));
    add(&out->summed_steps_ns, field_of(model, mark->payload, SS_EVENT_FIELD_total_ns));
}

static bool is_count_of_steps(const char *name)
{
    return strcmp(name, ss_mark_summed_steps) == 0 ||
           strcmp(name, ss_mark_summed_operator_steps) == 0;
}

/* Sums are over intervals and threads: they fit no part of the time, and no thread. */
static void add_sums(struct builder *all)
{
    const struct ss_model *model = all->model;
    const struct ss_calls_options *options = all->options;
    enum { FINER = SS_CALLS_BY_THREAD | SS_CALLS_BY_PHASE | SS_CALLS_BY_SHAPES };
    if (options->sums == NULL || (options->grouping & FINER) != 0) {
        return;
    }
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        bool has_steps = is_mark_of(model, mark, ss_domain_torch_sums);
        if ((!has_steps && !is_mark_of(model, mark, options->sums)) ||
            !ss_selection_has_track(all->selection, mark->track)) {
            continue;
        }
        const char *name = ss_model_text(model, model->names.data[mark->name].text);
        if (has_steps && strcmp(name, options->summed_steps) == 0) {
            count_steps(all->out, model, mark);
        } else if (is_mark_of(model, mark, options->sums) && !is_count_of_steps(name)) {
            add_sum(all, mark);
        }
    }
}

void ss_calls_init(struct ss_calls *calls, const struct ss_selection *selection,
                   const struct ss_steady_time *steady, const struct ss_calls_options *options)
{
    const struct ss_model *model = selection->model;
    *calls = (struct ss_calls){.row_of = ss_alloc_zero(model->ranges.count + 1, sizeof(uint32_t)),
                               .workers = selection->workers};
    struct blocks blocks = {.all = {.selection = selection,
                                    .model = model,
                                    .options = options,
                                    .steady = steady,
                                    .out = calls}};
    if ((options->grouping & SS_CALLS_BY_PHASE) != 0) {
        blocks.all.phases = options->phases;
    }
    ss_intern_init(&blocks.all.keys);
    list_blocks(&blocks, selection->workers);
    ss_parallel_run(selection->workers, blocks.rows.count, sum_block, &blocks);
    for (size_t i = 0; i < blocks.rows.count; i++) {
        merge_block(&blocks.all, &blocks.rows.data[i]);
    }
    add_sums(&blocks.all);
    ss_parallel_run(selection->workers, blocks.rows.count, renumber_block, &blocks);
    ss_vec_fini(&blocks.rows);
    ss_intern_fini(&blocks.all.keys);
    ss_vec_fini(&blocks.all.open_counts);
}

void ss_calls_fini(struct ss_calls *calls)
{
    ss_vec_fini(&calls->rows);
    ss_free(calls->row_of);
    ss_free(calls->durations);
    *calls = (struct ss_calls){0};
}
