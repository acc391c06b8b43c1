/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each rank did from its first whole step to its last, without gaps: its own work, by phase;
 * waits in communication that nothing hides; and the moments at which it arrived at a collective. A
 * wait that ends as a collective ends is a wait for that collective. Pure; immutable once built.
 * Borrows the profiles and the summary of the steps.
 */
#ifndef SS_ANALYSIS_RANKS_RANK_TIMELINE_H
#define SS_ANALYSIS_RANKS_RANK_TIMELINE_H

#include "analysis/ranks/rank_profiles.h"

enum ss_piece_kind { SS_PIECE_OWN, SS_PIECE_WAIT, SS_PIECE_ARRIVE };

struct ss_piece {
    uint64_t begin_ns, end_ns; /* of an arrival: where it lies among the others, and its time */
    enum ss_piece_kind kind;
    size_t phase;      /* of own work: of the summary of the steps */
    size_t collective; /* of an arrival, and of a wait: row plus one; 0: for none */
};

struct ss_rank_timeline {
    struct ss_vec_of(struct ss_piece) pieces; /* by rank, then by time */
    size_t ranks;                             /* those of the profiles */
    size_t *first;                            /* [ranks + 1]: of its pieces */
    size_t phases;                            /* own work has one of these */
};

/* Without work of devices, waits are taken from phases. */
void ss_rank_timeline_init(struct ss_rank_timeline *timeline, const struct ss_selection *selection,
                           const struct ss_step_summary *training);
void ss_rank_timeline_fini(struct ss_rank_timeline *timeline);

#endif
