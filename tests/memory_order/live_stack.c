/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of open ranges, as a sampler reads it: each copy is one that the program had. */
#include "model.h"

#include "ring/consumer.c"
#include "ring/producer.c"

enum { OUTER = 1, INNER, OTHER, DOMAIN_OF_INNER = 5 };

static struct model_ring ring;
static struct ss_ring_producer producer;

static void *read(void *unused)
{
    struct ss_ring_live_copy copy;
    (void)unused;
    if (!ss_ring_read_live(&ring.thread, &copy)) {
        return NULL;
    }
    /* nothing; OUTER; OUTER, INNER; INNER alone, moved down; INNER, OTHER */
    assert(copy.depth <= 2);
    for (uint32_t i = 0; i < copy.depth; i++) {
        assert(copy.range[i].stamp == copy.range[i].name);
        assert(copy.range[i].domain == (copy.range[i].name == INNER ? DOMAIN_OF_INNER : 0));
    }
    if (copy.depth == 2) {
        assert((copy.range[0].name == OUTER && copy.range[1].name == INNER) ||
               (copy.range[0].name == INNER && copy.range[1].name == OTHER));
    } else if (copy.depth == 1) {
        assert(copy.range[0].name == OUTER || copy.range[0].name == INNER);
    }
    uint32_t name, domain;
    if (ss_ring_read_innermost(&ring.thread, &name, &domain)) {
        assert(name <= OTHER && domain == (name == INNER ? DOMAIN_OF_INNER : 0));
    }
    return NULL;
}

int main(void)
{
    pthread_t reader;
    model_producer(&producer, &ring, SS_RING_DROP_NEWEST);
    pthread_create(&reader, NULL, read, NULL);
    ss_ring_live_push(&producer, OUTER, 0, OUTER);
    ss_ring_live_push(&producer, INNER, DOMAIN_OF_INNER, INNER);
    ss_ring_live_pop_domain(&producer, 0); /* INNER moves down */
    ss_ring_live_push(&producer, OTHER, 0, OTHER);
    pthread_join(reader, NULL);
    return 0;
}
