/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between the host's memory and a device's, as ranges: "host to device" in domain
 * "torch.data", "device to host" in "torch.copy". It is the host's time in them: of one that the
 * device does by itself (pinned memory, non_blocking) that is the asking.
 *
 * Only the arguments tell them from copies within one memory, and to have arguments costs more than
 * the name of an operator. So a thread has them while it is in an operator that may copy, alone.
 *
 * Any thread; each for itself.
 */
#ifndef SS_INJECT_TORCH_COPIES_H
#define SS_INJECT_TORCH_COPIES_H

#include <stdbool.h>
#include <stddef.h>

struct ss_torch_call;

/* The operator of this thread that is watched; NULL: none. */
extern _Thread_local const struct ss_torch_call *ss_torch_copies_of;

/* Once, with a libtorch that was checked. false: it cannot be told where tensors are. */
bool ss_torch_copies_init(void);
/* `call` begins, which may copy; it ends. */
void ss_torch_copies_begin(const struct ss_torch_call *call);
void ss_torch_copies_end(void);

static inline bool ss_torch_copies_are_of(const struct ss_torch_call *call)
{
    return __builtin_expect(ss_torch_copies_of == call, 0);
}

#endif
