/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the modules of a network cost: the ranges of the domain "torch.module" by name, and the
 * backward that belongs to them. An operator that autograd follows and the node of its backward
 * have one sequence number; of operators with the same number the last one made the node. So a
 * node belongs to the modules that were open when that operator was called. Pure.
 */
#ifndef SS_ANALYSIS_MODULES_H
#define SS_ANALYSIS_MODULES_H

#include "analysis/operators.h"

enum ss_module_column {
    SS_MODULE_NAME,
    SS_MODULE_PHASE, /* this and the next three where rows are kept apart by them */
    SS_MODULE_PID,
    SS_MODULE_TID,
    SS_MODULE_THREAD,
    SS_MODULE_CALLS,
    SS_MODULE_SELF, /* what no inner module covers */
    SS_MODULE_TOTAL,
    SS_MODULE_BACKWARD,      /* with that of inner modules; this and the next two are absent where
                                no node was found to belong to a module */
    SS_MODULE_BACKWARD_SELF, /* without */
    SS_MODULE_MEAN,          /* total by calls */
    SS_MODULE_MIN,
    SS_MODULE_P50,
    SS_MODULE_P95,
    SS_MODULE_MAX,
    SS_MODULE_STEP_PERCENT, /* total and backward, of the time of the usual steps */
    SS_MODULE_STEP_CALLS,   /* this and the next two: mean per usual step */
    SS_MODULE_STEP_TOTAL,
    SS_MODULE_STEP_BACKWARD,
    SS_MODULE_COLUMNS
};

/* Sorted by what operators are; total is with backward, and so is self. By step is by total within
 * usual steps; then, and without any, by total. */
void ss_modules_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                      const struct ss_operators_options *options, struct ss_table *table);

#endif
