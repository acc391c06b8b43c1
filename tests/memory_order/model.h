/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that a model checker runs in every order that the memory model of C11 permits, which
 * includes those of aarch64. Each is a few steps of one protocol between a program and its
 * recorder, with the code of src/ring/ and src/annot/ itself. They are no tests by themselves:
 * `check` runs them.
 */
#ifndef SS_MEMORY_ORDER_MODEL_H
#define SS_MEMORY_ORDER_MODEL_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* There are no signal handlers here, and the checker would take this for a fence between threads.
 */
#undef atomic_signal_fence
#define atomic_signal_fence(order) ((void)(order))
#define SS_RING_PORTABLE /* no instructions of one processor */
#include "ring/producer.h"

enum { MODEL_SLOTS_LOG2 = 3, MODEL_SLOTS = 1 << MODEL_SLOTS_LOG2 };

/* One thread's ring, as ss_ring_producer_init expects it: the slots follow the page of control. */
struct model_ring {
    union {
        struct ss_ring_thread thread;
        char page[SS_RING_PAGE_BYTES];
    };
    struct ss_ring_slot slots[MODEL_SLOTS];
};

/* As ss_ring_producer_init of a new ring, without a copy of the struct, which the checker cannot
 * follow. */
static void model_producer(struct ss_ring_producer *producer, struct model_ring *ring,
                           enum ss_ring_mode mode)
{
    producer->head = atomic_load_explicit(&ring->thread.head, memory_order_relaxed);
    producer->mask = MODEL_SLOTS - 1;
    producer->slots = ring->slots;
    producer->thread = &ring->thread;
    producer->continuation_slots = producer->dropped = producer->unmatched = 0;
    producer->live_changes = 0;
    producer->slots_log2 = MODEL_SLOTS_LOG2;
    ss_ring_producer_begin(producer, mode);
}

#endif
