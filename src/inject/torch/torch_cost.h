/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates what it costs to record an operator in this program. Most of it is torch's own cost,
 * which cannot be measured from within: torch makes a name for each autograd node and an object for
 * each observed operator. So steps with recorded operators are compared with steps without; which
 * is which is chosen at random.
 *
 * Owned by its caller; one thread at a time.
 */
#ifndef SS_INJECT_TORCH_TORCH_COST_H
#define SS_INJECT_TORCH_TORCH_COST_H

#include <stdbool.h>

enum { SS_TORCH_COST_STEPS = 32 };

struct ss_torch_cost {
    double ns; /* the estimate for one operator */
    /* The last steps without and with recorded operators, and the mean number of these per step. */
    double steps_ns[2][SS_TORCH_COST_STEPS], operators;
    unsigned counts[2];
};

void ss_torch_cost_init(struct ss_torch_cost *cost);
/* Adds a step that ended. `operators`: how many were recorded in it. */
void ss_torch_cost_add(struct ss_torch_cost *cost, bool is_recorded, double step_ns,
                       double operators);

#endif
