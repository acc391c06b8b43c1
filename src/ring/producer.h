/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes records into one thread's ring: some ten instructions, no lock, no call, no allocation.
 *
 * Owned by one thread and the signal handlers that run on it. A handler may interrupt a write at
 * any instruction: slots are taken by one instruction (fetch and add, which no signal splits), and
 * what is taken but not written yet is recognised by its lap (layout.h). A producer of zeros is one
 * that has no room: this is what memory that is wiped on fork becomes.
 */
#ifndef SS_RING_PRODUCER_H
#define SS_RING_PRODUCER_H

#include <stdbool.h>

#include "ring/layout.h"

struct ss_ring_producer {
    uint64_t head;  /* slots taken */
    uint64_t limit; /* head may go so far without another look at the tail */
    uint64_t mask;
    struct ss_ring_slot *slots;
    struct ss_ring_thread *thread;
    uint64_t continuation_slots, dropped;
    uint32_t slots_log2;
    uint32_t depth; /* of open ranges, also those beyond the live stack */
    uint64_t live_changes;
    uint64_t unmatched;
    bool overwrite;
};

/* *counter += amount, and what it was: in one instruction, so that signal handlers of the thread
 * come before it or after it. Not atomic between threads: none but this one writes here. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the instruction writes there */
static inline uint64_t ss_ring_take(uint64_t *counter, uint64_t amount)
{
#if defined(__x86_64__)
    __asm__ volatile("xaddq %0, %1" : "+r"(amount), "+m"(*counter) : : "cc");
    return amount;
#else
    return __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
#endif
}

/* The ring of `thread`, whose slots lie behind its page. Goes on where the last owner ended. */
void ss_ring_producer_init(struct ss_ring_producer *producer, struct ss_ring_thread *thread,
                           uint32_t slots_log2, enum ss_ring_mode mode);
/* Looks at the tail again. false: there is no room for `slots`; the record is counted. */
bool ss_ring_producer_make_room(struct ss_ring_producer *producer, uint32_t slots);
/* Another recording begins: no range is open. */
void ss_ring_producer_begin(struct ss_ring_producer *producer, enum ss_ring_mode mode);

/* Takes `slots` slots. Returns the first, or UINT64_MAX when the record is dropped. */
static inline uint64_t ss_ring_reserve(struct ss_ring_producer *producer, uint32_t slots)
{
    uint64_t at = ss_ring_take(&producer->head, slots);
    if (__builtin_expect(at + slots <= producer->limit, 1)) {
        return at;
    }
    ss_ring_take(&producer->head, -(uint64_t)slots);
    if (!ss_ring_producer_make_room(producer, slots)) {
        return UINT64_MAX;
    }
    at = ss_ring_take(&producer->head, slots);
    if (at + slots <= producer->limit) {
        return at;
    }
    ss_ring_take(&producer->head, -(uint64_t)slots); /* a handler was quicker */
    uint64_t dropped = ss_ring_take(&producer->dropped, 1) + 1;
    atomic_store_explicit(&producer->thread->dropped, dropped, memory_order_relaxed);
    return UINT64_MAX;
}

static inline void ss_ring_put(struct ss_ring_producer *producer, uint64_t at, uint64_t word0,
                               uint64_t word1)
{
    struct ss_ring_slot *slot = &producer->slots[at & producer->mask];
    atomic_store_explicit(&slot->word0, word0, memory_order_relaxed);
    /* Pairs with the acquire load in consumer.c: who sees this lap sees the whole slot. */
    atomic_store_explicit(&slot->word1, word1 | ss_ring_lap_bits(at, producer->slots_log2),
                          memory_order_release);
}

static inline void ss_ring_publish(struct ss_ring_producer *producer)
{
    atomic_store_explicit(&producer->thread->head, producer->head, memory_order_release);
}

static inline bool ss_ring_write(struct ss_ring_producer *producer, uint64_t stamp, uint64_t word)
{
    uint64_t at = ss_ring_reserve(producer, 1);
    if (__builtin_expect(at == UINT64_MAX, 0)) {
        return false;
    }
    ss_ring_put(producer, at, stamp, word);
    ss_ring_publish(producer);
    return true;
}

struct ss_ring_extra {
    uint64_t value;
    uint64_t extra; /* 48 bits */
};

/* `word` says how many continuations it has: as many as `count`. */
static inline bool ss_ring_write_more(struct ss_ring_producer *producer, uint64_t stamp,
                                      uint64_t word, const struct ss_ring_extra *more,
                                      uint32_t count)
{
    uint64_t at = ss_ring_reserve(producer, count + 1);
    if (__builtin_expect(at == UINT64_MAX, 0)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        ss_ring_put(producer, at + 1 + i, more[i].value,
                    more[i].extra << 16 | SS_RING_CONTINUATION);
    }
    ss_ring_put(producer, at, stamp, word);
    uint64_t continuations = ss_ring_take(&producer->continuation_slots, count) + count;
    atomic_store_explicit(&producer->thread->continuation_slots, continuations,
                          memory_order_relaxed);
    ss_ring_publish(producer);
    return true;
}

/* --- live stack ------------------------------------------------------------------------------ */

static inline void ss_ring_publish_live(struct ss_ring_producer *producer, uint32_t depth)
{
    uint64_t changes = ++producer->live_changes;
    uint32_t shown = depth < SS_RING_LIVE_DEPTH ? depth : SS_RING_LIVE_DEPTH;
    /* Publishes the entries below `depth`. Pairs with ss_ring_read_live. */
    atomic_store_explicit(&producer->thread->live, changes << 16 | shown, memory_order_release);
}

/* Returns the depth before. */
static inline uint32_t ss_ring_live_push(struct ss_ring_producer *producer, uint64_t stamp,
                                         uint32_t domain, uint32_t name)
{
    uint32_t depth = producer->depth;
    producer->depth = depth + 1;
    if (__builtin_expect(depth < SS_RING_LIVE_DEPTH, 1)) {
        struct ss_ring_live *entry = &producer->thread->stack[depth];
        /* Release: who sees them sees that the depth of the range before is over as well. */
        atomic_store_explicit(&entry->stamp, stamp, memory_order_release);
        atomic_store_explicit(&entry->name_domain, (uint64_t)name << 8 | (domain & 0xff),
                              memory_order_release);
    }
    ss_ring_publish_live(producer, depth + 1);
    return depth;
}

/* Takes the innermost range of `domain` away. Returns its depth from 1 up, 0 when there is none. */
uint32_t ss_ring_live_pop_domain(struct ss_ring_producer *producer, uint32_t domain);

static inline uint32_t ss_ring_live_pop(struct ss_ring_producer *producer, uint32_t domain)
{
    uint32_t depth = producer->depth;
    if (__builtin_expect(depth == 0 || depth > SS_RING_LIVE_DEPTH, 0)) {
        return ss_ring_live_pop_domain(producer, domain);
    }
    uint64_t top =
        atomic_load_explicit(&producer->thread->stack[depth - 1].name_domain, memory_order_relaxed);
    if (__builtin_expect((top & 0xff) != (domain & 0xff), 0)) {
        return ss_ring_live_pop_domain(producer, domain);
    }
    producer->depth = depth - 1;
    ss_ring_publish_live(producer, depth - 1);
    return depth;
}

#endif
