/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drift over time, for each process with steps and each stage of its step (analysis/table/drift.h):
 * the whole step, what of it is not communication ("own": ranks that wait for a slower one have
 * longer steps too, but no longer own time), and each phase. Steps outside the windows of a
 * schedule count, because their times are recorded as well; warm-up and cut steps do not. Pure;
 * immutable once built. Borrows the summary.
 */
#ifndef SS_ANALYSIS_RANKS_DRIFTS_H
#define SS_ANALYSIS_RANKS_DRIFTS_H

#include "analysis/steps/steps.h"
#include "analysis/table/drift.h"

enum ss_drift_stage { SS_DRIFT_STEP, SS_DRIFT_OWN, SS_DRIFT_PHASE };

struct ss_drift_row {
    uint32_t process;
    enum ss_drift_stage stage;
    size_t phase;   /* with SS_DRIFT_PHASE */
    double step_ns; /* median of the process's steps */
    double lost_ns; /* of a mean step: what it takes beyond the level of the run's begin */
    struct ss_drift drift;
    int64_t change_step; /* number of the step; with drift.has_changed_once */
    bool is_drifting;    /* certain, and large enough to matter */
};

struct ss_drifts {
    struct ss_vec_of(struct ss_drift_row) rows; /* by process; step, own, phases */
    size_t processes;                           /* with enough steps */
    size_t drifting;                            /* whose own time drifts; without communication,
                                                 * whose step does */
    size_t largest; /* row of the process whose own time drifts most, towards slower; the number of
                     * rows: there is none */
    size_t cause;   /* phase of that process that drifts most in the same direction; the number of
                     * rows: none does */
};

/* Whether the series have the step. */
bool ss_drift_counts(const struct ss_step *step);
void ss_drifts_init(struct ss_drifts *drifts, const struct ss_model *model,
                    const struct ss_step_summary *training);
void ss_drifts_fini(struct ss_drifts *drifts);

/* "step", "own time", or the phase. */
struct ss_strview ss_drift_stage_text(const struct ss_drift_row *row, const struct ss_model *model,
                                      const struct ss_step_summary *training);

enum ss_drift_column {
    SS_DRIFT_RANK,
    SS_DRIFT_PID,
    SS_DRIFT_STAGE,
    SS_DRIFT_WAY, /* "slower", "faster", "steady" */
    SS_DRIFT_MEDIAN,
    SS_DRIFT_CHANGE, /* from the first to the last step; this and the next two */
    SS_DRIFT_LOW,    /* at 95 % */
    SS_DRIFT_HIGH,
    SS_DRIFT_PERCENT,     /* of the median step */
    SS_DRIFT_CHANGE_STEP, /* where two levels fit better than a line: the first of the second */
    SS_DRIFT_BEFORE,
    SS_DRIFT_AFTER,
    SS_DRIFT_STEPS,
    SS_DRIFT_COLUMNS
};
/* `max_rows`: 0: all. */
void ss_drift_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    uint64_t max_rows, struct ss_table *table);

#endif
