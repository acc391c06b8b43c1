/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thins the operators and modules of one process as a budget demands (detail_budget.h): whole steps
 * are written in full or become sums (detail_sums.h). All other events pass at once. Between
 * source/annot.h and another sink.
 *
 * The end of a step comes from one thread's ring and its operators from all rings, so they wait
 * until the drain that began after the step: until then, whether the step stands out is not known
 * either. A step with more than SS_DETAIL_MOST_HELD events becomes sums while it lasts. A process
 * without steps has slices of time instead; only its operators are thinned.
 *
 * Of summed steps it also finds the waits of the main thread for collectives of other threads,
 * which readers otherwise find between its operators.
 *
 * Owned by the recorder's thread.
 */
#ifndef SS_RECORD_DETAILS_DETAIL_FILTER_H
#define SS_RECORD_DETAILS_DETAIL_FILTER_H

#include "record/details/detail_budget.h"
#include "record/details/detail_sums.h"

enum { SS_DETAIL_MOST_HELD = 1 << 18 /* events of a process: 40 MiB */ };

struct ss_detail_filter;

/* What a number of consecutive steps, whose events were left out, have together. */
struct ss_detail_interval {
    uint64_t begin_ns, end_ns;
    uint64_t steps, steps_ns;                   /* their number and time */
    uint64_t operator_steps, operator_steps_ns; /* of these, with recorded operators */
};

struct ss_detail_output {
    void *context;
    /* The steps that begin from now on are of this kind; only on changes. */
    void (*detail)(void *context, uint64_t time_ns, enum ss_detail detail);
    /* The sums of an interval; rows without calls count nothing. */
    void (*sums)(void *context, const struct ss_detail_interval *interval,
                 const struct ss_detail_sum *rows, size_t count);
    /* The main thread waits for a collective, in a summed step. */
    void (*wait)(void *context, uint64_t begin_ns, uint64_t end_ns);
};

/* `main_tid`: the main thread. `budget` is borrowed. */
struct ss_detail_filter *ss_detail_filter_new(const struct ss_annot_sink *to,
                                              const struct ss_detail_output *output,
                                              struct ss_detail_budget *budget, int32_t main_tid);
void ss_detail_filter_free(struct ss_detail_filter *filter);
struct ss_annot_sink ss_detail_filter_sink(struct ss_detail_filter *filter);
/* From now on all is in full: the process follows a schedule, whose windows were asked for. */
void ss_detail_filter_stop(struct ss_detail_filter *filter);
/* What is written of a step at that time, for other events that belong to steps: UNDECIDED as long
 * as the step may still stand out, or may not have arrived. Of a process without steps, all. */
enum ss_detail ss_detail_filter_at(const struct ss_detail_filter *filter, uint64_t time_ns);
/* Whether some steps are not in full from now on. */
bool ss_detail_filter_thins(const struct ss_detail_filter *filter);
/* So many such events were written. */
void ss_detail_filter_spend(struct ss_detail_filter *filter, enum ss_detail detail,
                            uint64_t events);
/* Call after a drain that began at `began_ns`: all older events have arrived. */
void ss_detail_filter_drained(struct ss_detail_filter *filter, uint64_t began_ns);

#endif
