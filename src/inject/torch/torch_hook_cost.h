/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks of Python calls cost the training thread: modules, phases, loaders, optimizers. In
 * a few steps, chosen at random, the time within the hooks is measured; wrappers that are Python
 * functions themselves add what one took when the hooks were installed. The facts "torch.hooks_ns"
 * (of a step) and "torch.hooks_ppm" (share of the thread's time) hold the result.
 *
 * Each thread measures its own hooks; only the thread that ends steps counts.
 */
#ifndef SS_INJECT_TORCH_TORCH_HOOK_COST_H
#define SS_INJECT_TORCH_TORCH_HOOK_COST_H

#include <stdbool.h>
#include <stdint.h>

/* A new recording: what was measured before does not count. */
void ss_torch_hook_cost_start(void);
/* What one wrapper adds to a call, without its handlers. */
void ss_torch_hook_cost_set_wrapper(uint64_t ns);

/* Code of a hook begins on this thread. Returns whether it is measured: it is not while the step is
 * not, nor within other code of a hook. */
bool ss_torch_hook_cost_enter(void);
/* It ends, if it was measured. */
void ss_torch_hook_cost_leave(bool is_measured);
/* A wrapper that is a Python function was called. */
void ss_torch_hook_cost_count_wrapper(void);

/* Between two steps, on the thread that ends them; mostly within the hook that found the end. */
void ss_torch_hook_cost_step(void);

#endif
