/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calls.h"

#include <string.h>

#include "analysis/distribution.h"
#include "analysis/phase_times.h"
#include "analysis/ranges.h"
#include "base/alloc.h"
#include "base/intern.h"

/* A range that is open while those within it are gone through. */
struct open_call {
    size_t range;
    uint32_t row; /* + 1; 0: does not count */
    uint32_t inner;
    uint32_t inner_row; /* of the only inner one, while there is but one */
    uint64_t duration_ns, usual_ns;
    uint64_t inner_ns, inner_usual_ns;
    bool is_backward, is_usual;
};

/* The row that a path was found to have on a track, in a phase. */
struct known_row {
    uint32_t track, phase, apart, row;
};

struct building {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_calls_options *options;
    const struct ss_usual_time *usual;
    struct ss_phase_times phases;
    struct ss_usual_cursor usual_at; /* of the process of the track */
    struct ss_phase_cursor phase_at;
    struct ss_intern keys;
    struct known_row *known; /* by path */
    struct ss_vec_of(struct open_call) open;
    struct ss_vec_of(uint32_t) times_open; /* by row + 1 */
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

static uint32_t find_row(struct building *building, const struct ss_model_range *range,
                         uint32_t phase, uint32_t apart)
{
    const struct ss_model *model = building->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    uint32_t name = model->paths.data[range->path].name;
    unsigned grouping = building->options->grouping;
    bool by_thread = (grouping & SS_CALLS_BY_THREAD) != 0;
    bool by_process = by_thread || (grouping & SS_CALLS_BY_PROCESS) != 0;
    enum ss_call_kind kind = ss_call_kind_of(model, name);
    struct row_key key = {.text = model->names.data[name].text,
                          .kind = (uint32_t)(kind == SS_CALL_EVALUATION ? SS_CALL_BACKWARD : kind),
                          .process = by_process ? track->process : 0,
                          .thread = by_thread ? track->thread : 0,
                          .phase = phase,
                          .apart = apart};
    /* id 0 is the empty key: row + 1 */
    uint32_t row = ss_intern_put(&building->keys, (const char *)&key, sizeof key);
    if (row > building->out->rows.count) {
        ss_vec_push(&building->out->rows, (struct ss_call_row){.name = name,
                                                               .track = range->track,
                                                               .phase = phase,
                                                               .apart = apart,
                                                               .kind = (enum ss_call_kind)key.kind,
                                                               .order = row});
        ss_vec_resize(&building->times_open, (size_t)row + 1);
    }
    return row;
}

static uint32_t row_of(struct building *building, const struct ss_model_range *range, size_t at)
{
    bool by_phase = (building->options->grouping & SS_CALLS_BY_PHASE) != 0;
    uint32_t phase = by_phase ? ss_phase_at(&building->phase_at, range->begin_ns) : 0;
    uint32_t apart = building->options->apart != NULL ? building->options->apart[at] : 0;
    struct known_row *known = &building->known[range->path];
    if (known->row == 0 || known->track != range->track || known->phase != phase ||
        known->apart != apart) {
        *known =
            (struct known_row){range->track, phase, apart, find_row(building, range, phase, apart)};
    }
    return known->row;
}

/* Adds up to what it does not pass: the time of ranges of a damaged recording may. */
static void add(uint64_t *sum, uint64_t more)
{
    *sum = *sum < UINT64_MAX - more ? *sum + more : UINT64_MAX;
}

static uint64_t rest(uint64_t whole, uint64_t part)
{
    return whole > part ? whole - part : 0;
}

/* The only call within one of the same name: counts no more. */
static void join(struct building *building, const struct open_call *call)
{
    struct ss_call_row *row = &building->out->rows.data[call->row - 1];
    size_t inner = call->range + 1; /* they lie in order */
    row->all.calls--;
    row->usual.calls -= building->out->row_of[inner] >> 31;
    building->out->row_of[inner] = 0;
}

/* The innermost of those that are open. */
static void close_call(struct building *building, struct open_call *open, size_t count)
{
    const struct open_call *call = &open[count - 1];
    if (count > 1) {
        open[count - 2].inner_ns += call->duration_ns;
        open[count - 2].inner_usual_ns += call->usual_ns;
    }
    if (call->row == 0) {
        return;
    }
    struct ss_call_row *row = &building->out->rows.data[call->row - 1];
    uint64_t self_ns = rest(call->duration_ns, call->inner_ns);
    uint64_t usual_ns = rest(call->usual_ns, call->inner_usual_ns);
    add(&row->all.self_ns, self_ns);
    add(&row->usual.self_ns, usual_ns);
    add(&row->all.backward_ns, call->is_backward ? self_ns : 0);
    add(&row->usual.backward_ns, call->is_backward ? usual_ns : 0);
    add(&building->out->self_ns, self_ns);
    if (--building->times_open.data[call->row] == 0) {
        add(&row->all.total_ns, call->duration_ns);
        add(&row->usual.total_ns, call->usual_ns);
    }
    if (building->options->joins_same && call->inner == 1 && call->inner_row == call->row) {
        join(building, call);
    }
}

static void close_down_to(struct building *building, size_t count)
{
    struct open_call *open = building->open.data;
    for (; open != NULL && building->open.count > count; building->open.count--) {
        close_call(building, open, building->open.count);
    }
}

/* The highest bit of row_of says, until the durations are gathered, that it began in a usual step.
 */
static const uint32_t usual_bit = UINT32_C(1) << 31;

static void open_call(struct building *building, size_t at)
{
    const struct ss_model_range *range = &building->model->ranges.data[at];
    struct ss_calls *out = building->out;
    bool is_outside = (range->flags & SS_RANGE_OUTSIDE) != 0;
    struct open_call call = {.range = at, .duration_ns = range->end_ns - range->begin_ns};
    call.usual_ns =
        ss_usual_time_of(&building->usual_at, range->begin_ns, range->end_ns, &call.is_usual);
    call.row = is_outside ? 0 : row_of(building, range, at);
    if (building->open.count > 0) {
        struct open_call *outer = &building->open.data[building->open.count - 1];
        outer->inner++;
        outer->inner_row = call.row;
        call.is_backward = outer->is_backward;
    }
    if (call.row != 0) {
        struct ss_call_row *row = &out->rows.data[call.row - 1];
        call.is_backward = call.is_backward || row->kind == SS_CALL_BACKWARD;
        row->all.calls++;
        row->usual.calls += call.is_usual;
        building->times_open.data[call.row]++;
    }
    out->row_of[at] = call.row | (call.is_usual && call.row != 0 ? usual_bit : 0);
    ss_vec_push(&building->open, call);
}

static void go_through(struct building *building)
{
    const struct ss_model *model = building->model;
    uint32_t track = 0;
    bool wanted = false;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (range->track != track || i == 0) {
            close_down_to(building, 0);
            track = range->track;
            wanted = ss_calls_has_track(building->selection, track, building->options->domain);
            uint32_t process = model->tracks.data[track].process;
            ss_usual_cursor_init(&building->usual_at, building->usual, process);
            ss_phase_cursor_init(&building->phase_at, &building->phases, process);
        }
        if (wanted) {
            close_down_to(building, model->paths.data[range->path].depth - 1);
            open_call(building, i);
        }
    }
    close_down_to(building, 0);
}

static void gather_durations(const struct ss_model *model, struct ss_calls *out)
{
    size_t begin = 0;
    size_t *next = ss_alloc_zero(out->rows.count + 1, sizeof *next);
    for (size_t i = 0; i < out->rows.count; i++) {
        out->rows.data[i].first = next[i] = begin;
        begin += out->rows.data[i].all.calls;
    }
    out->durations = ss_alloc((begin + 1) * sizeof *out->durations);
    for (size_t i = 0; i < model->ranges.count; i++) {
        uint32_t row = out->row_of[i] &= ~usual_bit;
        if (row != 0) {
            const struct ss_model_range *range = &model->ranges.data[i];
            out->durations[next[row - 1]++] = range->end_ns - range->begin_ns;
        }
    }
    ss_free(next);
    for (size_t i = 0; i < out->rows.count; i++) {
        if (out->rows.data[i].all.calls > 0) {
            ss_sort_u64(out->durations + out->rows.data[i].first, out->rows.data[i].all.calls);
        }
    }
}

void ss_calls_init(struct ss_calls *calls, const struct ss_selection *selection,
                   const struct ss_usual_time *usual, const struct ss_calls_options *options)
{
    const struct ss_model *model = selection->model;
    *calls = (struct ss_calls){.row_of = ss_alloc_zero(model->ranges.count + 1, sizeof(uint32_t))};
    struct building building = {.selection = selection,
                                .model = model,
                                .options = options,
                                .usual = usual,
                                .known =
                                    ss_alloc_zero(model->paths.count + 1, sizeof(struct known_row)),
                                .out = calls};
    ss_intern_init(&building.keys);
    if ((options->grouping & SS_CALLS_BY_PHASE) != 0) {
        ss_phase_times_init(&building.phases, selection);
    }
    go_through(&building);
    gather_durations(model, calls);
    ss_phase_times_fini(&building.phases);
    ss_intern_fini(&building.keys);
    ss_vec_fini(&building.open);
    ss_vec_fini(&building.times_open);
    ss_free(building.known);
}

void ss_calls_fini(struct ss_calls *calls)
{
    ss_vec_fini(&calls->rows);
    ss_free(calls->row_of);
    ss_free(calls->durations);
    *calls = (struct ss_calls){0};
}
