/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of a few steps: while it counts, a second observer gets the arguments
 * of every operator, which costs more than names, and emits a mark at the operator's begin (domain
 * "torch.flops"; the payload is the number of operations). Steps are alike, so that a few are
 * representative.
 *
 * Operators of all threads; begin and end require the GIL.
 */
#ifndef SS_INJECT_TORCH_TORCH_COUNT_H
#define SS_INJECT_TORCH_TORCH_COUNT_H

/* NULL, or why nothing can be counted. */
const char *ss_torch_count_unavailable(void);
void ss_torch_count_begin(void);
void ss_torch_count_end(void);

#endif
