/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of each recorded call of an operator (operator_work.h), where its shapes were recorded.
 * Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_OPERATORS_OPERATOR_CALLS_H
#define SS_ANALYSIS_OPERATORS_OPERATOR_CALLS_H

#include "analysis/calls/sequences.h"
#include "analysis/operators/operator_work.h"

enum ss_work_answer {
    SS_WORK_NOT_OPERATOR,
    SS_WORK_NO_FORMULA,
    SS_WORK_NO_SHAPES, /* or not enough of them, or values that are needed */
    SS_WORK_KNOWN
};

struct ss_operator_calls {
    const struct ss_range_finder *finder;
    struct ss_vec_of(struct ss_operator_work) works; /* of different calls */
    uint32_t *work_of;                               /* by range: index of its work, plus one */
    uint8_t *answers;                                /* by range: enum ss_work_answer */
    bool *has_product;     /* by range: matrix products and the like are within this call */
    uint32_t *shape_track; /* by thread: the track of its operators with shapes; 0: none */
    bool has_shapes;
};

void ss_operator_calls_init(struct ss_operator_calls *calls, const struct ss_selection *selection,
                            const struct ss_sequences *sequences);
void ss_operator_calls_fini(struct ss_operator_calls *calls);

/* The work of a call; NULL: unknown, or it is that of calls within it. */
const struct ss_operator_work *ss_operator_call_work(const struct ss_operator_calls *calls,
                                                     uint32_t range);

#endif
