/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of a network's modules: the ranges of the domain "torch.module" by name, and the backward
 * that belongs to them. An operator that autograd tracks and the node of its backward share one
 * sequence number; of operators with the same number, the last one created the node. So a node
 * belongs to the modules that were open when that operator was called. The work of devices belongs
 * to the modules in which it was launched, or to those whose backward launched it. Pure.
 */
#ifndef SS_ANALYSIS_OPERATORS_MODULES_H
#define SS_ANALYSIS_OPERATORS_MODULES_H

#include "analysis/operators/operators.h"

enum ss_module_column {
    SS_MODULE_NAME,
    SS_MODULE_PHASE, /* this and the next three: where rows are grouped by them */
    SS_MODULE_PID,
    SS_MODULE_TID,
    SS_MODULE_THREAD,
    SS_MODULE_CALLS,
    SS_MODULE_SELF, /* what no inner module covers */
    SS_MODULE_TOTAL,
    SS_MODULE_BACKWARD,      /* with inner modules; this, the next and SS_MODULE_STEP_BACKWARD are
                              * absent where no node belongs to a module */
    SS_MODULE_BACKWARD_SELF, /* without inner modules */
    SS_MODULE_MEAN,          /* total / calls */
    SS_MODULE_MIN,
    SS_MODULE_P50,
    SS_MODULE_P95,
    SS_MODULE_MAX,
    SS_MODULE_STEP_PERCENT, /* total and backward, of the time of the steady-state steps */
    SS_MODULE_STEP_CALLS,   /* this and the next two: mean per steady-state step */
    SS_MODULE_STEP_TOTAL,
    SS_MODULE_STEP_BACKWARD,
    SS_MODULE_STEP_TOTAL_PM, /* at 95 %; only with has_errors */
    SS_MODULE_COLUMNS,
    /* Of recordings with work of devices only: */
    SS_MODULE_DEVICE_PERCENT =
        SS_MODULE_COLUMNS,     /* forward and backward, of the time of all work */
    SS_MODULE_DEVICE,          /* launched in the module and its inner ones */
    SS_MODULE_DEVICE_SELF,     /* without inner modules */
    SS_MODULE_DEVICE_BACKWARD, /* launched by the backward of its operators */
    SS_MODULE_DEVICE_BACKWARD_SELF,
    SS_MODULE_STEP_DEVICE, /* this and the next: launched in a steady-state step, mean */
    SS_MODULE_STEP_DEVICE_BACKWARD,
    SS_MODULE_DEVICE_COLUMNS
};

/* Sorts are those of operators; total and self include the backward, also on devices.
 * SS_OPERATORS_BY_STEP sorts by the share of the steady-state steps; ties, and recordings without
 * such steps, by total. */
void ss_modules_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      const struct ss_operators_options *options, struct ss_table *table);

#endif
