/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's clock: CLOCK_REALTIME, or a callback of its own in any unit. Its rate against the
 * simulation's clock is measured from when it was registered.
 */
#include "cupti_api.h"
#include "cupti_inside.h"

#include <time.h>

struct sample {
    uint64_t ns, ticks;
};

static CUpti_TimestampCallbackFunc callback;
static struct sample first, last;
static double rate = 1; /* ticks per ns */
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The closest of a few readings: a thread may be interrupted within one. */
static struct sample take_sample(void)
{
    struct sample best = {0, 0};
    uint64_t shortest_ns = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        uint64_t before = sim_now_ns();
        uint64_t ticks = callback != NULL ? callback() : realtime_ns();
        uint64_t took_ns = sim_now_ns() - before;
        if (took_ns < shortest_ns) {
            shortest_ns = took_ns;
            best = (struct sample){before + took_ns / 2, ticks};
        }
    }
    return best;
}

/* With the lock. */
static void measure(void)
{
    if (first.ns == 0) {
        first = last = take_sample();
    }
    /* Renewed while the distance to the last sample is not small against what it was measured over.
     */
    if (callback != NULL && sim_now_ns() - last.ns >= (last.ns - first.ns) / 4) {
        struct sample now = take_sample();
        if (now.ns > first.ns) {
            last = now;
            rate = (double)(last.ticks - first.ticks) / (double)(last.ns - first.ns);
        }
    }
}

uint64_t cupti_time(uint64_t ns)
{
    if (ns == 0) {
        return 0;
    }
    pthread_mutex_lock(&clock_lock);
    measure();
    int64_t distance = (int64_t)(ns - last.ns);
    uint64_t ticks = last.ticks + (uint64_t)(int64_t)(callback != NULL ? (double)distance * rate
                                                                       : (double)distance);
    pthread_mutex_unlock(&clock_lock);
    return ticks;
}

CUptiResult impl_cuptiGetTimestamp(uint64_t *timestamp)
{
    if (timestamp == NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *timestamp = cupti_time(sim_now_ns());
    return CUPTI_SUCCESS;
}

CUptiResult impl_cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
    if (sim_has_fault(SIM_REFUSED_CLOCK)) {
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    for (unsigned kind = 0; kind < MOST_KINDS; kind++) {
        if (cupti.is_enabled[kind]) {
            return CUPTI_ERROR_INVALID_OPERATION; /* before any kind, says its documentation */
        }
    }
    pthread_mutex_lock(&clock_lock);
    callback = funcTimestamp;
    rate = 1;
    first = last = (struct sample){0, 0};
    measure();
    pthread_mutex_unlock(&clock_lock);
    return CUPTI_SUCCESS;
}
