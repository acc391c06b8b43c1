/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where work is launched: CUPTI's callback at calls that launch, on the program's threads, and a
 * queue of each thread, which the writer empties. The callback takes no lock, except for a stack
 * that is new, and makes no system call, except one in 4096 launches. A full queue counts the
 * launch as lost: its work is recorded without its place.
 */
#ifndef SS_INJECT_CUPTI_LAUNCHES_H
#define SS_INJECT_CUPTI_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/load.h"

struct ss_launch {
    uint64_t begin_ns, end_ns;
    uint32_t thread, correlation;
    uint32_t stack; /* a text */
    uint32_t function;
    uint8_t domain;   /* SS_CUPTI_DOMAIN_… */
    bool is_captured; /* it made a node of a graph instead */
    uint32_t outer;   /* of a driver's call within a runtime's call: the latter's correlation */
};

/* Finds the functions that launch, by their names; and those that allocate memory, if these are to
 * be observed. */
void ss_launches_init(const struct ss_cupti *cupti, bool with_allocations);
/* Switches the callbacks of the subscriber. */
void ss_launches_enable(const struct ss_cupti *cupti, void *subscriber, bool on);
/* For cuptiSubscribe. */
void ss_launches_callback(void *user, int domain, uint32_t function, const void *data);
/* The writer: passes the waiting launches of all threads. Returns their number. */
uint32_t ss_launches_drain(void (*visit)(void *context, const struct ss_launch *launch),
                           void *context);
uint64_t ss_launches_lost(void);
/* The correlation of this thread's last call that launched; 0: unknown, or the callbacks are off.
 */
uint32_t ss_launches_last(void);
/* The text of a function's name; 0: unknown. The writer's thread. */
uint32_t ss_launches_name(const struct ss_cupti *cupti, int domain, uint32_t function);
bool ss_launches_is_launch(int domain, uint32_t function);

#endif
