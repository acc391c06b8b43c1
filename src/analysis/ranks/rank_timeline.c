/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_timeline.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/shared_names.h"

struct span {
    uint64_t begin_ns, end_ns;
};

struct spans ss_vec_of(struct span);

/* A call of the rank, and its row of the collectives. */
struct part {
    uint64_t begin_ns, end_ns;
    uint64_t last_ns; /* arrival of the last rank */
    size_t row;
};

struct parts ss_vec_of(struct part);

struct building {
    struct ss_rank_timeline *timeline;
    const struct ss_rank_profiles *profiles;
    const struct ss_model *model;
    const struct ss_device_summary *devices;
    const struct ss_step_summary *training;
    struct parts *calls; /* by process, in order of their start */
};

/* --- waits ------------------------------------------------------------------------------------ */

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void merge(struct spans *spans)
{
    size_t count = 0;
    if (spans->count > 1) {
        qsort(spans->data, spans->count, sizeof *spans->data, compare_spans);
    }
    for (size_t i = 0; i < spans->count; i++) {
        struct span span = spans->data[i];
        if (count > 0 && span.begin_ns <= spans->data[count - 1].end_ns) {
            uint64_t *end_ns = &spans->data[count - 1].end_ns;
            *end_ns = span.end_ns > *end_ns ? span.end_ns : *end_ns;
        } else {
            spans->data[count++] = span;
        }
    }
    spans->count = count;
}

/* `spans` without what `others` cover; both are merged. */
static void subtract(const struct spans *spans, const struct spans *others, struct spans *rest)
{
    size_t at = 0;
    for (size_t i = 0; i < spans->count; i++) {
        uint64_t from_ns = spans->data[i].begin_ns, end_ns = spans->data[i].end_ns;
        while (at < others->count && others->data[at].end_ns <= from_ns) {
            at++;
        }
        for (size_t k = at; k < others->count && others->data[k].begin_ns < end_ns; k++) {
            if (others->data[k].begin_ns > from_ns) {
                ss_vec_push(rest, (struct span){from_ns, others->data[k].begin_ns});
            }
            from_ns = others->data[k].end_ns > from_ns ? others->data[k].end_ns : from_ns;
        }
        if (from_ns < end_ns) {
            ss_vec_push(rest, (struct span){from_ns, end_ns});
        }
    }
}

static void waits_on_devices(const struct building *building, uint32_t process, struct spans *waits)
{
    struct spans transfers = {0}, computing = {0};
    const struct ss_device_works *works = building->devices->works;
    for (size_t p = 0; p < works->parts.count; p++) {
        const struct ss_device_part *part = &works->parts.data[p];
        for (size_t i = part->first; i < part->end && part->process == process; i++) {
            const struct ss_device_work *work = &works->works.data[i];
            struct span span = {work->begin_ns, work->end_ns};
            if (work->work_class == SS_WORK_COMMUNICATION) {
                ss_vec_push(&transfers, span);
            } else if (work->work_class == SS_WORK_COMPUTE) {
                ss_vec_push(&computing, span);
            }
        }
    }
    merge(&transfers);
    merge(&computing);
    subtract(&transfers, &computing, waits);
    ss_vec_fini(&transfers);
    ss_vec_fini(&computing);
}

static void waits_in_phases(const struct building *building, uint32_t process, struct spans *waits)
{
    const struct ss_process_index *index = &building->training->index;
    for (size_t i = 0; i < index->phases.parts.count; i++) {
        const struct ss_phase_time *part = &index->phases.parts.data[i];
        struct ss_strview name = ss_intern_get(&building->model->strings, part->name);
        if (part->process == process &&
            ss_strview_equal(name, ss_strview_of(ss_phase_communication))) {
            ss_vec_push(waits, (struct span){part->begin_ns, part->end_ns});
        }
    }
    for (size_t i = 0; i < index->waits.spans.count; i++) {
        const struct ss_exposed_span *span = &index->waits.spans.data[i];
        if (span->process == process) {
            ss_vec_push(waits, (struct span){span->begin_ns, span->end_ns});
        }
    }
    merge(waits);
}

/* --- calls ------------------------------------------------------------------------------------ */

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void collect_calls(struct building *building)
{
    const struct ss_collectives *collectives = building->profiles->collectives;
    building->calls = ss_alloc_zero(building->model->processes.count, sizeof *building->calls);
    for (size_t i = 0; i < collectives->rows.count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        for (size_t k = row->first; k < row->first + row->count && ss_collective_counts(row); k++) {
            const struct ss_rank_call *call = &collectives->calls.rows.data[k];
            struct part part = {call->begin_ns, call->end_ns, row->last_ns, i};
            ss_vec_push(&building->calls[call->process], part);
        }
    }
    for (size_t i = 0; i < building->model->processes.count; i++) {
        if (building->calls[i].count > 1) {
            qsort(building->calls[i].data, building->calls[i].count,
                  sizeof *building->calls[i].data, compare_parts);
        }
    }
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void push(struct building *building, struct ss_piece piece)
{
    if (piece.end_ns > piece.begin_ns || piece.kind == SS_PIECE_ARRIVE) {
        ss_vec_push(&building->timeline->pieces, piece);
    }
}

static size_t phase_of(const struct ss_step_summary *training, uint32_t name)
{
    for (size_t p = 0; p < training->phases.count; p++) {
        if (training->phases.data[p].name == name) {
            return p;
        }
    }
    return training->phases.count - 1;
}

/* Own work between two times, by phase. */
static void push_own(struct building *building, struct ss_phase_cursor *cursor, uint64_t from_ns,
                     uint64_t to_ns)
{
    while (from_ns < to_ns) {
        uint32_t name = ss_phase_at(cursor, from_ns);
        uint64_t end_ns = to_ns;
        if (cursor->at > 0 && cursor->parts[cursor->at - 1].end_ns > from_ns &&
            cursor->parts[cursor->at - 1].end_ns < end_ns) {
            end_ns = cursor->parts[cursor->at - 1].end_ns;
        }
        if (cursor->at < cursor->count && cursor->parts[cursor->at].begin_ns > from_ns &&
            cursor->parts[cursor->at].begin_ns < end_ns) {
            end_ns = cursor->parts[cursor->at].begin_ns;
        }
        push(building, (struct ss_piece){.begin_ns = from_ns,
                                         .end_ns = end_ns,
                                         .kind = SS_PIECE_OWN,
                                         .phase = phase_of(building->training, name)});
        from_ns = end_ns;
    }
}

struct sweep {
    const struct parts *calls;
    size_t next; /* call that has not arrived yet */
    struct ss_phase_cursor cursor;
};

static void push_arrival(struct building *building, const struct part *call, uint64_t place_ns)
{
    push(building, (struct ss_piece){.begin_ns = place_ns,
                                     .end_ns = call->begin_ns,
                                     .kind = SS_PIECE_ARRIVE,
                                     .collective = call->row + 1});
}

/* Own work with the arrivals in it. */
static void sweep_own(struct building *building, struct sweep *sweep, uint64_t from_ns,
                      uint64_t to_ns)
{
    while (sweep->next < sweep->calls->count && sweep->calls->data[sweep->next].begin_ns <= to_ns) {
        const struct part *call = &sweep->calls->data[sweep->next++];
        if (call->begin_ns >= from_ns) {
            push_own(building, &sweep->cursor, from_ns, call->begin_ns);
            from_ns = call->begin_ns;
            push_arrival(building, call, from_ns);
        }
    }
    push_own(building, &sweep->cursor, from_ns, to_ns);
}

enum { MOST_OUTSTANDING = 1024 };

/* When a wait from `from_ns` for this call ends, at most at `to_ns`; 0: it is not a wait for it.
 * The thread that waits may go on before the collective's end is recorded: then the last rank
 * arrived while it waited. */
static uint64_t end_of_wait(const struct part *call, uint64_t from_ns, uint64_t to_ns)
{
    if (call->end_ns > from_ns && call->end_ns <= to_ns) {
        return call->end_ns;
    }
    bool is_left_early = call->end_ns > to_ns && call->last_ns > from_ns && call->last_ns < to_ns;
    return is_left_early ? to_ns : 0;
}

/* The call whose wait ends first in (from, to]; NULL: none does. Of those that have arrived, only
 * the last ones may still be under way. */
static const struct part *first_end(const struct sweep *sweep, uint64_t from_ns, uint64_t to_ns)
{
    const struct parts *calls = sweep->calls;
    const struct part *first = NULL;
    uint64_t first_ns = UINT64_MAX;
    size_t from = sweep->next > MOST_OUTSTANDING ? sweep->next - MOST_OUTSTANDING : 0;
    for (size_t i = from; i < calls->count && calls->data[i].begin_ns < to_ns; i++) {
        uint64_t end_ns = end_of_wait(&calls->data[i], from_ns, to_ns);
        if (end_ns != 0 && end_ns < first_ns) {
            first = &calls->data[i];
            first_ns = end_ns;
        }
    }
    return first;
}

/* What arrives in a wait. Until the last rank has arrived, it does so whatever is waited for: its
 * place is before the wait. Later, it follows from that arrival: the wait up to there is a piece of
 * its own. Returns where the rest of the wait begins. */
static uint64_t sweep_arrivals(struct building *building, struct sweep *sweep,
                               const struct part *ending, uint64_t from_ns, uint64_t end_ns)
{
    while (sweep->next < sweep->calls->count && sweep->calls->data[sweep->next].begin_ns < end_ns) {
        const struct part *call = &sweep->calls->data[sweep->next++];
        if (ending != NULL && call->begin_ns > ending->last_ns && call->begin_ns > from_ns) {
            push(building, (struct ss_piece){.begin_ns = from_ns,
                                             .end_ns = call->begin_ns,
                                             .kind = SS_PIECE_WAIT,
                                             .collective = ending->row + 1});
            from_ns = call->begin_ns;
        }
        push_arrival(building, call, from_ns);
    }
    return from_ns;
}

/* A wait, up to the end of each collective in it. The call that is waited for is not waited for
 * until it begins. */
static void sweep_wait(struct building *building, struct sweep *sweep, uint64_t from_ns,
                       uint64_t to_ns)
{
    while (from_ns < to_ns) {
        const struct part *ending = first_end(sweep, from_ns, to_ns);
        uint64_t end_ns = ending != NULL ? end_of_wait(ending, from_ns, to_ns) : to_ns;
        if (ending != NULL && ending->begin_ns > from_ns) {
            push(building, (struct ss_piece){.begin_ns = from_ns,
                                             .end_ns = ending->begin_ns,
                                             .kind = SS_PIECE_WAIT});
            from_ns = ending->begin_ns;
        }
        from_ns = sweep_arrivals(building, sweep, ending, from_ns, end_ns);
        push(building, (struct ss_piece){.begin_ns = from_ns,
                                         .end_ns = end_ns,
                                         .kind = SS_PIECE_WAIT,
                                         .collective = ending != NULL ? ending->row + 1 : 0});
        from_ns = end_ns;
    }
}

static bool find_range(const struct ss_step_summary *training, uint32_t process, struct span *range)
{
    bool has_any = false;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process == process && step->kind != SS_STEP_CUT &&
            step->kind != SS_STEP_OUTSIDE) {
            range->begin_ns = has_any ? range->begin_ns : step->begin_ns;
            range->end_ns = step->end_ns;
            has_any = true;
        }
    }
    return has_any;
}

static void build_rank(struct building *building, uint32_t process)
{
    struct spans waits = {0};
    struct span range;
    struct sweep sweep = {.calls = &building->calls[process]};
    if (!find_range(building->training, process, &range)) {
        return;
    }
    if (building->devices->steps.count > 0) {
        waits_on_devices(building, process, &waits);
    } else {
        waits_in_phases(building, process, &waits);
    }
    ss_phase_cursor_init(&sweep.cursor, &building->training->index.phases, process);
    while (sweep.next < sweep.calls->count &&
           sweep.calls->data[sweep.next].begin_ns < range.begin_ns) {
        sweep.next++;
    }
    uint64_t at_ns = range.begin_ns;
    for (size_t i = 0; i < waits.count && at_ns < range.end_ns; i++) {
        uint64_t from_ns = waits.data[i].begin_ns > at_ns ? waits.data[i].begin_ns : at_ns;
        uint64_t to_ns = waits.data[i].end_ns < range.end_ns ? waits.data[i].end_ns : range.end_ns;
        if (from_ns < to_ns) {
            sweep_own(building, &sweep, at_ns, from_ns);
            sweep_wait(building, &sweep, from_ns, to_ns);
            at_ns = to_ns;
        }
    }
    sweep_own(building, &sweep, at_ns, range.end_ns);
    ss_vec_fini(&waits);
}

void ss_rank_timeline_init(struct ss_rank_timeline *timeline, const struct ss_selection *selection,
                           const struct ss_step_summary *training)
{
    const struct ss_rank_profiles *profiles = ss_steps_ranks(selection, training);
    struct building building = {.timeline = timeline,
                                .profiles = profiles,
                                .model = selection->model,
                                .devices = ss_steps_devices(selection, training),
                                .training = training};
    *timeline =
        (struct ss_rank_timeline){.ranks = profiles->rows.count, .phases = training->phases.count};
    timeline->first = ss_alloc_zero(timeline->ranks + 1, sizeof *timeline->first);
    collect_calls(&building);
    for (size_t i = 0; i < timeline->ranks; i++) {
        timeline->first[i] = timeline->pieces.count;
        build_rank(&building, profiles->rows.data[i].process);
    }
    timeline->first[timeline->ranks] = timeline->pieces.count;
    for (size_t i = 0; i < selection->model->processes.count; i++) {
        ss_vec_fini(&building.calls[i]);
    }
    ss_free(building.calls);
}

void ss_rank_timeline_fini(struct ss_rank_timeline *timeline)
{
    ss_vec_fini(&timeline->pieces);
    ss_free(timeline->first);
    *timeline = (struct ss_rank_timeline){0};
}
