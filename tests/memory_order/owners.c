/* SPDX-License-Identifier: Apache-2.0 */
/* A ring whose thread has ended goes to the next thread: what is read of it while it is not free
 * belongs to the thread that the recorder knows. */
#include "model.h"

#include "ring/consumer.c"
#include "ring/producer.c"

enum { FIRST_TID = 11, SECOND_TID = 12 };

static struct model_ring ring;
static struct ss_ring_header header;
static struct ss_ring_lane lane = {
    .thread = &ring.thread, .slots = ring.slots, .slots_log2 = MODEL_SLOTS_LOG2};
static struct ss_ring_consumer consumer = {.header = &header, .lanes = {.data = &lane, .count = 1}};

static void write_as(uint32_t tid)
{
    struct ss_ring_producer producer;
    model_producer(&producer, &ring, SS_RING_DROP_NEWEST);
    ss_ring_write(&producer, tid, ss_ring_head_word(SS_RING_PUSH, 0, 0, 0, tid));
}

/* The recorder: as drain (source/annot.c) does. */
static void drain(void)
{
    struct ss_ring_record records[2];
    ss_ring_consumer_refresh(&consumer);
    if (!ss_ring_lane_is_owned(&lane)) {
        return;
    }
    bool is_closed = lane.state == SS_RING_CLOSED;
    size_t count = ss_ring_consumer_read(&consumer, 0, records, 2, is_closed);
    for (size_t i = 0; i < count; i++) {
        assert(records[i].name == (uint32_t)lane.tid);
    }
    if (is_closed) {
        ss_ring_consumer_release(&consumer, 0);
    }
}

static void *record(void *unused)
{
    (void)unused;
    drain();
    drain();
    return NULL;
}

int main(void)
{
    pthread_t recorder;
    ss_ring_own(&ring.thread, FIRST_TID);
    write_as(FIRST_TID);
    ss_ring_disown(&ring.thread);
    pthread_create(&recorder, NULL, record, NULL);
    if (ss_ring_claim(&ring.thread)) {
        ss_ring_own(&ring.thread, SECOND_TID);
        write_as(SECOND_TID);
    }
    pthread_join(recorder, NULL);
    return 0;
}
