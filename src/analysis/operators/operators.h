/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of a framework's operators: the ranges of the domain "torch" by name. A call whose only
 * inner call has the same name counts as one with it, so that counts are those of torch.profiler's
 * key_averages. Where operators were recorded in some steps only, figures per step are over those
 * steps. The work of devices belongs to the innermost operator in which it was launched. Pure.
 */
#ifndef SS_ANALYSIS_OPERATORS_OPERATORS_H
#define SS_ANALYSIS_OPERATORS_OPERATORS_H

#include "analysis/calls/calls.h"
#include "analysis/table/table.h"

enum ss_operator_column {
    SS_OPERATOR_NAME,
    SS_OPERATOR_KIND,  /* "operator", "backward" (autograd node), "scope" (record_function),
                        * "runtime"  (call of a device's), "unattributed" (device work of no
                        * operator)
                        */
    SS_OPERATOR_PHASE, /* this and the next three: where rows are grouped by them */
    SS_OPERATOR_PID,
    SS_OPERATOR_TID,
    SS_OPERATOR_THREAD,
    SS_OPERATOR_CALLS,
    SS_OPERATOR_SELF_PERCENT, /* of the self time of all rows */
    SS_OPERATOR_SELF,
    SS_OPERATOR_BACKWARD, /* the part of self within an autograd node */
    SS_OPERATOR_TOTAL,
    SS_OPERATOR_MEAN, /* total / calls */
    SS_OPERATOR_MIN,
    SS_OPERATOR_P50,
    SS_OPERATOR_P95,
    SS_OPERATOR_MAX,
    SS_OPERATOR_STEP_PERCENT, /* self, of the time of the steady-state steps; absent without any */
    SS_OPERATOR_STEP_CALLS,   /* this and the next two: mean per steady-state step */
    SS_OPERATOR_STEP_SELF,
    SS_OPERATOR_STEP_TOTAL,
    SS_OPERATOR_BACKWARD_PERCENT, /* of self; absent: none */
    SS_OPERATOR_STEP_SELF_PM,     /* at 95 %; only with has_errors */
    SS_OPERATOR_COLUMNS,
    /* Of recordings with work of devices only: */
    SS_OPERATOR_DEVICE_PERCENT = SS_OPERATOR_COLUMNS, /* self, of the time of all work */
    SS_OPERATOR_DEVICE_SELF,                          /* launched in the operator itself */
    SS_OPERATOR_DEVICE_TOTAL,                         /* in inner operators too */
    SS_OPERATOR_DEVICE_WORKS,     /* launched in the operator itself: kernels, copies, memsets */
    SS_OPERATOR_STEP_DEVICE_SELF, /* this and the next: launched in a steady-state step, mean */
    SS_OPERATOR_STEP_DEVICE_TOTAL,
    SS_OPERATOR_DEVICE_COLUMNS
};

/* The columns of torch.profiler's table; times in microseconds. */
enum ss_key_averages_column {
    SS_KEY_NAME,
    SS_KEY_SELF_PERCENT,
    SS_KEY_SELF,
    SS_KEY_TOTAL_PERCENT, /* of the self time of all rows */
    SS_KEY_TOTAL,
    SS_KEY_MEAN,
    SS_KEY_COUNT,
    /* Of calls that torch.profiler recorded; these columns exist only with such calls. */
    SS_KEY_CPU_BYTES,
    SS_KEY_SELF_CPU_BYTES,
    SS_KEY_DEVICE_BYTES,
    SS_KEY_SELF_DEVICE_BYTES,
    SS_KEY_SHAPES, /* where rows are grouped by them */
    SS_KEY_FLOPS,
    /* Of recordings with work of devices. As in torch, the work itself has rows too: of what ran on
     * a device, by its name. */
    SS_KEY_DEVICE_TYPE, /* "CPU", "CUDA": of what the row is about */
    SS_KEY_SELF_DEVICE,
    SS_KEY_SELF_DEVICE_PERCENT, /* of the time of all work */
    SS_KEY_DEVICE_TOTAL,
    SS_KEY_DEVICE_MEAN,
    SS_KEY_COLUMNS
};

enum ss_operator_sort {
    SS_OPERATORS_BY_SELF,
    SS_OPERATORS_BY_TOTAL,
    SS_OPERATORS_BY_MEAN,
    SS_OPERATORS_BY_CALLS,
    SS_OPERATORS_BY_MIN,
    SS_OPERATORS_BY_P50,
    SS_OPERATORS_BY_P95,
    SS_OPERATORS_BY_MAX,
    SS_OPERATORS_BY_STEP, /* self within steady-state steps; ties, and without such steps, self */
    SS_OPERATORS_BY_BACKWARD,
    SS_OPERATORS_BY_CPU_BYTES, /* this and the next two: self, key averages only */
    SS_OPERATORS_BY_DEVICE_BYTES,
    SS_OPERATORS_BY_FLOPS,
    SS_OPERATORS_BY_DEVICE_SELF, /* this and the next two: time on devices */
    SS_OPERATORS_BY_DEVICE_TOTAL,
    SS_OPERATORS_BY_DEVICE_MEAN,
    SS_OPERATORS_BY_NAME
};

struct ss_operators_options {
    size_t size;
    enum ss_operator_sort sort; /* largest first; names in ascending order */
    uint64_t max_rows;          /* 0: all */
    unsigned grouping;          /* enum ss_call_grouping */
    bool has_errors;            /* of the time per step; needs a training */
};

/* `training` may be NULL. */
void ss_operators_table(const struct ss_selection *selection,
                        const struct ss_step_summary *training,
                        const struct ss_operators_options *options, struct ss_table *table);
/* Where torch.profiler recorded more of calls than their time: the calls that it recorded, and no
 * others. */
void ss_key_averages_table(const struct ss_selection *selection,
                           const struct ss_step_summary *training,
                           const struct ss_operators_options *options, struct ss_table *table);

/* Whether the model has a track of this domain, regardless of the selection. */
bool ss_model_has_domain(const struct ss_model *model, const char *domain);

#endif
