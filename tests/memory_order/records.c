/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that drops: what is read is what was written, in its order, and nothing is overwritten
 * before it was read. */
#include "model.h"

#include "ring/consumer.c"
#include "ring/producer.c"

enum { BEFORE = MODEL_SLOTS - 1, AFTER = 2 };

static struct model_ring ring;
static struct ss_ring_producer producer;
static struct ss_ring_lane lane = {
    .thread = &ring.thread, .slots = ring.slots, .slots_log2 = MODEL_SLOTS_LOG2};
static struct ss_ring_consumer consumer = {.lanes = {.data = &lane, .count = 1}};
static uint64_t next = 1;

static bool write(uint64_t number)
{
    return ss_ring_write(&producer, number,
                         ss_ring_head_word(SS_RING_PUSH, 0, 0, 0, (uint32_t)number));
}

static void read_all(void)
{
    struct ss_ring_record records[BEFORE + AFTER];
    size_t count = ss_ring_consumer_read(&consumer, 0, records, BEFORE + AFTER, false);
    for (size_t i = 0; i < count; i++) {
        assert(records[i].stamp == records[i].name);
        assert(records[i].stamp == next);
        next++;
    }
}

static void *read(void *unused)
{
    (void)unused;
    read_all();
    return NULL;
}

int main(void)
{
    pthread_t reader;
    uint64_t written = BEFORE;
    model_producer(&producer, &ring, SS_RING_DROP_NEWEST);
    for (uint64_t i = 1; i <= BEFORE; i++) {
        bool fits = write(i);
        assert(fits);
    }
    pthread_create(&reader, NULL, read, NULL);
    for (uint64_t i = 0; i < AFTER; i++) {
        written += write(written + 1);
    }
    pthread_join(reader, NULL);
    read_all();
    assert(next == written + 1);
    assert(lane.counts.damaged == 0 && lane.torn == 0);
    return 0;
}
