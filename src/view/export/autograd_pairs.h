/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward operators and the backward ones that compute their gradients, joined by the sequence
 * number that autograd gives both. Pure; borrows the model. Private to view/export/.
 */
#ifndef SS_VIEW_EXPORT_AUTOGRAD_PAIRS_H
#define SS_VIEW_EXPORT_AUTOGRAD_PAIRS_H

#include "base/vec.h"
#include "model/core/model.h"

struct ss_autograd_operator {
    int64_t sequence;
    uint64_t begin_ns;
    uint32_t process, range;
    bool is_backward;
};

typedef struct ss_vec_of(struct ss_autograd_operator) ss_autograd_operators;

struct ss_autograd_pair {
    uint32_t forward, backward; /* ranges */
};

typedef struct ss_vec_of(struct ss_autograd_pair) ss_autograd_pairs;

/* Adds the range of an operator, if it has a sequence number. */
void ss_autograd_add(ss_autograd_operators *operators, const struct ss_model *model, uint32_t range,
                     uint32_t process);
/* Appends the pairs; sorts the operators. */
void ss_autograd_join(ss_autograd_operators *operators, ss_autograd_pairs *pairs);

#endif
