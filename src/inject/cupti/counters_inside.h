/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of hardware counters. Private to the implementation of inject/cupti/counters.h:
 * counters.c (what all share), counters_steps.c, counters_kernels.c, counters_graphs.c. */
#ifndef SS_INJECT_CUPTI_COUNTERS_INSIDE_H
#define SS_INJECT_CUPTI_COUNTERS_INSIDE_H

#include <stdatomic.h>

#include "counters/range_profiler.h"
#include "counters/request.h"
#include "inject/cupti/captures.h"
#include "inject/cupti/counters.h"
#include "ring/device_ring.h"

struct ss_cupti_counters {
    struct ss_counter_request request;
    struct ss_profiler profiler;
    const struct ss_cupti *cupti;
    const struct ss_cupti_counters_hooks *hooks;
    int owner; /* the process: a forked child measures nothing */
    struct ss_range_profiler ranges;
    void *context; /* of `ranges`; NULL: not opened yet */
    int device;
    uint32_t identity;      /* text: of the device */
    long long seen, done;   /* steps or launches; measurements */
    _Atomic bool has_ended; /* all is measured, or CUPTI refused */
    atomic_flag is_busy;    /* one thread measures */
};

extern struct ss_cupti_counters ss_counters;

/* Waits for the work of the current context; captures are held off. */
void ss_counters_synchronise(void);
/* Ends a pass of the range, after a wait for its work. */
enum ss_status ss_counters_end_range(bool *is_complete, struct ss_error *err);
/* An attribute of a kernel (CUfunction_attribute); 0: none, or unknown. */
uint32_t ss_counters_function_attribute(void *function, int attribute);
/* The range profiler of the current context. Captures are held off. false: there is none (yet). */
bool ss_counters_ready(enum ss_ranges_by by);
/* Ends all measurements. */
void ss_counters_refuse(const struct ss_error *err);
/* Reads what was measured and writes it; `message` has all but the values. */
void ss_counters_write(struct ss_device_metrics_message *message);
/* The fact "gpu.counters". */
void ss_counters_describe(void);

void ss_counters_on_step(int64_t step);
/* A launch of a graph whose kernels are not known: the fact says so. */
void ss_counters_skip_graph(void);
/* false: the pattern of names cannot be used; the measurements have ended. */
bool ss_counters_compile(void);
/* The text for a graph and its kernels: "CUDA graph 2: 3 x gemm(…), …". */
uint32_t ss_counters_graph_name(const void *executable, const struct ss_graph_kernels *kernels);

#endif
