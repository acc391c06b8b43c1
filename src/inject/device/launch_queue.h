/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches on their way from the program's threads to the writer: a queue of each thread, which one
 * thread fills and the writer empties. Filling takes no lock and makes no system call, except for
 * the first launch of a thread. A full queue counts the launch as lost.
 */
#ifndef SS_INJECT_DEVICE_LAUNCH_QUEUE_H
#define SS_INJECT_DEVICE_LAUNCH_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/device/launch_stack.h"

enum {
    SS_LAUNCH_QUEUE = 32768 /* launches of a thread that wait for the writer; a power of two */
};

struct ss_launch {
    uint64_t begin_ns, end_ns;
    uint32_t thread, correlation;
    uint32_t stack; /* of texts.h */
    uint32_t function;
    uint8_t domain;   /* of the interface: SS_CUPTI_DOMAIN_…, SS_ROCM_… */
    bool is_captured; /* it made a node of a graph instead */
    bool is_kernel, is_wait;
    uint32_t outer; /* of a driver's call within a runtime's call: the latter's correlation */
};

/* Of one thread. The first part is the queue's; the rest belongs to the interface's callback. */
struct ss_launcher {
    struct ss_launcher *next;
    _Atomic int state;
    _Atomic uint32_t head, tail; /* head: written by the thread, tail: by the writer */
    uint32_t thread;
    uint32_t epoch;                /* when `last` was set */
    uint32_t last;                 /* correlation of the last call */
    uint32_t kernels, last_kernel; /* how many it has launched; the correlation of the last one */

    struct ss_launch_stacks *stacks;
    uint32_t outer, stack; /* the open call of the runtime, 0: none; the stack of the open calls */
    bool is_captured;      /* the open call made a node of a graph */
    uint64_t begin_ns[2];  /* of the outer and the nested call */
    struct ss_launch queue[SS_LAUNCH_QUEUE];
};

/* Of the calling thread; NULL: there is no memory. */
struct ss_launcher *ss_launcher_own(void);
void ss_launcher_put(struct ss_launcher *launcher, const struct ss_launch *launch);
/* The callbacks were switched: open calls are forgotten. */
void ss_launches_switch(bool on);
/* How often they were. */
uint32_t ss_launches_epoch(void);
/* Counts a launch whose place is not recorded. */
void ss_launches_lose(void);

/* The writer: passes the waiting launches of all threads. Returns their number. */
uint32_t ss_launches_drain(void (*visit)(void *context, const struct ss_launch *launch),
                           void *context);
/* Whether launches wait for the writer. Any thread. */
bool ss_launches_wait(void);
uint64_t ss_launches_lost(void);
/* After the writer has ended: gives the memory of the queues back to the kernel; counts from 0. */
void ss_launches_release(void);
/* The correlation of this thread's last call that launched; 0: unknown, or the callbacks are off.
 */
uint32_t ss_launches_last(void);
/* How many kernels this thread has launched while the callbacks were on, and the correlation of the
 * last of them. */
uint32_t ss_launches_kernels(uint32_t *last);

#endif
