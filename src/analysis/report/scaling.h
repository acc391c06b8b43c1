/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a training scales: runs with different numbers of ranks side by side. A run is measured by
 * itself, so that its model can be freed before the next one is loaded; runs of one size are
 * repeats. Pure.
 *
 * Speed-up is the ratio of samples per second to those of the smallest size. Where not all runs say
 * how large a batch is, it is the ratio of steps per second, of all ranks together if the work of a
 * rank stays the same (weak scaling). Efficiency is the speed-up by the ratio of the numbers of
 * ranks.
 */
#ifndef SS_ANALYSIS_REPORT_SCALING_H
#define SS_ANALYSIS_REPORT_SCALING_H

#include "analysis/report/document.h"
#include "analysis/selection/selection.h"

/* 0: unknown, except where it says otherwise. */
struct ss_scaling_run {
    const char *name; /* borrowed */
    size_t ranks;     /* processes with steps */
    size_t nodes, devices;
    size_t steps; /* steady-state, of all ranks */
    double step_ns;
    double samples_per_s;
    double exposed_percent; /* communication that nothing hides, of the step; negative: unknown */
    double energy_wh;       /* of all devices and processors that count it, over the recording */
};

void ss_scaling_measure(struct ss_scaling_run *run, const struct ss_selection *selection);

/* A figure of the runs of one size: its mean, and the half width of the 95 % confidence interval of
 * the mean; NAN: unknown. */
struct ss_scaling_figure {
    double mean, error;
};

enum ss_scaling_column {
    SS_SCALING_RANKS,
    SS_SCALING_NODES,
    SS_SCALING_DEVICES,
    SS_SCALING_RUNS,
    SS_SCALING_STEP, /* each of these is followed by its error */
    SS_SCALING_STEP_ERROR,
    SS_SCALING_SAMPLES,
    SS_SCALING_SAMPLES_ERROR,
    SS_SCALING_SPEED_UP,
    SS_SCALING_SPEED_UP_ERROR,
    SS_SCALING_EFFICIENCY,
    SS_SCALING_EFFICIENCY_ERROR,
    SS_SCALING_EXPOSED,
    SS_SCALING_EXPOSED_ERROR,
    SS_SCALING_ENERGY,
    SS_SCALING_ENERGY_ERROR,
    SS_SCALING_COLUMNS
};

struct ss_scaling_size {
    size_t ranks, nodes, devices, runs;
    struct ss_scaling_figure step_ns, samples_per_s, speed_up, efficiency, exposed, energy_wh;
};

struct ss_scaling {
    struct ss_vec_of(struct ss_scaling_size) sizes; /* by ranks */
    bool is_by_samples;                             /* else by steps */
    bool is_weak;
};

/* `runs` have at least one rank each. */
void ss_scaling_init(struct ss_scaling *scaling, const struct ss_scaling_run *runs, size_t count,
                     bool is_weak);
void ss_scaling_fini(struct ss_scaling *scaling);
/* Fills an empty document. */
void ss_scaling_compose(const struct ss_scaling *scaling, const struct ss_scaling_run *runs,
                        size_t count, struct ss_document *document);

#endif
