/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operator created a node of autograd: an operator that autograd tracks and the node of its
 * backward share one sequence number; of operators with the same number, the last one that began
 * before the node created it. Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_CALLS_FORWARD_OPERATORS_H
#define SS_ANALYSIS_CALLS_FORWARD_OPERATORS_H

#include "analysis/calls/calls.h"

struct ss_forward_operator {
    uint64_t number, begin_ns;
    uint32_t process;
    uint32_t range; /* index into model->ranges */
};

struct ss_forward_operators {
    struct ss_vec_of(struct ss_forward_operator) rows; /* by process, number, begin */
};

/* Sequence numbers, ascending. */
struct ss_sequence_numbers {
    struct ss_vec_of(uint64_t) rows;
};

/* Of the tracks of the domain, whatever is selected. `kinds`: ss_call_kinds. `wanted`: only
 * operators with these numbers; NULL: with any, which recordings have millions of. */
void ss_forward_operators_init(struct ss_forward_operators *operators, const struct ss_model *model,
                               const char *domain, const uint8_t *kinds,
                               const struct ss_sequence_numbers *wanted);
void ss_forward_operators_fini(struct ss_forward_operators *operators);

/* The sequence number of an operator or a node. False: it has none. */
bool ss_sequence_number(const struct ss_model *model, const struct ss_model_range *range,
                        uint64_t *number);
/* NULL: none was recorded. */
const struct ss_forward_operator *
ss_forward_operator_of(const struct ss_forward_operators *operators, uint32_t process,
                       uint64_t number, uint64_t node_begin_ns);

#endif
