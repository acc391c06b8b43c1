/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudaProfilerStart and cudaProfilerStop of the program, in recordings whose windows they open and
 * close (base/capture.h). Observed as long as CUPTI is subscribed. In others: no effect.
 */
#ifndef SS_INJECT_CUPTI_PROFILER_CALLS_H
#define SS_INJECT_CUPTI_PROFILER_CALLS_H

#include <stdint.h>

#include "inject/cupti/load.h"

/* Sets the callbacks of the subscriber. With the lock of the collector. */
void ss_profiler_calls_enable(const struct ss_cupti *cupti, void *subscriber);
/* From the callback of the subscriber, on the thread that calls. */
void ss_profiler_calls_observe(int domain, uint32_t function, const void *data);

#endif
