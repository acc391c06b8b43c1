/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where work is launched: CUPTI's callback at calls that launch, on the program's threads. It takes
 * no lock, except for a stack that is new, and makes no system call, except one in 4096 launches. A
 * launch that the queue (launch_queue.h) loses is counted: its work is recorded without its place.
 */
#ifndef SS_INJECT_CUPTI_LAUNCHES_H
#define SS_INJECT_CUPTI_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/load.h"
#include "inject/device/launch_queue.h"

/* Finds the functions that launch, by their names; and those that wait for the device, or allocate
 * memory, if these are to be observed. */
void ss_launches_init(const struct ss_cupti *cupti, bool with_waits, bool with_allocations);
/* Switches the callbacks of the subscriber. */
void ss_launches_enable(const struct ss_cupti *cupti, void *subscriber, bool on);
/* Whether calls of the runtime that are observed have no records of their own: a launch is also the
 * call.
 */
void ss_launches_stand_for_calls(bool stand);
bool ss_launches_is_call(int domain, uint32_t function);
/* For cuptiSubscribe. */
void ss_launches_callback(void *user, int domain, uint32_t function, const void *data);
/* The text of a function's name; 0: unknown. The writer's thread. */
uint32_t ss_launches_name(const struct ss_cupti *cupti, int domain, uint32_t function);
bool ss_launches_is_launch(int domain, uint32_t function);
/* Or waits, where that is observed. */
bool ss_launches_observes(int domain, uint32_t function);

#endif
