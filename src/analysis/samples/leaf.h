/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaf table: the samples of the innermost functions of the stacks, each with the innermost
 * function of a library (or of user code) that led there. For every file that itwinai reads, the
 * rows, their order and their percentages are those of itwinai's report. Pure.
 */
#ifndef SS_ANALYSIS_SAMPLES_LEAF_H
#define SS_ANALYSIS_SAMPLES_LEAF_H

#include "analysis/selection/selection.h"
#include "analysis/table/table.h"

enum ss_library_rule {
    SS_LIBRARY_OWN_CODE, /* neither the standard library nor an installed package */
    SS_LIBRARY_NAME,     /* a whole component of the path: "torch" is not "torchvision" */
    SS_LIBRARY_SUBSTRING /* anywhere in the path, as itwinai does */
};

struct ss_leaf_options {
    size_t size;
    enum ss_library_rule rule;
    const char *library; /* for NAME and SUBSTRING */
    bool aggregate;      /* one row for equal leaves with equal library frames */
    uint64_t max_rows;   /* 0: all */
    bool full_paths;     /* as recorded, not as py-spy shortens them */
};

void ss_leaf_table(const struct ss_selection *selection, const struct ss_leaf_options *options,
                   struct ss_table *table);

#endif
