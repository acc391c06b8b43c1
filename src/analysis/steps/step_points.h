/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a training as points of a picture, in order of time: each with its phases. Of more
 * steps than a picture has room for, each point is the longest of several in a row, so that
 * outliers are seen. Borrows the summary's phases. Pure; immutable once built.
 */
#ifndef SS_ANALYSIS_STEPS_STEP_POINTS_H
#define SS_ANALYSIS_STEPS_STEP_POINTS_H

#include "analysis/steps/steps.h"

enum { SS_STEP_POINTS_MOST = 2000 };

struct ss_step_point {
    uint32_t process; /* of the model */
    int64_t number;
    enum ss_step_kind kind;
    uint64_t begin_ns; /* since the first step */
    uint64_t duration_ns;
};

struct ss_step_points {
    struct ss_vec_of(struct ss_step_point) rows;
    struct ss_strview phases[SS_STEP_MAX_PHASES];
    size_t phase_count;
    struct ss_vec_of(uint64_t) phase_ns; /* [rows][phases] */
    struct ss_vec_of(int64_t) pids;      /* of the processes, by index of the model; -1: unknown */
    struct ss_vec_of(int64_t) ranks;     /* the same */
    size_t each;                         /* steps of one process that a point stands for */
};

void ss_step_points_init(struct ss_step_points *points, const struct ss_model *model,
                         const struct ss_step_summary *training);
void ss_step_points_fini(struct ss_step_points *points);

#endif
