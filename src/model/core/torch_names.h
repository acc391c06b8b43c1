/* SPDX-License-Identifier: Apache-2.0 */
/* What the names mean that PyTorch gives its operators in other tools' traces. Pure. */
#ifndef SS_MODEL_CORE_TORCH_NAMES_H
#define SS_MODEL_CORE_TORCH_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

/* "AddmmBackward0", "autograd::engine::evaluate_function: …", "torch::autograd::AccumulateGrad". */
bool ss_torch_is_backward(struct ss_strview name);

/* "ProfilerStep#12", which torch.profiler.profile.step() marks: 12. */
bool ss_torch_profiler_step(struct ss_strview name, int64_t *number);

/* A range of torch.autograd.profiler.emit_nvtx: "aten::add, seq = 12, op_id = 34, sizes = […]". */
struct ss_torch_nvtx {
    struct ss_strview name;
    bool has_sequence;
    int64_t sequence;
    struct ss_strview sizes; /* a JSON list; empty: none */
};
/* False: it is none. */
bool ss_torch_nvtx_read(struct ss_strview text, struct ss_torch_nvtx *range);

#endif
