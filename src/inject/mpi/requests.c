/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/mpi/requests.h"

#include <stddef.h>

#include "inject/mpi/calls.h"

enum { BUCKETS = 4096, PLACES = 8 };

enum { UNCLAIMED, CLAIMED };

struct request {
    uint64_t id; /* of the event; 0: none, such as of a persistent request that is not started */
    uint32_t next, index; /* among the claims of a call: place + 1, place among its requests */
    _Atomic uint32_t claimed;
    bool is_persistent;
    struct ss_mpi_call call;
};

/* A key is 0 where there is no request; a key publishes the request's other fields. */
static _Atomic uint64_t keys[BUCKETS * PLACES];
static struct request requests[BUCKETS * PLACES];
static _Atomic uint64_t lost;

static size_t bucket_of(uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % BUCKETS * PLACES;
}

uint64_t ss_mpi_lost_requests(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}

/* A place that this thread alone uses, until it stores the key; BUCKETS * PLACES: none is free. */
static size_t take_place(uint64_t key)
{
    size_t first = bucket_of(key);
    for (size_t at = first; at < first + PLACES; at++) {
        uint32_t unclaimed = UNCLAIMED;
        if (atomic_load_explicit(&keys[at], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&requests[at].claimed, &unclaimed, CLAIMED)) {
            if (atomic_load_explicit(&keys[at], memory_order_acquire) == 0) {
                return at;
            }
            atomic_store_explicit(&requests[at].claimed, UNCLAIMED, memory_order_release);
        }
    }
    return (size_t)BUCKETS * PLACES;
}

static void publish(size_t at, uint64_t key)
{
    atomic_store_explicit(&keys[at], key, memory_order_release);
    atomic_store_explicit(&requests[at].claimed, UNCLAIMED, memory_order_release);
}

/* Eight requests of one handle were complete when they began. */
static bool repeats(uint64_t key)
{
    size_t first = bucket_of(key);
    for (size_t at = first; at < first + PLACES; at++) {
        if (atomic_load_explicit(&keys[at], memory_order_relaxed) != key) {
            return false;
        }
    }
    return true;
}

void ss_mpi_put_request(uint64_t key, uint64_t id)
{
    if (id == 0) {
        return;
    }
    size_t at = take_place(key);
    if (at == (size_t)BUCKETS * PLACES) {
        ss_mpi_end(id);
        atomic_fetch_add_explicit(&lost, !repeats(key), memory_order_relaxed);
        return;
    }
    requests[at].id = id;
    requests[at].is_persistent = false;
    publish(at, key);
}

void ss_mpi_put_persistent(uint64_t key, const struct ss_mpi_call *call)
{
    size_t at = take_place(key);
    if (at == (size_t)BUCKETS * PLACES) {
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
        return;
    }
    requests[at].id = 0;
    requests[at].is_persistent = true;
    requests[at].call = *call;
    publish(at, key);
}

/* Place + 1; 0: there is no such request without a claim. */
static uint32_t claim(uint64_t key)
{
    size_t first = bucket_of(key);
    for (size_t at = first; at < first + PLACES; at++) {
        uint32_t unclaimed = UNCLAIMED;
        if (atomic_load_explicit(&keys[at], memory_order_acquire) == key &&
            atomic_compare_exchange_strong(&requests[at].claimed, &unclaimed, CLAIMED)) {
            if (atomic_load_explicit(&keys[at], memory_order_acquire) == key) {
                return (uint32_t)at + 1;
            }
            atomic_store_explicit(&requests[at].claimed, UNCLAIMED, memory_order_release);
        }
    }
    return 0;
}

/* The request is complete: a persistent one remains. */
static void end(uint32_t place)
{
    struct request *request = &requests[place - 1];
    uint64_t id = request->id;
    request->id = 0;
    if (!request->is_persistent) {
        atomic_store_explicit(&keys[place - 1], 0, memory_order_release);
    }
    atomic_store_explicit(&request->claimed, UNCLAIMED, memory_order_release);
    ss_mpi_end(id);
}

void ss_mpi_start_request(uint64_t key)
{
    uint32_t place = claim(key);
    if (place != 0) {
        struct request *request = &requests[place - 1];
        if (request->is_persistent) {
            request->id = ss_mpi_begin(&request->call);
        }
        atomic_store_explicit(&request->claimed, UNCLAIMED, memory_order_release);
    }
}

void ss_mpi_free_request(uint64_t key)
{
    uint32_t place = claim(key);
    if (place != 0) {
        requests[place - 1].is_persistent = false;
        end(place);
    }
}

void ss_mpi_claim(struct ss_mpi_claims *claims, uint64_t key, uint32_t index)
{
    uint32_t place = claim(key);
    if (place == 0) {
        return;
    }
    requests[place - 1].next = 0;
    requests[place - 1].index = index;
    if (claims->last != 0) {
        requests[claims->last - 1].next = place;
    } else {
        claims->first = place;
    }
    claims->last = place;
}

void ss_mpi_complete(struct ss_mpi_claims *claims, int index)
{
    uint32_t before = 0;
    for (uint32_t place = claims->first, next; place != 0; place = next) {
        next = requests[place - 1].next;
        if (index != SS_MPI_ALL && requests[place - 1].index != (uint32_t)index) {
            before = place;
            continue;
        }
        if (before != 0) {
            requests[before - 1].next = next;
        } else {
            claims->first = next;
        }
        claims->last = claims->last == place ? before : claims->last;
        end(place);
        if (index != SS_MPI_ALL) {
            return;
        }
    }
}

void ss_mpi_release(struct ss_mpi_claims *claims)
{
    for (uint32_t place = claims->first, next; place != 0; place = next) {
        next = requests[place - 1].next;
        atomic_store_explicit(&requests[place - 1].claimed, UNCLAIMED, memory_order_release);
    }
    *claims = (struct ss_mpi_claims){0, 0};
}
