/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/producer.h"

void ss_ring_producer_init(struct ss_ring_producer *producer, struct ss_ring_thread *thread,
                           uint32_t slots_log2, enum ss_ring_mode mode)
{
    *producer = (struct ss_ring_producer){
        .head = atomic_load_explicit(&thread->head, memory_order_relaxed),
        .mask = (UINT64_C(1) << slots_log2) - 1,
        .slots = (struct ss_ring_slot *)((char *)thread + SS_RING_PAGE_BYTES),
        .thread = thread,
        .continuation_slots =
            atomic_load_explicit(&thread->continuation_slots, memory_order_relaxed),
        .dropped = atomic_load_explicit(&thread->dropped, memory_order_relaxed),
        .unmatched = atomic_load_explicit(&thread->unmatched, memory_order_relaxed),
        .live_changes = atomic_load_explicit(&thread->live, memory_order_relaxed) >> 16,
        .slots_log2 = slots_log2};
    ss_ring_producer_begin(producer, mode);
}

/* Reloads the tail. false: there is no room for `slots`. */
static bool make_room(struct ss_ring_producer *producer, uint64_t slots)
{
    if (producer->thread == NULL) {
        return false;
    }
    if (!producer->overwrite) {
        /* Pairs with the release store in advance_tail (consumer.c): the recorder has read the
         * slots to be overwritten. An impossible tail is ignored. */
        uint64_t tail = atomic_load_explicit(&producer->thread->tail, memory_order_acquire);
        uint64_t head = producer->head, size = producer->mask + 1;
        if (tail <= head && head - tail <= size) {
            producer->limit = tail + size;
        }
    }
    return producer->head + slots <= producer->limit;
}

uint64_t ss_ring_reserve_again(struct ss_ring_producer *producer, uint64_t at, uint32_t slots)
{
    for (int tries = 0; tries < 2; tries++) {
        /* The exchange fails when a signal handler has reserved slots after these: then there is
         * room for these as well, and returning them would let the next record overwrite the
         * handler's. */
        if (!ss_ring_exchange(&producer->head, at + slots, at)) {
            return at;
        }
        if (tries > 0 || !make_room(producer, slots)) {
            break;
        }
        at = ss_ring_advance(&producer->head, slots);
        if (at + slots <= producer->limit) {
            return at;
        }
    }
    ss_ring_drop(producer);
    return UINT64_MAX;
}

bool ss_ring_reload_tail(struct ss_ring_producer *producer)
{
    return make_room(producer, ss_ring_spare(producer));
}

void ss_ring_drop(struct ss_ring_producer *producer)
{
    if (producer->thread != NULL) {
        ss_ring_advance(&producer->dropped, 1);
        ss_ring_publish_counter(&producer->thread->dropped, &producer->dropped);
    }
}

void ss_ring_producer_begin(struct ss_ring_producer *producer, enum ss_ring_mode mode)
{
    producer->overwrite = mode == SS_RING_OVERWRITE;
    producer->limit = producer->overwrite ? UINT64_MAX >> 1 : 0; /* 0: load the tail first */
    producer->depth = 0;
    ss_ring_publish_live(producer, 0);
}

static uint32_t find_domain(const struct ss_ring_producer *producer, uint32_t domain)
{
    uint32_t at = producer->depth;
    while (at > 0) {
        uint64_t entry = atomic_load_explicit(&producer->thread->stack[at - 1].name_domain,
                                              memory_order_relaxed);
        if ((entry & 0xff) == (domain & 0xff)) {
            return at;
        }
        at--;
    }
    return 0;
}

uint32_t ss_ring_live_pop_domain(struct ss_ring_producer *producer, uint32_t domain)
{
    uint32_t depth = producer->depth;
    if (depth > SS_RING_LIVE_DEPTH) { /* domains beyond the live stack are unknown */
        producer->depth = depth - 1;
        return depth;
    }
    uint32_t found = find_domain(producer, domain);
    if (found == 0) {
        ss_ring_advance(&producer->unmatched, 1);
        ss_ring_publish_counter(&producer->thread->unmatched, &producer->unmatched);
        return 0;
    }
    /* Ranges of other domains above it move down by one. Meanwhile the published stack ends below
     * them. */
    ss_ring_publish_live(producer, found - 1);
    for (uint32_t i = found; i < depth; i++) {
        struct ss_ring_live *from = &producer->thread->stack[i];
        struct ss_ring_live *to = &producer->thread->stack[i - 1];
        atomic_store_explicit(&to->stamp, atomic_load_explicit(&from->stamp, memory_order_relaxed),
                              memory_order_release);
        atomic_store_explicit(&to->name_domain,
                              atomic_load_explicit(&from->name_domain, memory_order_relaxed),
                              memory_order_release);
    }
    producer->depth = depth - 1;
    ss_ring_publish_live(producer, depth - 1);
    return found;
}
