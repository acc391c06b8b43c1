/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who made the others wait. The last rank of a collective causes each other rank to wait from the
 * second-last arrival to its own: they would not have waited that long if it had arrived second to
 * last. The part of this time in which it waited itself, in collectives of other groups since its
 * group's previous collective, was passed on: it counts for the rank that it waited for, so that a
 * victim is not blamed. Overlapping collectives make a rank wait once.
 *
 * Only whole collectives count, only if the last rank arrives later by more than the error of the
 * clocks, and only waits longer than that error.
 *
 * Some rank is last in each collective, also where all are equally fast. So the rank that caused
 * most is compared with the mean of the others, step by step: its excess, and the error of that. Of
 * the collectives of a step only the first may make others wait, which says nothing of chance.
 * Without steps, each collective counts alone. Pure. Borrows the collectives.
 */
#ifndef SS_ANALYSIS_RANKS_BLAME_H
#define SS_ANALYSIS_RANKS_BLAME_H

#include "analysis/ranks/collectives.h"

struct ss_rank_waits {
    uint64_t caused_ns;    /* on all others together */
    uint64_t passed_on_ns; /* what others caused through it: not in caused_ns */
    uint64_t waited_ns;
    uint64_t times_last, collectives; /* that are resolved, and that it took part in */
};

struct ss_blame {
    struct ss_rank_waits *ranks; /* by process of the model */
    uint32_t *causes;       /* by row of the collectives: process that most counts for; 0: none */
    uint64_t unresolved;    /* collectives in which nothing may be said of the last rank */
    uint64_t caused_ns;     /* by all */
    uint32_t most;          /* process that caused most; 0: none */
    double excess_ns;       /* per step: what it caused beyond the mean of the others */
    double excess_error_ns; /* half width of the 95 % interval; NAN: too few steps */
};

/* `only_steady`: of steady-state steps. */
void ss_blame_init(struct ss_blame *blame, const struct ss_model *model,
                   const struct ss_collectives *collectives, bool only_steady);
void ss_blame_fini(struct ss_blame *blame);

#endif
