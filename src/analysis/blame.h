/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who made the others wait. The last rank of a collective inflicts on each other rank the time from
 * the second last arrival to its own: had it come with the second, that much less would have been
 * waited. What it had waited itself since its group's previous collective, in those of other
 * groups, it inherited: that part counts for the rank that it waited for, so that a victim is not
 * blamed. Collectives that are under way at once make a rank wait once.
 *
 * Only whole collectives count, only where the last rank is behind by more than the error of the
 * clocks, and of the waits only those that are longer than it.
 *
 * Some rank is last in each collective, also where all are equally fast. So the rank that inflicted
 * most is compared with the mean of the others, step by step: its excess, and the error of that. Of
 * the collectives of a step only the first may make others wait, which says nothing of chance.
 * Without steps, each collective counts alone. Pure. Borrows the collectives.
 */
#ifndef SS_ANALYSIS_BLAME_H
#define SS_ANALYSIS_BLAME_H

#include "analysis/collectives.h"

struct ss_rank_waits {
    uint64_t inflicted_ns; /* on all others together */
    uint64_t inherited_ns; /* what others inflicted through it: not in inflicted_ns */
    uint64_t suffered_ns;
    uint64_t times_last, collectives; /* that are resolved, and that it took part in */
};

struct ss_blame {
    struct ss_rank_waits *ranks; /* by process of the model */
    uint32_t *culprits;     /* by row of the collectives: process that most counts for; 0: none */
    uint64_t unresolved;    /* collectives in which nothing may be said of the last rank */
    uint64_t inflicted_ns;  /* by all */
    uint32_t most;          /* process that inflicted most; 0: none */
    double excess_ns;       /* per step: what it inflicted beyond the mean of the others */
    double excess_error_ns; /* half width of the 95 % interval; NAN: too few steps */
};

/* `only_steady`: of steady-state steps. */
void ss_blame_init(struct ss_blame *blame, const struct ss_model *model,
                   const struct ss_collectives *collectives, bool only_steady);
void ss_blame_fini(struct ss_blame *blame);

#endif
