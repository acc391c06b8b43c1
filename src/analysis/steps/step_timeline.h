/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few steps of a training as a picture of all that ran in them: the median, the slowest and the
 * first, each with a lane for each track of its process: phases, ranges, operators, calls, streams.
 * What is too short to be seen is left out and counted. Texts are borrowed from the model. Pure;
 * immutable once built.
 */
#ifndef SS_ANALYSIS_STEPS_STEP_TIMELINE_H
#define SS_ANALYSIS_STEPS_STEP_TIMELINE_H

#include "analysis/steps/steps.h"

enum { SS_TIMELINE_SPANS_MOST = 600, SS_TIMELINE_LANES_MOST = 16, SS_TIMELINE_DEPTH_MOST = 12 };

struct ss_step_timeline_span {
    uint32_t name;                  /* string of the model */
    uint32_t depth;                 /* from 0 */
    uint64_t begin_ns, duration_ns; /* within the step */
};

struct ss_step_timeline_lane {
    struct ss_strview owner; /* thread or stream; empty: the process */
    struct ss_strview name;  /* domain */
    bool is_device;
    struct ss_vec_of(struct ss_step_timeline_span) spans; /* by begin */
    uint64_t hidden;                                      /* too short, or too deep */
};

struct ss_step_timeline_step {
    const char *which; /* "median" */
    uint32_t process;  /* of the model */
    int64_t number;
    enum ss_step_kind kind;
    uint64_t duration_ns;
    struct ss_vec_of(struct ss_step_timeline_lane) lanes;
    size_t hidden_lanes;
};

struct ss_step_timeline {
    const struct ss_model *model;
    struct ss_vec_of(struct ss_step_timeline_step) steps;
    size_t processes; /* whose steps these are */
};

/* Nothing without a step that was seen whole. */
void ss_step_timeline_init(struct ss_step_timeline *timeline, const struct ss_model *model,
                           const struct ss_step_summary *training);
void ss_step_timeline_fini(struct ss_step_timeline *timeline);

#endif
