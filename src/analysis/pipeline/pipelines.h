/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings in pipeline stages: the ranks that send each other the micro-batches of a step, and how
 * long each waits for the others. A step's pass through the pipeline lasts from the first forward
 * of any stage to the last backward of any; what a stage communicates meanwhile is idle time. Of
 * it, what lies before the stage's first backward is warm-up, what lies behind its last forward
 * (and first backward) is drain, the rest is in the steady part. Where the devices of all stages
 * were recorded, their kernels count instead, each in the phase in which it was launched: idle is
 * what a stage's device does not compute.
 *
 * With p equal stages and m micro-batches, (p - 1) / (m + p - 1) of the pass is idle, whatever the
 * schedule. Chunks of a stage count as micro-batches: an interleaved schedule has as many more.
 * Where stages take unequal time, the pass takes (m - 1) times the slowest micro-batch, plus one of
 * each stage: this says what equal stages would save. Pure; immutable once built. Borrows the
 * model.
 */
#ifndef SS_ANALYSIS_PIPELINE_PIPELINES_H
#define SS_ANALYSIS_PIPELINE_PIPELINES_H

#include "analysis/steps/steps.h"

enum ss_pipeline_part { SS_PIPELINE_WARM_UP, SS_PIPELINE_STEADY, SS_PIPELINE_DRAIN };
enum { SS_PIPELINE_PARTS = SS_PIPELINE_DRAIN + 1 };

/* A rank; sums over the steps. */
struct ss_pipeline_stage {
    uint32_t process, pipeline;
    int64_t rank;
    uint64_t steps;
    uint64_t micro_batches; /* forward passes */
    uint64_t pass_ns;       /* of all stages together */
    uint64_t work_ns;       /* forward and backward */
    uint64_t idle_ns[SS_PIPELINE_PARTS];
    uint64_t transfer_ns; /* of the idle time, until a send or a receive ended; the rest is in
                           * collectives */
    int64_t longest_for;  /* rank that it waited longest for; -1: none */
    uint64_t longest_ns;
};

struct ss_pipeline {
    size_t first, stages;        /* rows of ss_pipelines.stages */
    bool is_of_devices;          /* the times are those of the stages' devices */
    uint64_t steps;              /* that all its ranks have as steady-state steps */
    double micro_batches;        /* in a step */
    double pass_ns, idle_ns;     /* of a step; of the mean stage */
    double ideal_ns;             /* what it would be idle with equal stages */
    double unequal_ns;           /* what unequal stages add to the pass */
    size_t slowest;              /* row of the stage with most work */
    double slowest_ns, other_ns; /* of a micro-batch: there, and in the mean of the others */
};

struct ss_pipelines {
    struct ss_vec_of(struct ss_pipeline_stage) stages; /* by pipeline, then by rank */
    struct ss_vec_of(struct ss_pipeline) rows;
};

void ss_pipelines_init(struct ss_pipelines *pipelines, const struct ss_selection *selection,
                       const struct ss_step_summary *training);
void ss_pipelines_fini(struct ss_pipelines *pipelines);

/* (p - 1) / (m + p - 1) */
double ss_pipeline_ideal(size_t stages, double micro_batches);
uint64_t ss_pipeline_stage_idle_ns(const struct ss_pipeline_stage *stage);

enum ss_pipeline_column {
    SS_PIPELINE_RANK,
    SS_PIPELINE_PID,
    SS_PIPELINE_NUMBER, /* from 0 */
    SS_PIPELINE_STAGE,  /* from 0, in the order of the ranks */
    SS_PIPELINE_STEPS,
    SS_PIPELINE_MICRO_BATCHES, /* in a step */
    SS_PIPELINE_WORK,          /* of a step */
    SS_PIPELINE_MICRO_BATCH,   /* forward and backward of one */
    SS_PIPELINE_IDLE_PERCENT,  /* of the pass */
    SS_PIPELINE_IDEAL_PERCENT,
    SS_PIPELINE_IDLE, /* of a step; this and the next three */
    SS_PIPELINE_IDLE_WARM_UP,
    SS_PIPELINE_IDLE_STEADY,
    SS_PIPELINE_IDLE_DRAIN,
    SS_PIPELINE_COLLECTIVES, /* of the idle time, not until a send or a receive ended */
    SS_PIPELINE_FOR_RANK,    /* that it waits longest for */
    SS_PIPELINE_COLUMNS
};
void ss_pipeline_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                       struct ss_table *table);

#endif
