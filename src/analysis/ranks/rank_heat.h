/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks by steps: the own time of each, which is its duration without the communication that
 * nothing hides. Ranks that wait for each other have steps of one length; their own times differ.
 * Pure; immutable once built.
 */
#ifndef SS_ANALYSIS_RANKS_RANK_HEAT_H
#define SS_ANALYSIS_RANKS_RANK_HEAT_H

#include "analysis/ranks/rank_profiles.h"

struct ss_rank_heat {
    size_t ranks, steps;
    int64_t *rank_numbers;  /* -1: unknown */
    int64_t *step_numbers;  /* ascending */
    double *own_ns;         /* [ranks][steps]; negative: not recorded from begin to end */
    double low_ns, high_ns; /* 5th and 95th percentile, for the colours */
};

void ss_rank_heat_init(struct ss_rank_heat *heat, const struct ss_selection *selection,
                       const struct ss_step_summary *training);
void ss_rank_heat_fini(struct ss_rank_heat *heat);
/* How hot a value is, from 0 to 1. */
double ss_rank_heat_share(double low_ns, double high_ns, double own_ns);

#endif
