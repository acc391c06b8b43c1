/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a source: a table of functions. The loop of the recorder starts the available
 * sources, ticks each at the time it requests, and stops them; doctor probes each. All functions
 * are called on the recorder's thread and must not block; a source may have a private thread.
 */
#ifndef SS_SOURCE_SOURCE_H
#define SS_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "source/metric.h"

enum { SS_SOURCE_REASON_BYTES = 256 };

/* The parameters of a source; borrowed until it is stopped. */
struct ss_source_setup {
    const char *proc_root, *sys_root; /* "/proc" and "/sys", except in tests */
    uint64_t interval_ns;             /* between ticks of host metrics; 0: disabled */
    const struct ss_clock *clock;     /* NULL: the system's */
    uint64_t since_ns;                /* begin of the recording, before it creates any process */
    struct ss_metric_sink metrics;
    void *context;
    /* Calls `visit` with pid and ref of each live process of the recording. */
    void (*each_process)(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                         void *visitor);
};

enum ss_source_state {
    SS_SOURCE_RUNS,
    SS_SOURCE_NOT_REQUESTED,
    SS_SOURCE_NOT_AVAILABLE, /* unavailable on this machine */
    SS_SOURCE_BROKE          /* failed while running */
};

struct ss_source_ops {
    const char *name, *summary;
    /* Checks availability. `reason`: what the source would use, or why it is unavailable. */
    enum ss_source_state (*probe)(const struct ss_source_setup *setup, char *reason);
    /* NULL: unavailable, with `reason` as above. The recorder drives a source without `start`
     * through a separate interface. */
    void *(*start)(const struct ss_source_setup *setup, char *reason);
    /* Does the work due at `now_ns` and returns the time of the next call. */
    uint64_t (*tick)(void *source, uint64_t now_ns);
    /* The process is a zombie. May be NULL. */
    void (*process_ending)(void *source, pid_t pid, uint64_t now_ns);
    /* Stops and frees the source. `reason`: what it used, or why it failed. */
    enum ss_source_state (*stop)(void *source, uint64_t now_ns, char *reason);
};

#endif
