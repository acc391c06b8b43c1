/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/demands.h"

#include <stdatomic.h>

static enum ss_ring_demand_answer answer_to(int64_t first, int64_t last, int64_t next, bool refuses)
{
    bool is_valid = first >= 0 && last >= first && last < SS_SCHEDULE_MAX;
    return refuses || !is_valid ? SS_RING_DEMAND_REFUSED
           : first < next       ? SS_RING_DEMAND_LATE
                                : SS_RING_DEMAND_ARMED;
}

void ss_demands_read(struct ss_demands *demands, int64_t next, bool refuses)
{
    struct ss_ring_header *header = demands->header;
    uint32_t count =
        header == NULL ? 0 : atomic_load_explicit(&header->demand_count, memory_order_acquire);
    if (count == demands->count) {
        return;
    }
    demands->count = count;
    for (int i = 0; i < SS_RING_DEMANDS; i++) {
        struct ss_ring_demand *demand = &header->demands[i];
        /* Pairs with the release in ss_annot_post_demand (source/annot.c). */
        uint32_t number = atomic_load_explicit(&demand->number, memory_order_acquire);
        if (number == demands->entries[i].number) {
            continue;
        }
        int64_t first = atomic_load_explicit(&demand->first, memory_order_relaxed);
        int64_t last = atomic_load_explicit(&demand->last, memory_order_relaxed);
        enum ss_ring_demand_answer answer = answer_to(first, last, next, refuses);
        demands->entries[i].number = number;
        demands->entries[i].is_armed = answer == SS_RING_DEMAND_ARMED;
        demands->entries[i].first = first;
        demands->entries[i].last = last;
        /* Pairs with the acquire in read_answer (record/annotations/annotation_demands.c). */
        atomic_store_explicit(&header->demand_answers[i], ss_ring_demand_answer(number, answer),
                              memory_order_release);
    }
}

void ss_demands_preset(struct ss_demands *demands, int64_t first, int64_t last)
{
    demands->entries[0].is_armed = true;
    demands->entries[0].first = first;
    demands->entries[0].last = last;
}

static bool asks_for(const struct ss_demands *demands, int64_t step)
{
    for (int i = 0; i < SS_RING_DEMANDS; i++) {
        if (demands->entries[i].is_armed && demands->entries[i].first <= step &&
            step <= demands->entries[i].last) {
            return true;
        }
    }
    return false;
}

enum ss_schedule_action ss_demands_action(const struct ss_demands *demands, int64_t step)
{
    return !asks_for(demands, step)      ? SS_SCHEDULE_SKIP
           : asks_for(demands, step + 1) ? SS_SCHEDULE_RECORD
                                         : SS_SCHEDULE_RECORD_AND_SAVE;
}
