/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the annotations of one process to the windows of its schedule: keeps marks, counters and
 * flows inside them and cuts ranges at the edges. Names and edges pass; so do steps, epochs and
 * phases, unless they are to be cut too. Each emitted event carries its window.
 *
 * A process without windows follows those of another process, such as its parent: the edges are
 * those of the window owner, and each emitted event carries the owner.
 *
 * Edges come from one thread's ring and events from all rings, so an event waits until the edges
 * before it are known: until the drain that began after it. Between source/annot.h and another
 * sink; owned by the recorder's thread.
 */
#ifndef SS_RECORD_WINDOWS_WINDOW_FILTER_H
#define SS_RECORD_WINDOWS_WINDOW_FILTER_H

#include "source/annot.h"

struct ss_window_filter;

/* Edges of windows; windows count from 1. */
struct ss_window_edge {
    uint32_t window;
    uint64_t time_ns;
    int64_t step;  /* the step that begins here; -1: none marked yet */
    int64_t epoch; /* current; -1: none marked yet */
    uint32_t batch;
    bool is_cut; /* an early end */
};

/* Changes of windows; each may be NULL. `begins` and `ends` come as soon as they are known,
 * `drained` when all events of the window are emitted. */
struct ss_window_hooks {
    void *context;
    void (*begins)(void *context, const struct ss_window_edge *edge);
    void (*ends)(void *context, const struct ss_window_edge *edge);
    void (*drained)(void *context, uint32_t window);
};

struct ss_window_filter_options {
    struct ss_window_hooks hooks;
    bool cuts_steps; /* steps, epochs and phases too are limited to windows */
    bool is_late;    /* everything passes until the first edge; some ranges are already open */
};

/* `options` may be NULL. */
struct ss_window_filter *ss_window_filter_new(const struct ss_annot_sink *to,
                                              const struct ss_window_filter_options *options);
void ss_window_filter_free(struct ss_window_filter *filter);
struct ss_annot_sink ss_window_filter_sink(struct ss_window_filter *filter);
/* Call after a drain that began at `began_ns`: all older events have arrived. */
void ss_window_filter_drained(struct ss_window_filter *filter, uint64_t began_ns);
/* Adds an edge of `window_owner` (a process ref), whose windows this process follows. Call in time
 * order, before ss_window_filter_drained of the same drain. Calls no hooks. No effect in a process
 * with windows of its own. */
void ss_window_filter_follow(struct ss_window_filter *filter, uint32_t window_owner,
                             const struct ss_window_edge *edge, bool opens);
/* Whether events of that window are still pending. */
bool ss_window_filter_holds(const struct ss_window_filter *filter, uint32_t window_owner,
                            uint32_t window);

/* Counts of a process that follows a schedule. */
struct ss_window_counts {
    uint32_t windows, partial;
    uint64_t left_out; /* events outside of windows */
};
struct ss_window_counts ss_window_filter_counts(const struct ss_window_filter *filter);

#endif
