/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives over the ranks of a run: the calls of all ranks with one group and one number. A rank
 * that arrives early waits until the last one has arrived; from there to the first end the data is
 * transferred. Where numbers were not recorded, the k-th calls belong together, if all ranks have
 * the same kinds in the same order.
 *
 * All times are on the axis of the model. Ranks of one clock domain share a clock. Of others, the
 * combined error of their clocks bounds what can be said: a wait that is not longer is below
 * resolution. Files of other tools count by the wall clock, whose error they do not have: there,
 * how far the ends of collectives lie apart stands for it (their 95th percentile). Pure; immutable
 * once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_RANKS_COLLECTIVES_H
#define SS_ANALYSIS_RANKS_COLLECTIVES_H

#include "analysis/ranks/rank_calls.h"
#include "analysis/selection/selection.h"

struct ss_collective {
    size_t first, count;                   /* calls, one for each rank that has it */
    size_t missing;                        /* calls less than other collectives of its group have */
    uint32_t last, second;                 /* processes: that arrive last, and before it */
    uint64_t first_ns, second_ns, last_ns; /* arrivals */
    uint64_t first_end_ns, last_end_ns;
    uint64_t wait_ns;       /* sum over the ranks, until the last arrival */
    uint64_t certain_ns;    /* of it, the waits that are longer than the error */
    uint64_t error_ns;      /* largest error of the last rank's clock against another's */
    uint64_t last_error_ns; /* against that of the second */
    bool synchronises;      /* all ranks wait for each other; else nothing is said of waits */
    bool is_whole;          /* no rank of its group is missing */
    bool is_violated;       /* a rank ends before another arrives, by more than the error */
};

struct ss_collectives {
    struct ss_rank_calls calls;
    struct ss_vec_of(struct ss_collective) rows; /* by last arrival */
    size_t ranks;                                /* of which any call has a match */
    size_t unmatched;                            /* calls that no other rank has */
    size_t violated;                             /* rows */
    uint64_t ends_ns;  /* how far ends lie apart, of ranks with clocks of their own */
    bool is_wall;      /* ends_ns is the error of some clocks: they count by the wall clock */
    uint64_t error_ns; /* largest error of any row */
};

/* Built once for each selection. */
const struct ss_collectives *ss_selection_collectives(const struct ss_selection *selection);

/* The combined error of the clocks of two processes. */
uint64_t ss_collectives_error_ns(const struct ss_collectives *collectives,
                                 const struct ss_model *model, uint32_t a, uint32_t b);
/* Whether its waits count: it is whole, in order, and all wait for each other. */
static inline bool ss_collective_counts(const struct ss_collective *row)
{
    return row->is_whole && !row->is_violated && row->synchronises;
}
/* Whether anything may be said of who was last: it counts, and the last rank is behind the second
 * by more than the error. */
static inline bool ss_collective_is_resolved(const struct ss_collective *row)
{
    return ss_collective_counts(row) && row->last_ns - row->second_ns > row->last_error_ns;
}

#endif
