/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every source of a recording is: a row of functions. The recorder's loop starts those that
 * can run, ticks them when they want to be, and stops them; doctor asks each whether it could. A
 * source that needs a thread of its own keeps that to itself: all of these are called on the
 * recorder's thread, and none may block.
 */
#ifndef SS_SOURCE_SOURCE_H
#define SS_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/metric.h"

enum { SS_SOURCE_REASON_BYTES = 256 };

/* What a source is started with; everything is borrowed until it is stopped. */
struct ss_source_setup {
    const char *proc_root, *sys_root; /* "/proc" and "/sys", but for tests */
    uint64_t interval_ns;             /* between ticks of the host's figures; 0: none are wanted */
    uint64_t since_ns; /* the recording began then: before any process of its own was made */
    struct ss_metric_sink metrics;
    void *context;
    /* Calls `visit` for each process of the recording that is alive, with its ref. */
    void (*each_process)(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                         void *visitor);
};

enum ss_source_state {
    SS_SOURCE_RUNS,
    SS_SOURCE_NOT_WANTED,
    SS_SOURCE_NOT_HERE, /* this machine lacks what it needs */
    SS_SOURCE_BROKE     /* it ran, and failed */
};

struct ss_source_ops {
    const char *name, *summary;
    /* Could it run here? `reason` says what it would use, or why not. */
    enum ss_source_state (*probe)(const struct ss_source_setup *setup, char *reason);
    /* NULL when it does not run; `reason` as above. A row without start is driven by the recorder
     * through an interface of its own. */
    void *(*start)(const struct ss_source_setup *setup, char *reason);
    /* Does what is due at `now_ns`, and returns when it wants to be called again. */
    uint64_t (*tick)(void *source, uint64_t now_ns);
    void (*process_ending)(void *source, pid_t pid,
                           uint64_t now_ns); /* a zombie; NULL: no matter */
    /* Ends and frees it. `reason` says what it used, or why it broke. */
    enum ss_source_state (*stop)(void *source, uint64_t now_ns, char *reason);
};

#endif
