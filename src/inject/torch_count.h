/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of a few steps: while it counts, a second observer has the arguments of
 * every operator, which costs more than their names, and marks what each computes where it begins
 * (domain "torch.flops"; the payload is the number). Steps are alike, so that a few tell of all.
 * All threads' operators; begin and end by whoever holds the interpreter.
 */
#ifndef SS_INJECT_TORCH_COUNT_H
#define SS_INJECT_TORCH_COUNT_H

/* NULL, or why there is nothing to count with. */
const char *ss_torch_count_why_not(void);
void ss_torch_count_begin(void);
void ss_torch_count_end(void);

#endif
