/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator of PyTorch has to do at least, from the shapes of its arguments: floating-point
 * operations (a multiplication and an addition are two), and bytes of memory, each input and
 * output once. operator_work.def has the operators. An estimate: caches, and what an
 * implementation does besides, are not in it. Pure.
 */
#ifndef SS_ANALYSIS_OPERATORS_OPERATOR_WORK_H
#define SS_ANALYSIS_OPERATORS_OPERATOR_WORK_H

#include "analysis/operators/operator_arguments.h"
#include "analysis/table/kernel_families.h"

struct ss_operator_rule;

struct ss_operator_work {
    enum ss_kernel_family family;
    bool
        is_product; /* a matrix product, convolution or attention: what counts as a model's FLOPs */
    enum ss_datatype type; /* in which it computes */
    double flops;
    double skipped_flops; /* of them, what a causal mask makes unnecessary */
    double bytes;
    double untyped_elements; /* read and written besides, of unknown type */
};

/* NULL: there is no formula for this operator. Names without a last "_", which marks operators that
 * change an argument, are found too. */
const struct ss_operator_rule *ss_operator_rule_of(struct ss_strview name);
/* Whether its operators are those that count as a model's FLOPs. */
bool ss_operator_rule_is_product(const struct ss_operator_rule *rule);

/* `output`: the shape of what it computes, where that is known from elsewhere; else NULL. False:
 * what was recorded of the arguments does not suffice. */
bool ss_operator_work_of(const struct ss_operator_rule *rule,
                         const struct ss_operator_arguments *arguments,
                         const struct ss_operator_argument *output, struct ss_operator_work *work);

#endif
