/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstepscope in PyTorch: it detects that a Python process imports torch (preload.c), hooks
 * torch's calls by Python files (torch_hooks/), and records every operator with a callback of
 * torch's dispatcher, in plain C.
 *
 * All functions require the GIL (an attached thread), except for the operator callback, which any
 * thread may run.
 */
#ifndef SS_INJECT_TORCH_TORCH_H
#define SS_INJECT_TORCH_TORCH_H

#include "inject/torch/python_api.h"

/* The Python files that install the hooks: name and text of each in turn, then NULL; and the file
 * that loads them. */
extern const char *const ss_torch_hooks[];
extern const char ss_torch_hooks_loader[];

/* Installs the hooks. Returns the function that applies the settings of another recording; NULL:
 * `text` is the exception, which is no longer set. */
ss_python_object *ss_torch_load_hooks(char *text, size_t size);

/* What to record of torch: "depth=2,operators=auto…". */
const char *ss_torch_settings(void);

/* Whether this recording leaves out torch. */
bool ss_torch_is_off(void);

/* Adds the functions that the hooks import to a dict: all; and those of one file each. false: an
 * exception is set. */
bool ss_torch_add_functions(ss_python_object *functions);

bool ss_torch_add_device_functions(ss_python_object *functions);
bool ss_torch_add_event_functions(ss_python_object *functions);
bool ss_torch_add_step_functions(ss_python_object *functions);
bool ss_torch_add_module_functions(ss_python_object *functions);
bool ss_torch_add_call_functions(ss_python_object *functions);
bool ss_torch_add_callable_functions(ss_python_object *functions);
bool ss_torch_add_outermost_functions(ss_python_object *functions);
bool ss_torch_add_memory_functions(ss_python_object *functions);
bool ss_torch_add_operator_functions(ss_python_object *functions);
bool ss_torch_add_collective_functions(ss_python_object *functions);
bool ss_torch_add_bucket_functions(ss_python_object *functions);
bool ss_torch_add_methods(ss_python_object *functions, struct ss_python_method *methods,
                          size_t count);

/* false: an exception is set. */
bool ss_torch_has_arguments(ptrdiff_t count, ptrdiff_t wanted);

/* Which operators are recorded. Collectives are recorded in every step, whatever is chosen. */
enum ss_torch_operators {
    SS_TORCH_OPERATORS_OF_SOME_STEPS,
    SS_TORCH_OPERATORS_OF_ALL_STEPS,
    SS_TORCH_COLLECTIVES_ONLY,
};

/* Records operators of all threads from now on; libtorch must be found and checked before. */
void ss_torch_operators_start(enum ss_torch_operators which);
void ss_torch_operators_stop(void);
/* The number of module calls that are open on this thread. */
int ss_torch_module_depth(void);
/* A step ends on this thread. Returns whether it counts. */
bool ss_torch_end_step(void);
/* The number of steps that have ended in this process, which torch_hooks/state.py shows. */
uint64_t ss_torch_count_updates(uint64_t more);
/* Whether what rarely changes is polled after this many. */
bool ss_torch_is_poll_due(uint64_t updates);
/* Called between two steps, on the training thread. Unless all steps are requested, operators are
 * recorded in a step only when the overhead stays small. The counter "operators recorded" says for
 * the step that begins whether they are (1 or 0). */
void ss_torch_operators_step(void);
/* Called before the end of a step is emitted: the counter becomes -1 if it dropped events. */
void ss_torch_operators_end_step(void);

#endif
