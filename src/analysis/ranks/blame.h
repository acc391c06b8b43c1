/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank each wait in a collective counts for. The last rank of a collective causes each other
 * rank to wait from the second-last arrival to its own: they would not have waited that long if it
 * had arrived second to last. The part of this time in which it waited itself, in collectives of
 * other groups since its group's previous collective, was passed on: it counts for the rank that it
 * waited for, so that a victim is not blamed. Overlapping collectives make a rank wait once.
 *
 * Only whole collectives count, only if the last rank arrives later by more than the error of the
 * clocks, and only waits longer than that error. Pure; immutable once built. Borrows the
 * collectives.
 */
#ifndef SS_ANALYSIS_RANKS_BLAME_H
#define SS_ANALYSIS_RANKS_BLAME_H

#include "analysis/ranks/collectives.h"

/* Of a collective: what each of the others waits for its last rank, as far as it waits. */
struct ss_blamed {
    uint64_t own_ns;     /* because of that rank itself */
    uint64_t through_ns; /* because that rank waited for another one */
    uint32_t through;    /* that other process; 0: unknown, or none */
    uint32_t cause;      /* process that most of it counts for; 0: nothing may be said */
};

struct ss_blame {
    const struct ss_collectives *collectives;
    struct ss_blamed *rows; /* by row of the collectives */
    uint64_t *waited_ns;    /* by call: what its rank waits there and nowhere before */
};

/* What the rank of a call waits for the last one, of a wait of `ns`. */
static inline uint64_t ss_blame_share_ns(const struct ss_collective *row,
                                         const struct ss_rank_call *call, uint64_t ns)
{
    uint64_t wait_ns = row->last_ns - call->begin_ns;
    return wait_ns < ns ? wait_ns : ns;
}

/* Built once for each selection. */
const struct ss_blame *ss_selection_blame(const struct ss_selection *selection);

#endif
