/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/packer.h"

#include "base/alloc.h"
#include "base/thread.h"

enum { UNITS_PER_THREAD = 2, MOST_SLOTS = SS_PACKER_MOST_THREADS * UNITS_PER_THREAD };

struct slot {
    struct ss_wire_buffer plain, stored;
    struct ss_unit_facts facts;
    struct ss_unit_seal seal;
    bool is_ready;
};

struct ss_packer {
    unsigned thread_count;
    pthread_t threads[SS_PACKER_MOST_THREADS];
    size_t slot_count;
    size_t put, taken; /* of the owner */
    /* Under the lock: */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t offered, begun; /* units that threads may begin, have begun */
    bool stops;
    struct slot slots[MOST_SLOTS]; /* unit i is in slot i % slot_count */
};

/* The next unit to frame; NULL: the end. */
static struct slot *next_slot(struct ss_packer *packer)
{
    pthread_mutex_lock(&packer->lock);
    while (!packer->stops && packer->begun == packer->offered) {
        pthread_cond_wait(&packer->changed, &packer->lock);
    }
    struct slot *slot = packer->stops ? NULL : &packer->slots[packer->begun++ % packer->slot_count];
    pthread_mutex_unlock(&packer->lock);
    return slot;
}

static void *run(void *argument)
{
    struct ss_packer *packer = argument;
    struct ss_deflater *deflater = ss_deflater_new();
    for (struct slot *slot; (slot = next_slot(packer)) != NULL;) {
        ss_unit_pack(&slot->plain, &slot->facts, &slot->seal, deflater, &slot->stored);
        pthread_mutex_lock(&packer->lock);
        slot->is_ready = true;
        pthread_cond_broadcast(&packer->changed);
        pthread_mutex_unlock(&packer->lock);
    }
    ss_deflater_free(deflater);
    return NULL;
}

struct ss_packer *ss_packer_new(unsigned threads)
{
    struct ss_packer *packer = ss_alloc_zero(1, sizeof *packer);
    unsigned most = threads < SS_PACKER_MOST_THREADS ? threads : SS_PACKER_MOST_THREADS;
    packer->slot_count = (size_t)most * UNITS_PER_THREAD;
    pthread_mutex_init(&packer->lock, NULL);
    pthread_cond_init(&packer->changed, NULL);
    while (packer->thread_count < most &&
           ss_thread_start("stepscope-pack", run, packer, &packer->threads[packer->thread_count])) {
        packer->thread_count++;
    }
    if (packer->thread_count == 0) {
        ss_packer_free(packer);
        return NULL;
    }
    return packer;
}

void ss_packer_free(struct ss_packer *packer)
{
    if (packer == NULL) {
        return;
    }
    pthread_mutex_lock(&packer->lock);
    packer->stops = true;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
    for (unsigned i = 0; i < packer->thread_count; i++) {
        pthread_join(packer->threads[i], NULL);
    }
    for (size_t i = 0; i < packer->slot_count; i++) {
        ss_wire_fini(&packer->slots[i].plain);
        ss_wire_fini(&packer->slots[i].stored);
    }
    pthread_cond_destroy(&packer->changed);
    pthread_mutex_destroy(&packer->lock);
    ss_free(packer);
}

bool ss_packer_has_any(const struct ss_packer *packer)
{
    return packer->put > packer->taken;
}

bool ss_packer_is_full(const struct ss_packer *packer)
{
    return packer->put - packer->taken == packer->slot_count;
}

void ss_packer_put(struct ss_packer *packer, struct ss_unit *unit, const struct ss_unit_seal *seal)
{
    struct slot *slot = &packer->slots[packer->put++ % packer->slot_count];
    struct ss_wire_buffer spare = slot->plain;
    slot->plain = unit->plain;
    slot->facts = ss_unit_facts_of(unit);
    slot->seal = *seal;
    slot->is_ready = false;
    unit->plain = spare;
    unit->plain.length = 0;
    pthread_mutex_lock(&packer->lock);
    packer->offered++;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
}

const struct ss_wire_buffer *ss_packer_take(struct ss_packer *packer, bool waits)
{
    if (packer->taken == packer->put) {
        return NULL;
    }
    struct slot *slot = &packer->slots[packer->taken % packer->slot_count];
    pthread_mutex_lock(&packer->lock);
    while (waits && !slot->is_ready) {
        pthread_cond_wait(&packer->changed, &packer->lock);
    }
    bool is_ready = slot->is_ready;
    pthread_mutex_unlock(&packer->lock);
    packer->taken += is_ready;
    return is_ready ? &slot->stored : NULL;
}
