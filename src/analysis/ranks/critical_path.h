/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a step over the ranks: what its time was spent on, by whichever rank the
 * others waited for. It is walked back from the latest end of the step: through the own work of a
 * rank; where that rank waited in a collective, from the end of the wait to the arrival of the last
 * rank, and on with that one. So its parts add up exactly to the time from the earliest begin of
 * the step to its latest end. Also what a step would take if something were otherwise: the ranks'
 * own work is replayed, each wait ends when the last rank has arrived and the data is transferred
 * as before. Unchanged, the replay must take what was measured, within a percent; else it says
 * nothing. Pure.
 */
#ifndef SS_ANALYSIS_RANKS_CRITICAL_PATH_H
#define SS_ANALYSIS_RANKS_CRITICAL_PATH_H

#include "analysis/ranks/rank_timeline.h"

/* What a part of a path is, beyond the phases of own work: its index minus the number of phases. */
enum ss_path_part { SS_PATH_COMMUNICATION, SS_PATH_OUTSIDE, SS_PATH_PARTS };

struct ss_critical_path {
    size_t ranks, parts;      /* parts: phases, then enum ss_path_part */
    uint64_t *part_ns;        /* [ranks][parts]: sums over the steps */
    uint64_t steps, total_ns; /* whole steady-state steps; their time, begin to end over ranks */
};

void ss_critical_path_init(struct ss_critical_path *path, const struct ss_rank_timeline *timeline,
                           const struct ss_rank_profiles *profiles,
                           const struct ss_step_summary *training);
void ss_critical_path_fini(struct ss_critical_path *path);

/* What is otherwise. */
struct ss_what_if {
    bool no_transfers;     /* communication takes no time; ranks still wait for each other */
    size_t without_phase;  /* own work of this phase takes no time; the number of phases: none */
    size_t rank_at_median; /* its phases take at most their median over the ranks; the number of
                            * ranks: none */
    bool all_at_median;    /* the same of every rank */
};
/* The time from the first start of the ranks to the last end, replayed. */
uint64_t ss_what_if_replay(const struct ss_rank_timeline *timeline,
                           const struct ss_rank_profiles *profiles, const struct ss_what_if *what);
/* The same as measured. */
uint64_t ss_what_if_measured(const struct ss_rank_timeline *timeline);

/* Two tables: the path by rank and part, and what if. Returns their number. */
size_t ss_critical_path_tables(const struct ss_selection *selection,
                               const struct ss_step_summary *training, uint64_t max_rows,
                               struct ss_table *tables);

#endif
