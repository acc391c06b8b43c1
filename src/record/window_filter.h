/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps of one process's annotations what lies in the windows of its schedule: marks, counters and
 * flows within, ranges cut at the edges. Steps, epochs, phases, names and the edges themselves
 * pass.
 *
 * Edges come from one thread's ring and events from all, so that an event waits until the edges
 * before it are known: until the drain that began after it. Between source/annot.h and whoever
 * takes its events; owned by the recorder's thread.
 */
#ifndef SS_RECORD_WINDOW_FILTER_H
#define SS_RECORD_WINDOW_FILTER_H

#include "source/annot.h"

struct ss_window_filter;

struct ss_window_filter *ss_window_filter_new(const struct ss_annot_sink *to);
void ss_window_filter_free(struct ss_window_filter *filter);
struct ss_annot_sink ss_window_filter_sink(struct ss_window_filter *filter);
/* After a drain that began at `began_ns`: whatever is older has come. */
void ss_window_filter_drained(struct ss_window_filter *filter, uint64_t began_ns);

/* What a process that follows a schedule has recorded. */
struct ss_window_counts {
    uint32_t windows, partial;
};
struct ss_window_counts ss_window_filter_counts(const struct ss_window_filter *filter);

#endif
