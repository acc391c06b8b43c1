/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in collectives (blame.h) as sums by rank: what each waited, and what it made others wait. A
 * scope says which collectives count: those of one job, in steady-state steps or all of them.
 *
 * Some rank is last in each collective, also where all are equally fast. So what a rank caused is
 * compared with the mean of the others, step by step: its excess, and the error of that. Of the
 * collectives of a step only the first may make others wait, which says nothing of chance. Without
 * steps, each collective counts alone. Pure. Borrows the blame.
 */
#ifndef SS_ANALYSIS_RANKS_RANK_WAITS_H
#define SS_ANALYSIS_RANKS_RANK_WAITS_H

#include "analysis/ranks/blame.h"
#include "analysis/steps/steps.h"

/* Of a collective: the step in which its last rank arrives, if it is a steady-state one. */
struct ss_collective_step {
    bool is_steady;
    int64_t number;
};

/* By row of the collectives. The caller frees it (ss_free). Steps without numbers are counted. */
struct ss_collective_step *ss_collective_steps_find(const struct ss_collectives *collectives,
                                                    const struct ss_model *model,
                                                    const struct ss_step_summary *training);

struct ss_wait_scope {
    const struct ss_blame *blame;
    const struct ss_collective_step *steps; /* by row; NULL: all collectives count */
    uint32_t job;
};

struct ss_rank_waits {
    uint64_t caused_ns;    /* on all others together */
    uint64_t passed_on_ns; /* what others caused through it: not in caused_ns */
    uint64_t waited_ns;
    uint64_t times_last, collectives; /* that are resolved, and that it took part in */
};

struct ss_wait_sums {
    struct ss_rank_waits *ranks; /* by process of the model */
    uint64_t counted;            /* collectives that count (ss_collective_counts) */
    uint64_t resolved;           /* those that say who was last */
    uint64_t steps;              /* steps that have any of these; without steps: the same */
    uint64_t unresolved;         /* those that say nothing of who was last */
    uint64_t hidden_ns;          /* what the clocks of those may hide at most */
    uint64_t wait_ns;            /* certain waits of all ranks */
    uint64_t calls, lacking;     /* of the job, in and out of steps; those that some rank lacks */
};

void ss_wait_sums_init(struct ss_wait_sums *sums, const struct ss_wait_scope *scope,
                       const struct ss_model *model);
void ss_wait_sums_fini(struct ss_wait_sums *sums);

/* What `process` makes each rank wait: adds to `on`, by process. */
void ss_rank_waits_for(const struct ss_wait_scope *scope, uint32_t process, uint64_t *on);

struct ss_wait_excess {
    double ns;       /* per step: what the rank caused beyond the mean of the others */
    double error_ns; /* half width of the 95 % interval; NAN: too few steps */
};
/* `ranks`: how many are compared. */
struct ss_wait_excess ss_wait_excess_of(const struct ss_wait_scope *scope, uint32_t process,
                                        size_t ranks);

#endif
