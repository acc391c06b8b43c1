/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hardware counters of this process's device, as STEPSCOPE_COUNTERS asks for them.
 *
 * Of steps: a step that the program marks is one pass of what is measured; consecutive steps are
 * the passes of one measurement, so that nothing is run again, and collectives of several processes
 * stay in step. While a step is measured the collector records no work, since measuring changes its
 * times; the device is waited for at the step's begin and end.
 *
 * Of kernels: each launch of a kernel with a matching name is run once for each pass by CUPTI,
 * which saves and restores its memory. For one process: a collective that waits for others must not
 * match.
 *
 * A CUDA graph is measured as a whole, as steps are: each of its launches is one pass, and nothing
 * is run again. While a stream is captured, nothing is measured, since a wait for the device would
 * break the capture.
 *
 * One measurement at a time, on the thread that marks steps, or launches. What CUPTI refuses ends
 * the measurements, and the fact "gpu.counters" says why.
 */
#ifndef SS_INJECT_CUPTI_COUNTERS_H
#define SS_INJECT_CUPTI_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/load.h"

struct ss_cupti_counters_hooks {
    bool (*may_measure)(void);     /* the recording is on, and no other profiler uses CUPTI */
    void (*measures)(bool is_one); /* from now on; called with no lock held */
};

/* false: nothing is to be measured, or it cannot be. `cupti` and `hooks` must stay. */
bool ss_cupti_counters_start(const struct ss_cupti *cupti,
                             const struct ss_cupti_counters_hooks *hooks);
/* Whether kernels are measured: then no other work is recorded. */
bool ss_cupti_counters_are_of_kernels(void);
/* With each subscription, and in CUPTI's callback: graphs of the program, and captures, within
 * which nothing is measured. */
void ss_cupti_counters_enable(const struct ss_cupti *cupti, void *subscriber);
void ss_cupti_counters_observe(int domain, uint32_t function, const void *data);
/* At a call that launches: CUPTI's callback, on the program's thread. */
void ss_cupti_counters_on_launch(int domain, uint32_t function,
                                 const struct ss_cupti_callback_data *call);

#endif
