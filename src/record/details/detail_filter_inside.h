/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_detail_filter. Private to the implementation of detail_filter.h:
 * detail_filter.c (queues, steps, sink), detail_filter_waits.c (waits for collectives). */
#ifndef SS_RECORD_DETAILS_DETAIL_FILTER_INSIDE_H
#define SS_RECORD_DETAILS_DETAIL_FILTER_INSIDE_H

#include "base/vec.h"
#include "record/details/detail_filter.h"

/* The events of one thread that wait for the end of their step. */
struct ss_detail_lane {
    struct ss_vec_of(struct ss_annot_event) held; /* from `first` on */
    size_t first;
    uint32_t thread;
    struct ss_detail_nest nests[SS_DETAIL_KINDS];
    struct ss_vec_of(struct ss_detail_nest) own; /* of ranges of the program, by domain */
};

/* A step, or a slice of time where there are none. */
struct ss_detail_unit {
    uint64_t begin_ns, end_ns; /* UINT64_MAX: still open */
    enum ss_detail detail;
    bool is_step;
    bool has_operators; /* recorded in the program, and none lost */
    uint64_t events;    /* of detail */
};

struct ss_detail_change {
    uint64_t time_ns;
    enum ss_detail detail;
};

/* A collective on any thread. */
struct ss_detail_collective {
    uint64_t id, begin_ns, end_ns; /* UINT64_MAX: still open */
};

struct ss_detail_name_facts {
    uint32_t category;
    bool is_backward_category, is_operators_recorded;
    enum ss_detail_name what;
    bool is_waited_for; /* a collective */
};

struct ss_detail_filter {
    struct ss_annot_sink to;
    struct ss_detail_output output;
    struct ss_detail_budget *budget;
    int32_t main_tid;
    bool is_thinning, is_off;
    bool was_thinning; /* when it was stopped */
    bool thins_ranges; /* of the program's own, too */
    bool has_steps;
    uint64_t slices;   /* so far */
    uint64_t known_ns; /* until when all steps have arrived */
    struct ss_detail_steps steps;
    uint8_t domains[SS_RING_MAX_DOMAINS]; /* enum ss_detail_kind */
    bool has_collectives[SS_RING_MAX_DOMAINS];
    bool is_shared[SS_RING_MAX_DOMAINS]; /* of the recorder's own ranges, of which there are few */
    struct ss_vec_of(struct ss_detail_name_facts) names;
    struct ss_vec_of(struct ss_detail_lane) lanes;
    struct ss_vec_of(struct ss_detail_unit) units; /* the last one is open */
    struct ss_vec_of(struct ss_detail_collective) collectives;
    size_t next_collective;            /* those before it end before the current gap */
    uint64_t busy_ns;                  /* until when the main thread is in operators, so far */
    struct ss_vec_of(uint64_t) phases; /* their begins */
    uint64_t long_wait_ns;             /* shorter ones are written together: */
    uint64_t short_ns, short_end_ns;
    uint32_t step_lane; /* of the thread that marks steps */
    size_t held;
    /* Until steps are thinned: events of detail so far, those that were spent, those before the
     * last edge, and its time. */
    uint64_t passed, spent, passed_before, edge_ns;
    int64_t operators;   /* the counter "operators recorded"; 1 without */
    enum ss_detail last; /* that was written */
    struct ss_vec_of(struct ss_detail_change) changes; /* the last ones that were written */
    struct ss_detail_sums sums;
    struct ss_detail_interval interval; /* of the sums so far; begin 0: none */
};

/* --- detail_filter_waits.c -------------------------------------------------------------------- */

void ss_detail_waits_begin(struct ss_detail_filter *filter, const struct ss_annot_event *event);
void ss_detail_waits_end(struct ss_detail_filter *filter, const struct ss_annot_event *event);
/* The main thread's operators of a summed unit follow. */
void ss_detail_waits_open(struct ss_detail_filter *filter, const struct ss_detail_unit *unit);
/* It was in no operator from `busy_ns` until `until_ns`. */
void ss_detail_waits_gap(struct ss_detail_filter *filter, uint64_t until_ns);
void ss_detail_waits_phase(struct ss_detail_filter *filter, uint64_t time_ns);
/* No operators of the unit follow; also of a unit in full. */
void ss_detail_waits_close(struct ss_detail_filter *filter, const struct ss_detail_unit *unit);

#endif
