/* SPDX-License-Identifier: Apache-2.0 */
/* A window on demand: the program takes the first and last step of one request, and its answer is
 * to that request, also when the recorder reuses the entry. */
#include "model.h"

#include "annot/demands.c"
#include "ring/consumer.c"
#include "ring/producer.c"

static struct ss_ring_header header;
static struct ss_demands demands = {.header = &header};

static void *record(void *unused)
{
    (void)unused;
    ss_ring_post_demand(&header, 0, 1, 10, 11);
    if (atomic_load_explicit(&header.demand_answers[0], memory_order_acquire) ==
        ss_ring_demand_answer(1, SS_RING_DEMAND_ARMED)) {
        ss_ring_post_demand(&header, 0, 2, 20, 22);
    }
    return NULL;
}

int main(void)
{
    pthread_t recorder;
    pthread_create(&recorder, NULL, record, NULL);
    for (int64_t next = 1; next <= 3; next++) {
        ss_demands_read(&demands, next, false);
        uint32_t number = demands.entries[0].number;
        assert(number == 0 || demands.entries[0].is_armed);
        assert(demands.entries[0].first == 10 * (int64_t)number);
        assert(demands.entries[0].last == 11 * (int64_t)number);
    }
    pthread_join(recorder, NULL);
    return 0;
}
