/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of the operators that do nearly all of a training's: products of
 * matrices, convolutions and attention, forward and backward, from the shapes of their arguments.
 * A multiplication and an addition are two. What bias, scaling and softmax cost is left out.
 *
 * Pure, any thread; the arguments are those of an operator that is about to run.
 */
#ifndef SS_INJECT_TORCH_FLOPS_H
#define SS_INJECT_TORCH_FLOPS_H

#include "inject/torch_layout.h"

/* 0: not one of these, or not with shapes that we know what to do with. */
uint64_t ss_torch_flops_of(const struct ss_torch_layout *layout, const char *name,
                           const struct ss_torch_value *inputs, size_t count);

#endif
