/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libstepscope is to PyTorch: it meets torch as a Python imports it (preload.c), hangs itself
 * into torch's calls by a Python text of its own (python/stepscope/_torch_hooks.py), and records
 * every operator with a callback of torch's dispatcher, in plain C.
 *
 * All of it holds the GIL (is attached), but the operator callback, which any thread may run.
 */
#ifndef SS_INJECT_TORCH_H
#define SS_INJECT_TORCH_H

#include "inject/python_api.h"

/* The texts that are run when torch is there, one after the other, with the same globals. */
extern const char ss_torch_model[], ss_torch_hooks[], ss_torch_deepspeed[], ss_torch_profiler[];

/* What is to be recorded of torch: "depth=2,operators=auto…". */
const char *ss_torch_settings(void);

/* Is torch left alone in this recording? */
bool ss_torch_is_off(void);

/* What the text calls: adds the functions to a dict. false: an exception is set. */
bool ss_torch_add_functions(ss_python_object *globals);

bool ss_torch_add_memory_functions(ss_python_object *globals);
bool ss_torch_add_operator_functions(ss_python_object *globals);
bool ss_torch_add_methods(ss_python_object *globals, struct ss_python_method *methods,
                          size_t count);

/* false: an exception is set. */
bool ss_torch_has_arguments(ptrdiff_t count, ptrdiff_t wanted);

/* Operators from now on, of all threads, by a libtorch that was found and checked; `all`: of every
 * step. */
void ss_torch_operators_start(bool all);
void ss_torch_operators_stop(void);
/* Calls of modules that this thread is in. */
int ss_torch_module_depth(void);
/* Between two steps, on the thread that trains. Unless all are wanted, the operators of a step are
 * recorded when that keeps the cost of it small. The counter "operators recorded" tells of the step
 * that begins whether they are (1 or 0). */
void ss_torch_operators_step(void);
/* Before the step's end is told: the counter becomes -1 if records of its operators were lost. */
void ss_torch_operators_end_step(void);

#endif
