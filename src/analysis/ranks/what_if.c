/* SPDX-License-Identifier: Apache-2.0 */
/* Replays the ranks' own work, with something otherwise. */
#include <stdlib.h>

#include "analysis/ranks/critical_path.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"

/* A piece in the order in which all ranks are replayed: by when it ended, arrivals first. A rank
 * leaves a collective after all have arrived, so that what a wait needs is known by then. */
struct event {
    uint64_t time_ns;
    size_t piece, rank;
};

struct events ss_vec_of(struct event);

struct replay {
    const struct ss_rank_timeline *timeline;
    const struct ss_rank_profiles *profiles;
    const struct ss_what_if *what;
    uint64_t *at_ns;      /* by rank: how far it is */
    uint64_t *arrived_ns; /* by row of the collectives: the last arrival so far */
    double *factors;      /* [ranks][phases]: what remains of own work */
};

static int compare(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->piece < b->piece ? -1 : a->piece > b->piece;
}

/* The pieces of a rank keep their order: an arrival has its place before the wait around it. */
static void list_events(struct events *events, const struct ss_rank_timeline *timeline)
{
    for (size_t rank = 0; rank < timeline->ranks; rank++) {
        for (size_t i = timeline->first[rank]; i < timeline->first[rank + 1]; i++) {
            const struct ss_piece *piece = &timeline->pieces.data[i];
            bool is_arrival = piece->kind == SS_PIECE_ARRIVE;
            uint64_t time_ns = is_arrival ? piece->begin_ns : piece->end_ns;
            ss_vec_push(events, (struct event){time_ns, i, rank});
        }
    }
    if (events->count > 1) {
        qsort(events->data, events->count, sizeof *events->data, compare);
    }
}

static uint64_t own_ns(const struct replay *replay, const struct event *event)
{
    const struct ss_piece *piece = &replay->timeline->pieces.data[event->piece];
    uint64_t length_ns = piece->end_ns - piece->begin_ns;
    if (piece->phase == replay->what->without_phase) {
        return 0;
    }
    double factor = replay->factors[event->rank * replay->timeline->phases + piece->phase];
    return factor < 1 ? (uint64_t)((double)length_ns * factor) : length_ns;
}

/* A wait for a collective ends when the last rank has arrived and the data is transferred: up to
 * the first rank's end. What this rank waits beyond that, it waits by itself: it may have begun so
 * late that the data was there already, and then computes less in the replay, but waits as long. */
static void replay_wait(struct replay *replay, const struct event *event)
{
    const struct ss_piece *piece = &replay->timeline->pieces.data[event->piece];
    uint64_t *at_ns = &replay->at_ns[event->rank];
    if (piece->collective == 0) {
        *at_ns += replay->what->no_transfers ? 0 : piece->end_ns - piece->begin_ns;
        return;
    }
    const struct ss_collective *row =
        &replay->profiles->collectives->rows.data[piece->collective - 1];
    uint64_t last_ns = replay->arrived_ns[piece->collective - 1];
    uint64_t there_ns = row->first_end_ns > row->last_ns ? row->first_end_ns : row->last_ns;
    there_ns = there_ns < piece->end_ns ? there_ns : piece->end_ns;
    uint64_t from_ns = there_ns > piece->begin_ns ? there_ns : piece->begin_ns;
    uint64_t transfer_ns = there_ns > row->last_ns ? there_ns - row->last_ns : 0;
    if (last_ns != 0) {
        uint64_t end_ns = last_ns + (replay->what->no_transfers ? 0 : transfer_ns);
        *at_ns = end_ns > *at_ns ? end_ns : *at_ns;
    }
    *at_ns += replay->what->no_transfers ? 0 : piece->end_ns - from_ns;
}

static void replay_event(struct replay *replay, const struct event *event)
{
    const struct ss_piece *piece = &replay->timeline->pieces.data[event->piece];
    if (piece->kind == SS_PIECE_OWN) {
        replay->at_ns[event->rank] += own_ns(replay, event);
    } else if (piece->kind == SS_PIECE_WAIT) {
        replay_wait(replay, event);
    } else {
        uint64_t *last_ns = &replay->arrived_ns[piece->collective - 1];
        uint64_t here_ns = replay->at_ns[event->rank] + (piece->end_ns - piece->begin_ns);
        *last_ns = here_ns > *last_ns ? here_ns : *last_ns;
    }
}

/* How much of each phase remains of the ranks that are taken to the median of all. */
static void find_factors(struct replay *replay)
{
    const struct ss_rank_profiles *profiles = replay->profiles;
    size_t phases = replay->timeline->phases, ranks = profiles->rows.count;
    uint64_t *values = ss_alloc_zero(ranks + 1, sizeof *values);
    for (size_t p = 0; p < phases; p++) {
        for (size_t i = 0; i < ranks; i++) {
            values[i] = profiles->rows.data[i].phase_ns[p];
        }
        ss_sort_u64(values, ranks);
        uint64_t median = values[(ranks - 1) / 2];
        for (size_t i = 0; i < ranks; i++) {
            uint64_t own = profiles->rows.data[i].phase_ns[p];
            bool is_taken = replay->what->all_at_median || i == replay->what->rank_at_median;
            replay->factors[i * phases + p] =
                is_taken && own > median ? (double)median / (double)own : 1;
        }
    }
    ss_free(values);
}

/* From the first start of any rank to the last end; `ends` by rank. */
static uint64_t length_of(const struct ss_rank_timeline *timeline, const uint64_t *ends)
{
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (size_t rank = 0; rank < timeline->ranks; rank++) {
        if (timeline->first[rank] < timeline->first[rank + 1]) {
            uint64_t from_ns = timeline->pieces.data[timeline->first[rank]].begin_ns;
            begin_ns = from_ns < begin_ns ? from_ns : begin_ns;
            end_ns = ends[rank] > end_ns ? ends[rank] : end_ns;
        }
    }
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

uint64_t ss_what_if_measured(const struct ss_rank_timeline *timeline)
{
    uint64_t *ends = ss_alloc_zero(timeline->ranks + 1, sizeof *ends);
    for (size_t rank = 0; rank < timeline->ranks; rank++) {
        for (size_t i = timeline->first[rank]; i < timeline->first[rank + 1]; i++) {
            const struct ss_piece *piece = &timeline->pieces.data[i];
            bool is_later = piece->kind != SS_PIECE_ARRIVE && piece->end_ns > ends[rank];
            ends[rank] = is_later ? piece->end_ns : ends[rank];
        }
    }
    uint64_t length_ns = length_of(timeline, ends);
    ss_free(ends);
    return length_ns;
}

uint64_t ss_what_if_replay(const struct ss_rank_timeline *timeline,
                           const struct ss_rank_profiles *profiles, const struct ss_what_if *what)
{
    struct replay replay = {
        .timeline = timeline,
        .profiles = profiles,
        .what = what,
        .at_ns = ss_alloc_zero(timeline->ranks + 1, sizeof *replay.at_ns),
        .arrived_ns =
            ss_alloc_zero(profiles->collectives->rows.count + 1, sizeof *replay.arrived_ns),
        .factors = ss_alloc_zero(timeline->ranks * timeline->phases + 1, sizeof *replay.factors)};
    struct events events = {0};
    list_events(&events, timeline);
    if (timeline->ranks > 0) {
        find_factors(&replay);
    }
    for (size_t rank = 0; rank < timeline->ranks; rank++) {
        if (timeline->first[rank] < timeline->first[rank + 1]) {
            replay.at_ns[rank] = timeline->pieces.data[timeline->first[rank]].begin_ns;
        }
    }
    for (size_t i = 0; i < events.count; i++) {
        replay_event(&replay, &events.data[i]);
    }
    uint64_t length_ns = length_of(timeline, replay.at_ns);
    ss_vec_fini(&events);
    ss_free(replay.at_ns);
    ss_free(replay.arrived_ns);
    ss_free(replay.factors);
    return length_ns;
}
