/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between host and device memory, as ranges: "host to device" in domain "torch.data",
 * "device to host" in "torch.copy". They show the host's time: for an asynchronous copy (pinned
 * memory, non_blocking) that is the time to submit it.
 *
 * Only the arguments distinguish them from copies within one memory, and an observer with arguments
 * costs more than one with names. So a thread has such an observer only while it runs an operator
 * that may copy.
 *
 * Any thread; all state is per thread.
 */
#ifndef SS_INJECT_TORCH_TORCH_COPIES_H
#define SS_INJECT_TORCH_TORCH_COPIES_H

#include <stdbool.h>
#include <stddef.h>

struct ss_torch_call;

/* The operator of this thread that is observed; NULL: none. */
extern _Thread_local const struct ss_torch_call *ss_torch_copies_of;

/* Call it once, with a checked libtorch. false: the devices of tensors cannot be determined. */
bool ss_torch_copies_init(void);
/* `call`, which may copy, begins; it ends. */
void ss_torch_copies_begin(const struct ss_torch_call *call);
void ss_torch_copies_end(void);

static inline bool ss_torch_copies_are_of(const struct ss_torch_call *call)
{
    return __builtin_expect(ss_torch_copies_of == call, 0);
}

#endif
