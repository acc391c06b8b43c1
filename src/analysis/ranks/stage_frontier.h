/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exposed time by stage of a step, over the ranks (the frontier of Yoon, Chen and Kallioniemi,
 * "StageFrontier", arXiv 2606.06751). At the end of each stage, some rank is furthest behind: its
 * time since the start of its own step is the frontier. What a stage adds to the frontier is the
 * time of that stage that the run is exposed to; all stages add up to the longest step of any rank.
 * Ranks that wait catch up with the frontier, so that a delay counts once, where it arises. Only
 * durations on each rank's own clock are compared: it needs no aligned clocks and no collectives.
 *
 * A rank's delay in a stage is how far that stage takes the frontier away from the median rank.
 *
 * Stages are the phases, in the order in which the ranks begin them; behind each, the own time
 * until the next one, then the communication until the next one: what a rank waits there for others
 * lies behind what the others do meanwhile. A phase that comes twice in a step counts once, with
 * both times. Recordings without phases but with work of devices have the classes of their devices
 * instead. Pure; immutable once built. Borrows the summary.
 */
#ifndef SS_ANALYSIS_RANKS_STAGE_FRONTIER_H
#define SS_ANALYSIS_RANKS_STAGE_FRONTIER_H

#include "analysis/ranks/rank_profiles.h"

enum ss_stage_kind {
    SS_STAGE_PHASE,
    SS_STAGE_OTHER,         /* own time behind a phase */
    SS_STAGE_COMMUNICATION, /* behind a phase */
    SS_STAGE_IDLE,          /* this and the next three: of devices */
    SS_STAGE_COMPUTE,
    SS_STAGE_COPY,
    SS_STAGE_EXPOSED /* communication */
};

/* Sums over the steps. */
struct ss_stage {
    enum ss_stage_kind kind;
    size_t phase;        /* the phase, or the one that it is behind; the number of phases: none */
    uint64_t exposed_ns; /* what it adds to the frontier */
    uint64_t median_ns;  /* of the rank in the middle */
    uint64_t delay_ns;   /* that arises here */
    size_t rank;         /* that causes most of the delay: of `ranks`; valid if delay_ns > 0 */
    uint64_t rank_ns;    /* what it causes */
    uint64_t rank_steps; /* steps in which it causes any */
};

struct ss_stage_frontier {
    struct ss_vec_of(struct ss_stage) rows; /* in the order of a step; those that have any time */
    struct ss_vec_of(uint32_t) ranks;       /* processes, by rank: those of rank_profiles.h */
    uint64_t *rank_ns;                      /* [rows][ranks]: delays that each causes */
    uint64_t steps, skipped;                /* that all ranks have; that some lack */
    uint64_t total_ns;                      /* the sum of all exposed times */
    size_t worst; /* row with most delay of one rank that chance does not explain; the number of
                   * rows: there is none */
};

/* Built once for each summary of steps. */
const struct ss_stage_frontier *ss_steps_frontier(const struct ss_selection *selection,
                                                  const struct ss_step_summary *training);
/* The same, of the caller's own. */
void ss_stage_frontier_init(struct ss_stage_frontier *frontier,
                            const struct ss_selection *selection,
                            const struct ss_step_summary *training);
void ss_stage_frontier_fini(struct ss_stage_frontier *frontier);

/* The rank that falls behind by itself, in one stage, by enough to matter; NULL: none does. */
const struct ss_stage *ss_stage_frontier_behind(const struct ss_stage_frontier *frontier);
/* The stage in which most delay of the process arises; NULL: none does. */
const struct ss_stage *ss_stage_frontier_of(const struct ss_stage_frontier *frontier,
                                            uint32_t process, uint64_t *delay_ns);

/* "forward", "other", "idle". */
struct ss_strview ss_stage_text(const struct ss_stage *stage, const struct ss_model *model,
                                const struct ss_step_summary *training);

enum ss_stage_column {
    SS_STAGE_NAME,
    SS_STAGE_BEHIND, /* the phase before it, where it has no name of its own */
    SS_STAGE_PERCENT,
    SS_STAGE_STEP,
    SS_STAGE_MEDIAN,
    SS_STAGE_DELAY,
    SS_STAGE_RANK,
    SS_STAGE_RANK_PERCENT, /* of the delay */
    SS_STAGE_RANK_STEPS,
    SS_STAGE_COLUMNS
};
void ss_stage_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    struct ss_table *table);

#endif
