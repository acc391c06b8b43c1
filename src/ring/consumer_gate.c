/* SPDX-License-Identifier: Apache-2.0 */
/* The gate that the program tests, and what the recorder asks of it. */
#include "ring/consumer.h"
#include "ring/wait.h"

void ss_ring_consumer_start(struct ss_ring_consumer *consumer,
                            const struct ss_ring_request *request)
{
    struct ss_ring_header *header = consumer->header;
    ss_ring_consumer_refresh(consumer);
    for (size_t i = 0; i < consumer->lanes.count; i++) {
        struct ss_ring_lane *lane = &consumer->lanes.data[i];
        struct ss_ring_thread *thread = lane->thread;
        if (thread == NULL) {
            continue;
        }
        uint64_t head = atomic_load_explicit(&thread->head, memory_order_acquire);
        lane->tail = head;
        lane->base_records =
            head - atomic_load_explicit(&thread->continuation_slots, memory_order_relaxed);
        lane->base_dropped = atomic_load_explicit(&thread->dropped, memory_order_relaxed);
        lane->base_unmatched = atomic_load_explicit(&thread->unmatched, memory_order_relaxed);
        atomic_store_explicit(&thread->tail, head, memory_order_release);
    }
    consumer->is_overwriting = request->mode == SS_RING_OVERWRITE;
    atomic_store_explicit(&header->mode, request->mode, memory_order_relaxed);
    atomic_store_explicit(&header->slots_log2, request->slots_log2, memory_order_relaxed);
    atomic_store_explicit(&header->recorder_pid, request->recorder_pid, memory_order_relaxed);
    atomic_store_explicit(&header->room_bytes, request->room_bytes, memory_order_relaxed);
    atomic_store_explicit(&header->device_level, request->device_level, memory_order_relaxed);
    atomic_store_explicit(&header->capture, request->capture, memory_order_relaxed);
    atomic_store_explicit(&header->is_ending, 0, memory_order_relaxed);
    atomic_store_explicit(&header->heartbeat_ns, request->now_ns, memory_order_relaxed);
    uint32_t gate = atomic_load_explicit(&header->gate, memory_order_relaxed);
    gate = (gate & ~(uint32_t)SS_RING_GATE_ALL) + SS_RING_GATE_RECORDING;
    /* Publishes the request above to the program's slow path. */
    atomic_store_explicit(&header->gate, gate | request->gate, memory_order_release);
    ss_ring_wake(&header->gate);
}

/* Pairs with the acquire of annot/attach.c. */
bool ss_ring_consumer_is_ending(struct ss_ring_consumer *consumer)
{
    struct ss_ring_header *header = consumer->header;
    if (atomic_exchange_explicit(&header->is_ending, 1, memory_order_release) == 0) {
        ss_ring_wake(&header->gate);
    }
    return atomic_load_explicit(&header->arms_devices, memory_order_acquire) == 2;
}

void ss_ring_consumer_heartbeat(struct ss_ring_consumer *consumer, uint64_t now_ns)
{
    atomic_store_explicit(&consumer->header->heartbeat_ns, now_ns, memory_order_relaxed);
}

void ss_ring_consumer_stop(struct ss_ring_consumer *consumer)
{
    atomic_fetch_and_explicit(&consumer->header->gate, ~(uint32_t)SS_RING_GATE_ALL,
                              memory_order_release);
    ss_ring_wake(&consumer->header->gate);
}
