/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of a training step, from the few steps in which the integration of
 * PyTorch counted them (domain "torch.flops": a mark where each operator begins, and a range that
 * says while it counted): in all, by operator, and by module. An operator of backward belongs to
 * the module whose forward it is the backward of, by autograd's sequence numbers. An estimate: of
 * matrix products, convolutions and attention only, and steps are taken to be alike. Pure.
 */
#ifndef SS_ANALYSIS_FLOPS_H
#define SS_ANALYSIS_FLOPS_H

#include "analysis/steps.h"
#include "analysis/table.h"

/* What a device can do in a second. */
struct ss_peak {
    double flops_per_s; /* 0: not known */
    char of[96];        /* "H100 SXM in 16-bit floats" */
};

struct ss_flops_figures {
    uint64_t steps;   /* in which they were counted; 0: the rest is nothing */
    double flops;     /* of a step; of the mean of all processes that train */
    double calls;     /* of it: operators */
    uint64_t step_ns; /* mean of the usual ones; without any, of those counted */
    bool is_gpu;      /* a GPU computes */
    struct ss_peak peak;
};
void ss_flops_figures_find(struct ss_flops_figures *figures, const struct ss_selection *selection,
                           const struct ss_step_summary *training);
/* Per second; 0: not known. */
double ss_flops_rate(const struct ss_flops_figures *figures);

enum ss_flops_column {
    SS_FLOPS_KIND,    /* "step", "operator", "module" */
    SS_FLOPS_NAME,    /* of operators and modules */
    SS_FLOPS_COUNT,   /* per step; of modules with inner ones */
    SS_FLOPS_PERCENT, /* of the step's */
    SS_FLOPS_CALLS,   /* per step: operators that were counted */
    SS_FLOPS_TIME,    /* per step: of the usual step, or of an operator where operators are timed */
    SS_FLOPS_RATE,    /* by that time, per second; absent where a GPU computes */
    SS_FLOPS_PEAK,    /* of the step: what the device can do per second, where that is known */
    SS_FLOPS_PEAK_PERCENT, /* the rate, of the peak: model FLOPs utilisation */
    SS_FLOPS_PEAK_OF,      /* which device that is, and in which format */
    SS_FLOPS_STEPS,        /* of the step: in how many steps they were counted */
    SS_FLOPS_COLUMNS
};

/* The first row is the step's; none where nothing was counted. The largest first. */
void ss_flops_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    uint64_t max_rows, struct ss_table *table);

/* Names of the tracks that it needs, for struct ss_model_load; ends with NULL. */
extern const char *const ss_flops_tracks[];

struct ss_peak ss_peak_of_gpu(struct ss_strview name);
/* `capability`: as torch names it, "AVX2". */
struct ss_peak ss_peak_of_cpu(struct ss_strview capability, int64_t mhz, int64_t threads);

#endif
