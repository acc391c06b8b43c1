/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of PyTorch's modules as ranges of the calling thread. */
#ifndef SS_INJECT_TORCH_TORCH_MODULES_H
#define SS_INJECT_TORCH_TORCH_MODULES_H

#include "inject/torch/torch.h"

/* PLAIN: no range; PUSHED: one began. Otherwise Python has work to do, then ss_torch_module_push.
 */
enum ss_torch_module_call {
    SS_TORCH_MODULE_PLAIN,
    SS_TORCH_MODULE_PUSHED,
    SS_TORCH_MODULE_OUTERMOST,
    SS_TORCH_MODULE_UNNAMED
};

/* Every call enters once and leaves once, in between it pushes at most once. */
enum ss_torch_module_call ss_torch_module_enter(const ss_python_object *module);
enum ss_torch_module_call ss_torch_module_push(const ss_python_object *module);
void ss_torch_module_leave(enum ss_torch_module_call call);

#endif
