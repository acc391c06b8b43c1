/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running libtorch is tried before it is relied on: an observer sees operators whose arguments
 * and names are known, and from that finds out where they are kept (torch_layout.h). The Python
 * text runs the operators (python/stepscope/_torch_hooks.py, _check_operators).
 *
 * One thread, which holds the interpreter; what other threads run meanwhile is not looked at.
 */
#ifndef SS_INJECT_TORCH_CHECK_H
#define SS_INJECT_TORCH_CHECK_H

#include "inject/torch_layout.h"

/* What has been found; all 0 until then, and where it was not. */
extern struct ss_torch_layout ss_torch_layout;

void ss_torch_check_begin(void);
/* Next is aten::mul of these two (c10::TensorImpl). */
void ss_torch_check_product(const void *first, const void *second);
/* Next is aten::permute with this list. */
void ss_torch_check_list(struct ss_torch_shape values);
/* A tensor of these sizes. */
void ss_torch_check_sizes(const void *tensor, struct ss_torch_shape shape);
/* A tensor on a device of this kind (enum SS_TORCH_CPU…). */
void ss_torch_check_device(const void *tensor, uint8_t kind);
/* NULL, or why operators can not be recorded. */
const char *ss_torch_check_end(void);

#endif
