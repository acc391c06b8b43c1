/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several trainers in one recording makes the others wait in communication: it waits least
 * itself, for it comes last. And how long all of them communicate at once: until then those that
 * came wait for others. Pure; borrows the model and the summary.
 */
#ifndef SS_ANALYSIS_LATE_RANK_H
#define SS_ANALYSIS_LATE_RANK_H

#include "analysis/steps.h"

struct ss_late_rank {
    uint32_t process;  /* 0: none comes late, or it is always another one */
    int64_t rank;      /* of that process, from its fact torch.rank; -1: it has none */
    uint64_t waits_ns; /* per step: what the others wait longer than it does */
    uint64_t of_ns;    /* a mean step of the others */
    uint64_t own_ns;   /* per step: its own wait */
    const struct ss_step_phase *phase; /* in which it takes longer; NULL: in none much */
    uint64_t more_ns;                  /* per step */
    struct ss_phase_line line;         /* of its samples in that phase; frame 0: unknown */
};

/* The part of the time, while all trainers take steps, in which all are in communication; from 0
 * to 1. Negative: there is one trainer only, or none. */
double ss_late_rank_joint_share(const struct ss_selection *selection,
                                const struct ss_step_summary *steps);

void ss_late_rank_find(struct ss_late_rank *late, const struct ss_selection *selection,
                       const struct ss_step_summary *steps);

#endif
