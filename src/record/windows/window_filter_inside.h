/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_window_filter. Private to the implementation of window_filter.h:
 * window_filter.c (queues, sink, life), window_filter_edges.c (windows, ranges at their edges). */
#ifndef SS_RECORD_WINDOWS_WINDOW_FILTER_INSIDE_H
#define SS_RECORD_WINDOWS_WINDOW_FILTER_INSIDE_H

#include "base/vec.h"
#include "record/windows/window_filter.h"

struct ss_filter_edge {
    struct ss_window_edge window_edge; /* window: the one that opens or closes */
    uint64_t time_ns;                  /* not before the preceding edge */
    uint32_t window_owner;             /* ref of another process; 0: this process */
    bool opens;
};

/* The current step, epoch and phase. */
enum { SS_FILTER_STEP, SS_FILTER_EPOCH, SS_FILTER_PHASE, SS_FILTER_SEQUENCES };
struct ss_filter_sequence {
    bool is_known;
    struct ss_annot_event begin;
};

struct ss_filter_range {
    struct ss_annot_event begin;
    bool is_emitted;
};

/* Open ranges of one thread, or all open asynchronous ranges. */
struct ss_filter_lane {
    uint32_t thread;
    bool is_open;          /* after edges[0 … next_edge) */
    uint32_t window;       /* the open one */
    uint32_t window_owner; /* ref of another process; 0: this process */
    size_t next_edge;      /* earlier edges are applied */
    uint32_t too_deep;
    struct ss_vec_of(struct ss_filter_range) ranges;
};

struct ss_window_filter {
    struct ss_annot_sink to;
    struct ss_window_filter_options options;
    struct ss_vec_of(struct ss_annot_event) queue, async_queue, step_queue;
    struct ss_vec_of(struct ss_filter_edge) edges;
    struct ss_vec_of(struct ss_filter_lane) lanes;
    struct ss_filter_lane async, steps; /* `steps` has no ranges, but sequences */
    struct ss_filter_sequence sequences[SS_FILTER_SEQUENCES];
    bool is_open;          /* before edges[0] */
    uint32_t first_window; /* the window before edges[0], and its owner */
    uint32_t first_window_owner;
    uint32_t window_owner; /* of the last edge */
    bool has_own_windows;
    bool will_be_open;               /* after the last edge */
    bool emits_all;                  /* a late filter without an edge so far */
    struct ss_annot_event early_end; /* of a window whose begin has not come yet; closed 0: none */
    uint64_t window;                 /* of the last edge */
    uint64_t last_window;            /* the last that has begun */
    uint64_t step;                   /* current */
    int64_t epoch;                   /* current; -1: none */
    struct ss_window_counts counts;
};

/* --- window_filter_edges.c ------------------------------------------------------------------- */

void ss_filter_emit(struct ss_window_filter *filter, const struct ss_filter_lane *lane,
                    const struct ss_annot_event *event);
void ss_filter_apply_edge(struct ss_window_filter *filter, struct ss_filter_lane *lane,
                          const struct ss_filter_edge *edge);
/* All edges up to a time. */
void ss_filter_apply_edges(struct ss_window_filter *filter, struct ss_filter_lane *lane,
                           uint64_t until_ns);
/* An event of a lane whose edges before it are known. */
void ss_filter_handle_event(struct ss_window_filter *filter, struct ss_filter_lane *lane,
                            const struct ss_annot_event *event);
void ss_filter_on_window(struct ss_window_filter *filter, const struct ss_annot_event *event);
/* The process has windows of its own now, or has ended. */
void ss_filter_stop_following(struct ss_window_filter *filter, uint64_t time_ns);

#endif
