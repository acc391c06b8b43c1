/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of outermost modules that begin without Python. The hooks decide in Python which phase a
 * call has and what is counted of it (torch_hooks/phases.py). Where the next call of the module is
 * bound to be the same, they leave a note here, and the next one begins by the note if nothing has
 * changed: the recording, gradients, the module's mode, the type and dimensions of its input. What
 * else may change, the hooks follow: they drop all notes.
 *
 * Notes belong to the training thread; other threads have none. With the GIL, except where stated.
 */
#ifndef SS_INJECT_TORCH_TORCH_OUTERMOST_H
#define SS_INJECT_TORCH_TORCH_OUTERMOST_H

#include "inject/torch/torch.h"

/* The phase of a call that began. */
struct ss_torch_phase {
    int64_t before; /* the previous phase, for ss_automatic_leave; < 0: the call began none */
    bool ends;      /* it ends with the call, whatever it is */
};

/* Positional arguments from the module on. false: no note fits. */
bool ss_torch_outermost_begin(ss_python_object *const *args, size_t count,
                              ss_python_object *keywords, struct ss_torch_phase *phase);
/* Whether the phase of the call ends with it, by what C can know; it then has ended. */
bool ss_torch_outermost_end(const struct ss_torch_phase *phase);
/* Drops all notes. Any thread. */
void ss_torch_outermost_forget(void);
/* For notes of others, which are dropped with these: they are valid while this number is the same.
 */
uint32_t ss_torch_outermost_generation(void);

#endif
