/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steady-state steps of a training as series in order of time, and means over them with their
 * error (analysis/table/mean_error.h). A series is the steps of one process. Series that overlap in
 * time are the ranks of one run; others are runs of their own: a folder may hold several recordings
 * of one training. Pure; immutable once built. Borrows the summary.
 */
#ifndef SS_ANALYSIS_STEPS_STEP_SERIES_H
#define SS_ANALYSIS_STEPS_STEP_SERIES_H

#include "analysis/steps/steady_time.h"

struct ss_step_row_of_series {
    uint32_t process;
    size_t first, count; /* places */
    size_t run;          /* from 0 */
    uint64_t begin_ns, end_ns;
};

struct ss_step_series {
    const struct ss_step_summary *training;
    struct ss_vec_of(struct ss_step_row_of_series) rows;
    struct ss_vec_of(size_t) steps; /* by place: index into training->steps */
    size_t runs;
};

/* 95 %; the error is NAN where it is unknown. */
struct ss_mean_with_error {
    double mean, error;
};

/* Only steps of which that was recorded. */
void ss_step_series_init(struct ss_step_series *series, const struct ss_step_summary *training,
                         enum ss_steady_of of);
void ss_step_series_fini(struct ss_step_series *series);

/* The mean of `values`, by place; 0 of none. Ranks wait for each other, so that nothing is gained
 * by their number: the error of a run is the mean of its ranks' errors, which no correlation of
 * ranks exceeds. With several runs, the spread between them counts where it is larger: it has what
 * differs from run to run on one machine. */
struct ss_mean_with_error ss_step_series_mean(const struct ss_step_series *series,
                                              const double *values);
struct ss_mean_with_error ss_step_series_duration(const struct ss_step_series *series);
struct ss_mean_with_error ss_step_series_phase(const struct ss_step_series *series, size_t phase);
/* Whole ns; absent where it is NAN. */
struct ss_cell ss_error_cell(double error_ns);
/* Fills the errors of a table of phases (analysis/steps/steps.h). */
void ss_step_series_put_phases(const struct ss_step_series *series, struct ss_table *table);

/* The place of the step in which the process is at `time_ns`; SIZE_MAX: in none of the series. */
size_t ss_step_series_at(const struct ss_step_series *series, uint32_t process, uint64_t time_ns);

#endif
