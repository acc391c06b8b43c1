/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the loaded libtorch before its use: an observer sees operators whose arguments and names
 * are known, and finds the offsets at which libtorch stores them (torch_layout.h). The hooks
 * run the operators (torch_hooks/operators.py).
 *
 * One thread, which holds the GIL; operators of other threads are ignored.
 */
#ifndef SS_INJECT_TORCH_TORCH_CHECK_H
#define SS_INJECT_TORCH_TORCH_CHECK_H

#include "inject/torch/torch_layout.h"

/* The result; members are 0 until then, and if their search failed. */
extern struct ss_torch_layout ss_torch_layout;

void ss_torch_check_begin(void);
/* The next operator is aten::mul of these two (c10::TensorImpl). */
void ss_torch_check_product(const void *first, const void *second);
/* The next operator is aten::permute with this list. */
void ss_torch_check_list(struct ss_torch_shape values);
/* A tensor of these sizes. */
void ss_torch_check_sizes(const void *tensor, struct ss_torch_shape shape);
/* A tensor on a device of this type (enum SS_TORCH_CPU…). */
void ss_torch_check_device(const void *tensor, uint8_t kind);
/* NULL, or why operators cannot be recorded. */
const char *ss_torch_check_end(void);

#endif
