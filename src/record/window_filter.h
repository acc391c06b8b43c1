/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps of one process's annotations what lies in the windows of its schedule: marks, counters and
 * flows within, ranges cut at the edges. Names and the edges themselves pass, and steps, epochs and
 * phases, unless they are to be cut too. What is handed on says in which window it lies.
 *
 * A process that has no windows goes along with those of another, its parent, say: then the edges
 * are that one's, and what is handed on says so.
 *
 * Edges come from one thread's ring and events from all, so that an event waits until the edges
 * before it are known: until the drain that began after it. Between source/annot.h and whoever
 * takes its events; owned by the recorder's thread.
 */
#ifndef SS_RECORD_WINDOW_FILTER_H
#define SS_RECORD_WINDOW_FILTER_H

#include "source/annot.h"

struct ss_window_filter;

/* Edges of windows; windows count from 1. */
struct ss_window_edge {
    uint32_t window;
    uint64_t time_ns;
    int64_t step;  /* that begins there; -1: none was marked yet */
    int64_t epoch; /* under way; -1: none was marked yet */
    uint32_t batch;
    bool is_cut; /* an end that came too early */
};

/* What happens to windows; each may be NULL. `begins` and `ends` come as soon as they are known,
 * `passed` when all that lies in the window has been handed on. */
struct ss_window_hooks {
    void *context;
    void (*begins)(void *context, const struct ss_window_edge *edge);
    void (*ends)(void *context, const struct ss_window_edge *edge);
    void (*passed)(void *context, uint32_t window);
};

struct ss_window_filter_options {
    struct ss_window_hooks hooks;
    bool cuts_steps; /* steps, epochs and phases too are kept within windows only */
    bool is_late;    /* until the first edge everything passes; some ranges are open already */
};

/* `options` may be NULL. */
struct ss_window_filter *ss_window_filter_new(const struct ss_annot_sink *to,
                                              const struct ss_window_filter_options *options);
void ss_window_filter_free(struct ss_window_filter *filter);
struct ss_annot_sink ss_window_filter_sink(struct ss_window_filter *filter);
/* After a drain that began at `began_ns`: whatever is older has come. */
void ss_window_filter_drained(struct ss_window_filter *filter, uint64_t began_ns);
/* An edge of the windows of `leader`, a process by its ref, with which this one goes along: in the
 * order of time, and before the drain that it belongs to. Not heard of by the hooks. Does nothing
 * in a process that has windows of its own. */
void ss_window_filter_follow(struct ss_window_filter *filter, uint32_t leader,
                             const struct ss_window_edge *edge, bool opens);
/* Is something of that window still to be handed on? */
bool ss_window_filter_holds(const struct ss_window_filter *filter, uint32_t leader,
                            uint32_t window);

/* What a process that follows a schedule has recorded. */
struct ss_window_counts {
    uint32_t windows, partial;
    uint64_t left_out; /* events outside of them */
};
struct ss_window_counts ss_window_filter_counts(const struct ss_window_filter *filter);

#endif
