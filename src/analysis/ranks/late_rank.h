/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The late rank: the trainer, of several in one recording, that makes the others wait in
 * communication. It waits least itself, because it arrives last. Also how long all trainers
 * communicate at once: until then, those that arrived wait for others. Pure; borrows the model and
 * the summary.
 */
#ifndef SS_ANALYSIS_RANKS_LATE_RANK_H
#define SS_ANALYSIS_RANKS_LATE_RANK_H

#include "analysis/steps/steps.h"

struct ss_late_rank {
    uint32_t process;                  /* 0: no rank is late, or it varies */
    int64_t rank;                      /* of that process, by its fact torch.rank; -1: unknown */
    uint64_t waits_ns;                 /* per step: excess of the others' wait over its own */
    uint64_t of_ns;                    /* mean step of the others */
    uint64_t own_ns;                   /* per step: its own wait */
    const struct ss_step_phase *phase; /* in which it is most behind the others; NULL: none */
    uint64_t more_ns;                  /* per step */
    struct ss_phase_line line;         /* of its samples in that phase; frame 0: unknown */
};

/* Share of the time in which all trainers run steps that all of them communicate; from 0 to 1.
 * Negative: fewer than two trainers, or no such time. */
double ss_late_rank_joint_share(const struct ss_selection *selection,
                                const struct ss_step_summary *steps);

void ss_late_rank_find(struct ss_late_rank *late, const struct ss_selection *selection,
                       const struct ss_step_summary *steps);

#endif
