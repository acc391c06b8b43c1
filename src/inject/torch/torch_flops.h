/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of the operators that dominate a training: matrix products,
 * convolutions and attention, forward and backward, from the shapes of their arguments. A
 * multiplication and an addition count as two. Bias, scaling and softmax are left out.
 *
 * Pure, any thread; the arguments are those of an operator that is about to run.
 */
#ifndef SS_INJECT_TORCH_TORCH_FLOPS_H
#define SS_INJECT_TORCH_TORCH_FLOPS_H

#include "inject/torch/torch_layout.h"

/* 0: another operator, or unsupported shapes. */
uint64_t ss_torch_flops_of(const struct ss_torch_layout *layout, const char *name,
                           const struct ss_torch_value *inputs, size_t count);

#endif
