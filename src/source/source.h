/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a source: a row of functions. The loop of the recorder starts each source, calls
 * it when it is due or its descriptor is readable, and stops it; doctor probes each. It names no
 * source. All functions are called on the recorder's thread and must not block; a source may have a
 * private thread.
 */
#ifndef SS_SOURCE_SOURCE_H
#define SS_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "source/metric.h"

enum { SS_SOURCE_REASON_BYTES = 4608 };

/* The parameters of a source; borrowed until it is stopped. */
struct ss_source_setup {
    const char *proc_root, *sys_root; /* "/proc" and "/sys", except in tests */
    uint64_t interval_ns;             /* between ticks of host metrics; 0: disabled */
    const struct ss_clock *clock;     /* NULL: the system's */
    uint64_t since_ns;                /* begin of the recording, before it creates any process */
    uint32_t source_ref;              /* of the source in the recording */
    struct ss_metric_sink metrics;
    void *context;
    /* Calls `visit` with pid and ref of each live process of the recording. */
    void (*each_process)(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                         void *visitor);
    /* The recorder itself, whose type only rows of record/ know. */
    void *recorder;
};

enum ss_source_state {
    SS_SOURCE_RUNS,
    SS_SOURCE_LIMITED, /* runs, without a part of its data */
    SS_SOURCE_NOT_REQUESTED,
    SS_SOURCE_NOT_AVAILABLE, /* unavailable on this machine */
    SS_SOURCE_BROKE          /* failed while running */
};

/* Each function but `start` may be NULL. `reason` has SS_SOURCE_REASON_BYTES. */
struct ss_source_ops {
    const char *name, *summary;
    /* Starts before the program is created, because the program inherits something from it; else
     * when the program exists and does not run yet. */
    bool starts_first;
    /* Checks availability, for doctor. `reason`: what the source would use, or why it is
     * unavailable. NULL: doctor has checks of its own. */
    enum ss_source_state (*probe)(const struct ss_source_setup *setup, char *reason);
    /* Sets `*source` if there is work to do, which is possible in each state. `reason`: as above.
     */
    enum ss_source_state (*start)(const struct ss_source_setup *setup, void **source, char *reason);
    /* With starts_first: the program exists now. */
    void (*program_created)(void *source, uint64_t now_ns);
    /* A descriptor for the loop to wait for; -1: none. Constant after the start. */
    int (*fd)(const void *source);
    /* The descriptor is readable. */
    void (*ready)(void *source, uint64_t now_ns);
    /* Reads what programs have written, at least some of each, and stops at `until_ns`. Returns
     * when it is due again (UINT64_MAX: only when the descriptor is readable). */
    uint64_t (*drain)(void *source, uint64_t now_ns, uint64_t until_ns);
    /* Does the work due at `now_ns` and returns the time of the next call. */
    uint64_t (*tick)(void *source, uint64_t now_ns);
    /* Emits what is pending, about once a second; `whole`: also what is emitted seldom. */
    void (*flush)(void *source, uint64_t now_ns, bool whole);
    /* What was flushed is in the file. */
    void (*written)(void *source);
    /* The process is a zombie. */
    void (*process_ending)(void *source, pid_t pid, uint64_t now_ns);
    /* The recording ends: emits the rest. `reason`: what it used, or why it failed. Later calls:
     * none but `release`. NULL: the outcome is that of the start. */
    enum ss_source_state (*stop)(void *source, uint64_t now_ns, char *reason);
    /* The files are closed: frees the source. NULL: `stop` has done so. */
    void (*release)(void *source);
};

#endif
