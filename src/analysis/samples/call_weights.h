/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a selection as one tree by function, with what each weighs in each part of a step: a
 * picture draws it, and finds callers and callees in it. Calls too light to be seen are folded into
 * one call for each caller, so that any input gives a limited number of them. Texts are borrowed
 * from the model. Pure; immutable once built.
 */
#ifndef SS_ANALYSIS_SAMPLES_CALL_WEIGHTS_H
#define SS_ANALYSIS_SAMPLES_CALL_WEIGHTS_H

#include "analysis/selection/selection.h"
#include "analysis/steps/steps.h"
#include "base/vec.h"

enum { SS_CALLS_MOST = 6000, SS_CALL_PARTS_MOST = SS_STEP_MAX_PHASES + 1 };

enum ss_call_group {
    SS_CALL_OF_PROGRAM,
    SS_CALL_OF_TORCH,
    SS_CALL_OF_PACKAGE,
    SS_CALL_OF_STDLIB,
    SS_CALL_NATIVE,
    SS_CALL_ON_DEVICE,
    SS_CALL_FOLDED
};

struct ss_weighed_call {
    uint32_t parent;   /* < own index; calls[0] is the root, and all */
    uint32_t function; /* index into functions */
    uint32_t folded;   /* number of calls that it stands for; 0: it is itself */
    uint64_t total;    /* over all parts */
};

struct ss_weighed_function {
    struct ss_strview name, file;
    int32_t line; /* where it begins; -1: unknown */
    enum ss_call_group group;
};

struct ss_call_weights {
    enum ss_total_weight weight; /* what is counted */
    struct ss_vec_of(struct ss_weighed_call) calls;
    struct ss_vec_of(struct ss_weighed_function) functions; /* [0]: of the root and of folds */
    struct ss_strview parts[SS_CALL_PARTS_MOST]; /* phases, then what lies outside of steps */
    size_t part_count;                           /* 1 without steps: its name is empty */
    uint64_t *self;                              /* [calls][parts] */
};

void ss_call_weights_init(struct ss_call_weights *weights, const struct ss_selection *selection,
                          const struct ss_step_summary *training);
void ss_call_weights_fini(struct ss_call_weights *weights);

#endif
