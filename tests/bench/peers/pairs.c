/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one pair of begin and end costs a program, in ns, the empty loop taken off: the median of
 * many short rounds with a pause behind each, in which the reader of the events can catch up.
 * bench_peers.py builds it once for each system that it finds, with -DPEER_….
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(PEER_STEPSCOPE)
#include <stepscope/stepscope.h>
#define PAIR() STEPSCOPE_RANGE("pair")
#elif defined(PEER_LTTNG)
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "pairs_lttng.h"
#define PAIR()                                                                                     \
    do {                                                                                           \
        lttng_ust_tracepoint(stepscope_bench, begin, 1);                                           \
        lttng_ust_tracepoint(stepscope_bench, end);                                                \
    } while (0)
#elif defined(PEER_UFTRACE) /* built with -pg: each call is entry and exit */
static __attribute__((noinline)) void traced(void)
{
    __asm__ volatile("" : : : "memory");
}
#define PAIR() traced()
#elif defined(PEER_TRACY)
#include <tracy/TracyC.h>
#define PAIR()                                                                                     \
    do {                                                                                           \
        TracyCZoneN(zone, "pair", 1);                                                              \
        TracyCZoneEnd(zone);                                                                       \
    } while (0)
#else
#error "one of PEER_STEPSCOPE, PEER_LTTNG, PEER_UFTRACE, PEER_TRACY"
#endif

enum { LOOPS = 10000, ROUNDS = 61 };

#define NOT_TRACED __attribute__((no_instrument_function))

NOT_TRACED static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

NOT_TRACED static double empty_loop(void)
{
    double begin = now_ns();
    for (int i = 0; i < LOOPS; i++) {
        __asm__ volatile("" : : : "memory");
    }
    return (now_ns() - begin) / LOOPS;
}

NOT_TRACED static double pairs_loop(void)
{
    double begin = now_ns();
    for (int i = 0; i < LOOPS; i++) {
        PAIR();
        __asm__ volatile("" : : : "memory");
    }
    return (now_ns() - begin) / LOOPS;
}

NOT_TRACED static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

NOT_TRACED int main(void)
{
    static double rounds[ROUNDS];
    struct timespec pause = {0, 10000000};
    pairs_loop(); /* initialization at the first use */
    for (int i = 0; i < ROUNDS; i++) {
        nanosleep(&pause, NULL);
        double empty = empty_loop();
        rounds[i] = pairs_loop() - empty;
    }
    qsort(rounds, ROUNDS, sizeof *rounds, compare);
    printf("%.2f\n", rounds[ROUNDS / 2]);
    return 0;
}
