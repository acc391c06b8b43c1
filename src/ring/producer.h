/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The producer: writes records into one thread's ring in about ten instructions, without lock, call
 * or allocation.
 *
 * Owned by one thread and the signal handlers that run on it. A handler may interrupt a write at
 * any instruction: one instruction reserves slots (fetch and add, which no signal splits), and the
 * lap identifies slots that are reserved but not written yet (layout.h). A producer of zeros has no
 * room: memory that is wiped on fork is in this state.
 *
 * Also the program's side of the protocols of the header: owners of rings, windows, facts. Their
 * orders hold on every processor: tests/memory_order/ checks them. SS_RING_PORTABLE, for that
 * check: without instructions of one processor.
 */
#ifndef SS_RING_PRODUCER_H
#define SS_RING_PRODUCER_H

#include <stdbool.h>

#include "ring/layout.h"

struct ss_ring_producer {
    uint64_t head;  /* slots reserved */
    uint64_t limit; /* head may advance to here before the tail is reloaded */
    uint64_t mask;
    struct ss_ring_slot *slots;
    struct ss_ring_thread *thread;
    uint64_t continuation_slots, dropped;
    uint32_t slots_log2;
    uint32_t depth; /* open ranges, including those beyond the live stack */
    uint64_t live_changes;
    uint64_t unmatched;
    bool overwrite;
};

/* Adds `amount` and returns the old value in one instruction, so that a signal handler of the
 * thread runs before or after it. Not atomic between threads: only this thread writes it. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the instruction writes there */
static inline uint64_t ss_ring_advance(uint64_t *counter, uint64_t amount)
{
#if defined(__x86_64__) && !defined(SS_RING_PORTABLE)
    __asm__ volatile("xaddq %0, %1" : "+r"(amount), "+m"(*counter) : : "cc");
    return amount;
#else
    return __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
#endif
}

/* The slots follow the page of `thread`. Continues where the previous owner of the ring ended. */
void ss_ring_producer_init(struct ss_ring_producer *producer, struct ss_ring_thread *thread,
                           uint32_t slots_log2, enum ss_ring_mode mode);
/* Slow path of ss_ring_reserve: `slots` slots at `at` exceed the limit. Returns them, reloads the
 * tail and reserves again. UINT64_MAX: the record is dropped and counted. */
uint64_t ss_ring_reserve_again(struct ss_ring_producer *producer, uint64_t at, uint32_t slots);
/* Reloads the tail. false: less than the reserved eighth is free. */
bool ss_ring_reload_tail(struct ss_ring_producer *producer);
/* Counts a record as dropped. */
void ss_ring_drop(struct ss_ring_producer *producer);
/* A new recording begins: no range is open. */
void ss_ring_producer_begin(struct ss_ring_producer *producer, enum ss_ring_mode mode);

/* Compare and exchange in one instruction: `from` becomes `to`. false: a signal handler of this
 * thread has changed the counter. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the instruction writes there */
static inline bool ss_ring_exchange(uint64_t *counter, uint64_t from, uint64_t to)
{
#if defined(__x86_64__) && !defined(SS_RING_PORTABLE)
    bool done;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@cce"(done), "+m"(*counter), "+a"(from)
                     : "r"(to)
                     : "cc");
    return done;
#else
    return __atomic_compare_exchange_n(counter, &from, to, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
#endif
}

/* Publishes `own` to the recorder. A signal handler between load and store publishes a newer value,
 * which the store overwrites: the loop repeats, or the handler's last records would stay invisible
 * until this thread writes again. */
static inline void ss_ring_publish_counter(_Atomic uint64_t *shown, const uint64_t *own)
{
    uint64_t value;
    do {
        value = *(const volatile uint64_t *)own;
        atomic_store_explicit(shown, value, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
    } while (__builtin_expect(*(const volatile uint64_t *)own != value, 0));
}

/* Reserves `slots` slots. Returns the first, or UINT64_MAX when the record is dropped. */
static inline uint64_t ss_ring_reserve(struct ss_ring_producer *producer, uint32_t slots)
{
    uint64_t at = ss_ring_advance(&producer->head, slots);
    if (__builtin_expect(at + slots <= producer->limit, 1)) {
        return at;
    }
    return ss_ring_reserve_again(producer, at, slots);
}

/* An eighth of the ring is reserved for records about the whole program: steps, phases, the user's
 * own ranges. Writers of frequent records check it first. */
static inline uint64_t ss_ring_spare(const struct ss_ring_producer *producer)
{
    return (producer->mask + 1) >> 3;
}

/* Checks the reserve; false: the record is dropped and counted. */
static inline bool ss_ring_leaves_spare(struct ss_ring_producer *producer)
{
    uint64_t head = *(const volatile uint64_t *)&producer->head;
    if (__builtin_expect(head + ss_ring_spare(producer) <= producer->limit, 1) ||
        ss_ring_reload_tail(producer)) {
        return true;
    }
    ss_ring_drop(producer);
    return false;
}

static inline void ss_ring_put(struct ss_ring_producer *producer, uint64_t at, uint64_t word0,
                               uint64_t word1)
{
    struct ss_ring_slot *slot = &producer->slots[at & producer->mask];
    /* Both pair with the acquires in load_slot (consumer.c). Who finds this word has the heads that
     * were published before it, and so knows that the slot's old record is gone. */
    atomic_store_explicit(&slot->word0, word0, memory_order_release);
    /* With this lap the slot is complete. */
    atomic_store_explicit(&slot->word1, word1 | ss_ring_lap_bits(at, producer->slots_log2),
                          memory_order_release);
}

static inline void ss_ring_publish(struct ss_ring_producer *producer)
{
    ss_ring_publish_counter(&producer->thread->head, &producer->head);
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

/* `word` contains the number of continuations, which is `count`. */
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
    ss_ring_advance(&producer->continuation_slots, count);
    ss_ring_publish_counter(&producer->thread->continuation_slots, &producer->continuation_slots);
    ss_ring_publish(producer);
    return true;
}

/* --- owners of rings -------------------------------------------------------------------------- */

/* Takes a ring that the recorder has drained. false: it is not free. Pairs with the release in
 * ss_ring_consumer_release. */
static inline bool ss_ring_claim(struct ss_ring_thread *thread)
{
    uint32_t wanted = SS_RING_FREE;
    return atomic_compare_exchange_strong_explicit(&thread->state, &wanted, SS_RING_CLAIMED,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Of a ring that is new or claimed. */
static inline void ss_ring_own(struct ss_ring_thread *thread, int32_t tid)
{
    atomic_store_explicit(&thread->phase, 0, memory_order_relaxed);
    atomic_store_explicit(&thread->tid, tid, memory_order_relaxed);
    atomic_fetch_add_explicit(&thread->owner, 1, memory_order_relaxed);
    /* Pairs with the acquire in ss_ring_consumer_refresh. */
    atomic_store_explicit(&thread->state, SS_RING_OPEN, memory_order_release);
}

/* The thread has ended. */
static inline void ss_ring_disown(struct ss_ring_thread *thread)
{
    atomic_store_explicit(&thread->state, SS_RING_CLOSED, memory_order_release);
}

/* --- state of the process ---------------------------------------------------------------------
 * A new step: ss_ring_leave_window, ss_ring_set_step, ss_ring_enter_window, with the window of that
 * step (0: none). Pair with ss_ring_read_step: no reader finds a step in the window of another. */

static inline void ss_ring_leave_window(struct ss_ring_header *header, uint32_t next)
{
    if (atomic_load_explicit(&header->window, memory_order_relaxed) != next) {
        atomic_store_explicit(&header->window, 0, memory_order_relaxed);
    }
}

static inline void ss_ring_set_step(struct ss_ring_header *header, int64_t step)
{
    atomic_store_explicit(&header->step, step, memory_order_release);
}

static inline void ss_ring_enter_window(struct ss_ring_header *header, uint32_t window)
{
    atomic_store_explicit(&header->window, window, memory_order_release);
}

/* Pairs with ss_ring_read_fact. */
static inline void ss_ring_write_fact(struct ss_ring_fact *fact, uint32_t key,
                                      enum ss_ring_value type, uint64_t value)
{
    uint32_t changes = atomic_load_explicit(&fact->type, memory_order_relaxed) >> 8;
    atomic_store_explicit(&fact->type, changes << 8 | SS_RING_VALUE_NONE, memory_order_relaxed);
    atomic_store_explicit(&fact->value, value, memory_order_release);
    atomic_store_explicit(&fact->type, (changes + 1) << 8 | type, memory_order_release);
    atomic_store_explicit(&fact->key, key, memory_order_release);
}

/* --- live stack ------------------------------------------------------------------------------ */

static inline void ss_ring_publish_live(struct ss_ring_producer *producer, uint32_t depth)
{
    uint64_t changes = ++producer->live_changes;
    uint32_t shown = depth < SS_RING_LIVE_DEPTH ? depth : SS_RING_LIVE_DEPTH;
    /* Publishes the entries below `depth`. Pairs with ss_ring_read_live. */
    atomic_store_explicit(&producer->thread->live, changes << 16 | shown, memory_order_release);
}

/* Returns the depth before the push. */
static inline uint32_t ss_ring_live_push(struct ss_ring_producer *producer, uint64_t stamp,
                                         uint32_t domain, uint32_t name)
{
    uint32_t depth = producer->depth;
    producer->depth = depth + 1;
    if (__builtin_expect(depth < SS_RING_LIVE_DEPTH, 1)) {
        struct ss_ring_live *entry = &producer->thread->stack[depth];
        /* Release: a reader of the new entry also sees that `live` has changed since the previous
         * range at this depth. */
        atomic_store_explicit(&entry->stamp, stamp, memory_order_release);
        atomic_store_explicit(&entry->name_domain, (uint64_t)name << 8 | (domain & 0xff),
                              memory_order_release);
    }
    ss_ring_publish_live(producer, depth + 1);
    return depth;
}

/* Removes the innermost range of `domain`. Returns its depth from 1 up; 0: there is none. */
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
