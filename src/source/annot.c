/* SPDX-License-Identifier: Apache-2.0 */
#include "source/annot.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "source/annot_inside.h"

enum {
    BATCH = 256,
    MAX_LAPS = 2 /* per ring and drain: a flooded ring must not starve the others */
};

/* How long to wait for a record that a signal handler interrupted. */
static const uint64_t unfinished_timeout_ns = 1000000000;

/* --- facts set before the recording ---------------------------------------------------------- */

/* False for a slot that is being written: its record follows in a ring. */
static bool read_fact(struct ss_annot *annot, const struct ss_ring_fact *fact,
                      struct ss_annot_event *event)
{
    event->value_type = ss_ring_read_fact(fact, &event->value);
    event->name = atomic_load_explicit(&fact->key, memory_order_relaxed);
    return event->value_type != SS_RING_VALUE_NONE && event->value_type != SS_RING_VALUE_FLOW &&
           event->name < annot->names.count &&
           (event->value_type != SS_RING_VALUE_NAME || event->value < annot->names.count);
}

/* Waits for the first ring, because the names come with it. */
static void emit_old_facts(struct ss_annot *annot)
{
    const struct ss_ring_fact *facts = annot->ring.header->facts;
    if (annot->old_facts == 0 || annot->lanes.count == 0) {
        return;
    }
    ss_ring_consumer_define(&annot->ring, ss_annot_on_define, annot);
    for (uint32_t i = 0; i < annot->old_facts; i++) {
        struct ss_annot_event event = {.kind = SS_ANNOT_FACT, .time_ns = annot->since_ns};
        if (read_fact(annot, &facts[i], &event)) {
            ss_annot_emit(annot, &event);
        }
    }
    annot->old_facts = 0;
}

static uint32_t count_facts(const struct ss_annot *annot)
{
    const struct ss_ring_fact *facts = annot->ring.header->facts;
    uint32_t count = 0;
    /* Pairs with the release of annot/facts.c. */
    while (count < SS_RING_MAX_FACTS &&
           atomic_load_explicit(&facts[count].key, memory_order_acquire) != 0) {
        count++;
    }
    return count;
}

/* --- lanes ----------------------------------------------------------------------------------- */

static void update_lanes(struct ss_annot *annot)
{
    ss_ring_consumer_refresh(&annot->ring);
    while (annot->lanes.count < annot->ring.lanes.count) {
        ss_vec_push(&annot->lanes, (struct ss_annot_lane){.last_ns = annot->since_ns});
    }
    for (uint32_t i = 0; i < annot->lanes.count; i++) {
        struct ss_annot_lane *lane = &annot->lanes.data[i];
        const struct ss_ring_lane *ring = &annot->ring.lanes.data[i];
        if (ring->thread != NULL && ring->owner != lane->owner) {
            ss_annot_end_all(annot, i, lane->last_ns);
            lane->owner = ring->owner;
            lane->tid = ring->tid;
            lane->thread = ++annot->threads;
        }
    }
}

static uint32_t fill_percent(const struct ss_ring_lane *lane)
{
    uint64_t head = atomic_load_explicit(&lane->thread->head, memory_order_relaxed);
    uint64_t size = UINT64_C(1) << lane->slots_log2;
    return head > lane->tail && head - lane->tail <= size
               ? (uint32_t)((head - lane->tail) * 100 / size)
               : 0;
}

/* Reads at least one batch. False: the deadline passed before the ring was empty. */
static bool drain_lane(struct ss_annot *annot, uint32_t number, bool is_final)
{
    static struct ss_ring_record records[BATCH]; /* one owner: the recorder's thread */
    uint64_t left = (uint64_t)MAX_LAPS << annot->ring.lanes.data[number].slots_log2;
    size_t got;
    while (left > 0 &&
           (got = ss_ring_consumer_read(&annot->ring, number, records, BATCH, is_final)) > 0) {
        ss_ring_consumer_define(&annot->ring, ss_annot_on_define, annot);
        /* The program writes during the read, which may take long. */
        uint64_t read_ns = ss_clock_now_ns(annot->clock->monotonic);
        annot->newest_ns = read_ns > annot->now_ns ? read_ns : annot->now_ns;
        for (size_t i = 0; i < got; i++) {
            ss_annot_on_record(annot, number, &records[i]);
        }
        left -= got < left ? got : left;
        if (got == BATCH && read_ns >= annot->until_ns) {
            return false;
        }
    }
    return true;
}

/* An interrupted record is finished when the signal handler returns, but never after a longjmp. */
static void skip_unfinished(struct ss_annot *annot, uint32_t number)
{
    struct ss_annot_lane *lane = &annot->lanes.data[number];
    const struct ss_ring_lane *ring = &annot->ring.lanes.data[number];
    uint64_t head = atomic_load_explicit(&ring->thread->head, memory_order_relaxed);
    if (head <= ring->tail || ring->tail != lane->blocked_at || lane->blocked_since_ns == 0) {
        lane->blocked_at = ring->tail;
        lane->blocked_since_ns = head > ring->tail ? annot->now_ns : 0;
    } else if (annot->now_ns > lane->blocked_since_ns + unfinished_timeout_ns) {
        ss_ring_consumer_skip_torn(&annot->ring, number);
        lane->blocked_since_ns = 0;
    }
}

static uint32_t drain(struct ss_annot *annot, bool is_final, uint64_t until_ns)
{
    uint32_t fullest = 0, first = annot->first_lane;
    update_lanes(annot);
    emit_old_facts(annot);
    annot->until_ns = until_ns;
    annot->is_behind = false;
    for (uint32_t n = 0; n < annot->lanes.count; n++) {
        uint32_t i = (first + n) % (uint32_t)annot->lanes.count;
        struct ss_ring_lane *ring = &annot->ring.lanes.data[i];
        /* A ring without an owner is drained; newer records belong to a thread that is not attached
         * yet. */
        if (ring->thread == NULL || (!ss_ring_lane_is_owned(ring) && !is_final)) {
            continue;
        }
        uint32_t filled = fill_percent(ring);
        fullest = filled > fullest ? filled : fullest;
        bool is_closed = ring->state == SS_RING_CLOSED; /* no more records */
        bool is_drained = drain_lane(annot, i, is_final || is_closed);
        if (!is_drained && !annot->is_behind) {
            annot->is_behind = true;
            annot->first_lane = i + 1;
        }
        skip_unfinished(annot, i);
        if (is_closed && is_drained) {
            ss_annot_end_all(annot, i, annot->lanes.data[i].last_ns);
            ss_ring_consumer_release(&annot->ring, i);
        }
    }
    return fullest;
}

/* --- lifetime -------------------------------------------------------------------------------- */

enum ss_status ss_annot_open(const struct ss_ring_memory *memory,
                             const struct ss_stamp_clock *clock, uint64_t since_ns,
                             const struct ss_annot_sink *sink, struct ss_annot **annot,
                             struct ss_error *err)
{
    struct ss_ring_consumer ring;
    SS_TRY(ss_ring_consumer_open(memory, &ring, err));
    *annot = ss_alloc_zero(1, sizeof **annot);
    **annot = (struct ss_annot){.ring = ring, .clock = clock, .sink = *sink, .since_ns = since_ns};
    (*annot)->now_ns = since_ns;
    ss_vec_push(&(*annot)->names, (struct ss_annot_style){0}); /* name 0 */
    return SS_OK;
}

const struct ss_ring_header *ss_annot_header(const struct ss_annot *annot)
{
    return annot->ring.header;
}

void ss_annot_start(struct ss_annot *annot, const struct ss_ring_request *request, bool is_new)
{
    if (is_new) {
        annot->old_facts = count_facts(annot);
        ss_ring_consumer_start(&annot->ring, request);
    } else {
        ss_ring_consumer_heartbeat(&annot->ring, request->now_ns);
        annot->ring.is_overwriting = request->mode == SS_RING_OVERWRITE;
    }
}

uint32_t ss_annot_drain(struct ss_annot *annot, uint64_t now_ns)
{
    return ss_annot_drain_until(annot, now_ns, UINT64_MAX);
}

uint32_t ss_annot_drain_until(struct ss_annot *annot, uint64_t now_ns, uint64_t until_ns)
{
    annot->now_ns = now_ns;
    ss_ring_consumer_heartbeat(&annot->ring, now_ns);
    return drain(annot, false, until_ns);
}

bool ss_annot_is_behind(const struct ss_annot *annot)
{
    return annot->is_behind;
}

void ss_annot_set_sink(struct ss_annot *annot, const struct ss_annot_sink *sink)
{
    annot->sink = *sink;
}

void ss_annot_set_window_hook(struct ss_annot *annot, void (*hook)(void *context), void *context)
{
    annot->window_hook = hook;
    annot->hook_context = context;
}

void ss_annot_publish_room(struct ss_annot *annot, uint64_t room_bytes)
{
    atomic_store_explicit(&annot->ring.header->room_bytes, room_bytes, memory_order_relaxed);
}

void ss_annot_post_demand(struct ss_annot *annot, uint32_t slot, uint32_t number, int64_t first,
                          int64_t last)
{
    ss_ring_post_demand(annot->ring.header, slot, number, first, last);
}

void ss_annot_confine(struct ss_annot *annot)
{
    atomic_store_explicit(&annot->ring.header->confined, 1, memory_order_relaxed);
}

bool ss_annot_wants_flush(const struct ss_annot *annot, uint32_t *number)
{
    const struct ss_ring_header *header = annot->ring.header;
    *number = atomic_load_explicit(&header->flush_wanted, memory_order_acquire);
    return *number != atomic_load_explicit(&header->flush_done, memory_order_relaxed);
}

void ss_annot_flushed(struct ss_annot *annot, uint32_t number)
{
    /* Pairs with the acquire of annot/sealed.c. */
    atomic_store_explicit(&annot->ring.header->flush_done, number, memory_order_release);
}

void ss_annot_capture(struct ss_annot *annot, bool is_open)
{
    atomic_store_explicit(&annot->ring.header->capture,
                          is_open ? SS_RING_CAPTURE_OPEN : SS_RING_CAPTURE_CLOSED,
                          memory_order_relaxed);
}

bool ss_annot_is_ending(struct ss_annot *annot)
{
    return ss_ring_consumer_is_ending(&annot->ring);
}

void ss_annot_stop(struct ss_annot *annot)
{
    ss_ring_consumer_stop(&annot->ring);
}

void ss_annot_end(struct ss_annot *annot, uint64_t now_ns, uint64_t last_ns, bool is_dead)
{
    annot->now_ns = now_ns;
    drain(annot, is_dead, UINT64_MAX);
    uint64_t end_ns = last_ns;
    for (uint32_t i = 0; i < annot->lanes.count; i++) {
        end_ns = annot->lanes.data[i].last_ns > end_ns ? annot->lanes.data[i].last_ns : end_ns;
    }
    for (uint32_t i = 0; i < annot->lanes.count; i++) {
        ss_annot_end_all(annot, i, end_ns);
    }
    struct ss_annot_event event = {.kind = SS_ANNOT_PROCESS_END, .time_ns = end_ns};
    ss_annot_emit(annot, &event);
}

void ss_annot_free(struct ss_annot *annot)
{
    if (annot == NULL) {
        return;
    }
    for (uint32_t i = 0; i < annot->lanes.count; i++) {
        ss_vec_fini(&annot->lanes.data[i].open);
    }
    ss_vec_fini(&annot->lanes);
    ss_vec_fini(&annot->names);
    ss_vec_fini(&annot->texts);
    ss_ring_consumer_close(&annot->ring);
    ss_free(annot);
}

void ss_annot_get_totals(struct ss_annot *annot, struct ss_annot_totals *totals)
{
    const struct ss_ring_header *header = annot->ring.header;
    uint64_t unbuffered = atomic_load_explicit(&header->dropped, memory_order_relaxed);
    *totals = (struct ss_annot_totals){
        .produced = unbuffered,
        .dropped = unbuffered,
        .unbuffered = unbuffered,
        .lost_names =
            atomic_load_explicit(&header->lost_names, memory_order_relaxed) + annot->bad_names,
        .begins_lost = annot->begins_lost,
        .ends_lost = annot->ends_lost,
        .threads = annot->threads};
    for (uint32_t i = 0; i < annot->ring.lanes.count; i++) {
        const struct ss_ring_counts *counts = ss_ring_consumer_count(&annot->ring, i);
        totals->lost_rings += annot->ring.lanes.data[i].thread == NULL;
        totals->produced += counts->produced;
        totals->consumed += counts->consumed;
        totals->dropped += counts->dropped + counts->overwritten + counts->torn;
        totals->overrun += counts->dropped + counts->overwritten + counts->torn;
        totals->damaged += counts->damaged;
        totals->unmatched += counts->unmatched;
    }
}

/* --- labels of samples ----------------------------------------------------------------------- */

static const struct ss_ring_lane *lane_of(struct ss_annot *annot, int32_t tid)
{
    const struct ss_ring_lane *lanes = annot->ring.lanes.data;
    size_t count = annot->ring.lanes.count;
    for (size_t i = 0; i < count; i++) {
        size_t at = (annot->label_lane + i) % count;
        if (lanes[at].thread != NULL && lanes[at].tid == tid && lanes[at].state == SS_RING_OPEN) {
            annot->label_lane = (uint32_t)at;
            return &lanes[at];
        }
    }
    return NULL;
}

void ss_annot_label(struct ss_annot *annot, int32_t tid, struct ss_annot_label *label)
{
    const struct ss_ring_header *header = annot->ring.header;
    if (atomic_load_explicit(&header->thread_count, memory_order_relaxed) >
        annot->ring.lanes.count) {
        update_lanes(annot); /* rings added since the last drain */
    }
    const struct ss_ring_lane *lane = lane_of(annot, tid);
    uint32_t phase = 0, range = 0, domain;
    *label = (struct ss_annot_label){.step = ss_ring_read_step(header, &label->window)};
    if (lane != NULL) {
        phase = atomic_load_explicit(&lane->thread->phase, memory_order_relaxed);
        if (!ss_ring_read_innermost(lane->thread, &range, &domain)) {
            range = 0;
        }
    }
    phase = phase != 0 ? phase : atomic_load_explicit(&header->phase, memory_order_relaxed);
    if (phase >= annot->names.count || range >= annot->names.count) {
        ss_ring_consumer_define(&annot->ring, ss_annot_on_define, annot);
    }
    label->phase = phase < annot->names.count ? phase : 0;
    label->range = range < annot->names.count ? range : 0;
}
