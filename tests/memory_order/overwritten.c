/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that overwrites its oldest records: no record is read that is half of one and half of
 * another. */
#include "model.h"

/* Of one record, nothing is moved: the checker does not know the function. */
#define memmove(to, from, bytes) assert((to) == (from) || (bytes) == 0)
#include "ring/consumer.c"
#include "ring/producer.c"

enum { BEFORE = MODEL_SLOTS, AFTER = 3 };

static struct model_ring ring;
static struct ss_ring_producer producer;
static struct ss_ring_lane lane = {
    .thread = &ring.thread, .slots = ring.slots, .slots_log2 = MODEL_SLOTS_LOG2};
static struct ss_ring_consumer consumer = {.lanes = {.data = &lane, .count = 1},
                                           .is_overwriting = true};

static void write(uint64_t number)
{
    ss_ring_write(&producer, number, ss_ring_head_word(SS_RING_PUSH, 0, 0, 0, (uint32_t)number));
}

static void *read(void *unused)
{
    struct ss_ring_record record;
    (void)unused;
    size_t count = ss_ring_consumer_read(&consumer, 0, &record, 1, false);
    assert(count == 0 || record.stamp == record.name);
    return NULL;
}

int main(void)
{
    pthread_t reader;
    model_producer(&producer, &ring, SS_RING_OVERWRITE);
    for (uint64_t i = 1; i <= BEFORE; i++) {
        write(i);
    }
    pthread_create(&reader, NULL, read, NULL);
    for (uint64_t i = 1; i <= AFTER; i++) {
        write(BEFORE + i);
    }
    pthread_join(reader, NULL);
    return 0;
}
