/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of a training step: in all, by operator and by module. The integration
 * of PyTorch counts them in a few steps (domain "torch.flops": a mark where each operator begins,
 * and a range around the counted time). A backward operator belongs to the module of its forward,
 * found by autograd's sequence number. An estimate: only matrix products, convolutions and
 * attention count, and steps are assumed equal. Pure.
 */
#ifndef SS_ANALYSIS_OPERATORS_FLOPS_H
#define SS_ANALYSIS_OPERATORS_FLOPS_H

#include "analysis/steps/steps.h"
#include "analysis/table/table.h"

/* The peak rate of a device. */
struct ss_peak {
    double flops_per_s; /* 0: unknown */
    char of[96];        /* "H100 SXM in 16-bit floats" */
};

struct ss_flops_figures {
    uint64_t steps;   /* counted steps; 0: all else is 0 */
    double flops;     /* per step: mean over all training processes */
    double calls;     /* per step: counted operators */
    uint64_t step_ns; /* mean of steady-state steps; without any, of counted steps */
    bool is_gpu;      /* a GPU computes */
    struct ss_peak peak;
};
void ss_flops_figures_find(struct ss_flops_figures *figures, const struct ss_selection *selection,
                           const struct ss_step_summary *training);
/* FLOPs per second; 0: unknown. */
double ss_flops_rate(const struct ss_flops_figures *figures);

enum ss_flops_column {
    SS_FLOPS_KIND,         /* "step", "operator", "module" */
    SS_FLOPS_NAME,         /* of operators and modules */
    SS_FLOPS_COUNT,        /* per step; of modules: with inner modules */
    SS_FLOPS_PERCENT,      /* of the step's FLOPs */
    SS_FLOPS_CALLS,        /* per step: counted operators */
    SS_FLOPS_TIME,         /* per step: of the steady-state step, or of a timed operator */
    SS_FLOPS_RATE,         /* per second of that time; of operators absent where a GPU computes */
    SS_FLOPS_PEAK,         /* of the step: the device's peak rate, if known */
    SS_FLOPS_PEAK_PERCENT, /* rate / peak: model FLOPs utilisation */
    SS_FLOPS_PEAK_OF,      /* the device, and the number format */
    SS_FLOPS_STEPS,        /* of the step: number of counted steps */
    SS_FLOPS_COLUMNS
};

/* First the step's row, then operators, then modules, the largest first; no rows where nothing was
 * counted. */
void ss_flops_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                    uint64_t max_rows, struct ss_table *table);

/* Names of the tracks that the table needs, for struct ss_model_load; ends with NULL. */
extern const char *const ss_flops_tracks[];

struct ss_peak ss_peak_of_gpu(struct ss_strview name);
/* `capability`: the name that torch uses, "AVX2". */
struct ss_peak ss_peak_of_cpu(struct ss_strview capability, int64_t mhz, int64_t threads);

#endif
