/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to record an operator here, in this program: most of it is torch's own, which makes
 * a name for each node and an object for each operator that somebody observes, and cannot be seen
 * from within. Steps whose operators are recorded are held against the others, which chance chose.
 *
 * Its caller's; one thread at a time.
 */
#ifndef SS_INJECT_TORCH_COST_H
#define SS_INJECT_TORCH_COST_H

#include <stdbool.h>

enum { SS_TORCH_COST_STEPS = 32 };

struct ss_torch_cost {
    double ns; /* of one operator, as far as we know */
    /* The last steps that were not recorded, and those that were. */
    double steps_ns[2][SS_TORCH_COST_STEPS], operators;
    unsigned counts[2];
};

void ss_torch_cost_init(struct ss_torch_cost *cost);
/* A step is over. `operators`: how many were recorded in it. */
void ss_torch_cost_see(struct ss_torch_cost *cost, bool is_recorded, double step_ns,
                       double operators);

#endif
