/* SPDX-License-Identifier: Apache-2.0 */
/* Private to inject/nccl/ and inject/nvtx/nvtx_nccl.c: what threads own, and how an operation is
 * recorded. */
#ifndef SS_INJECT_NCCL_OPERATIONS_INSIDE_H
#define SS_INJECT_NCCL_OPERATIONS_INSIDE_H

#include "inject/nccl/operations.h"

enum { SS_NCCL_TORCH_CALLS = 16, SS_NCCL_OPEN = 16, SS_NCCL_PENDING = 256 };

/* An open range of NCCL's domain (inject/nvtx/nvtx_nccl.c). */
struct ss_nccl_nvtx_range {
    uint8_t function, state;
};

/* Of one thread, on which all of it happens. */
struct ss_nccl_thread {
    /* The calls of torch.distributed whose operation has not come, the oldest first. */
    struct ss_event_collective torch[SS_NCCL_TORCH_CALLS];
    uint32_t torch_count;
    bool has_launched; /* since the last of them: the others have no operation */

    /* calls.c: the open calls, and the operations whose launch has not come. */
    uint64_t ranges[SS_NCCL_OPEN]; /* events; 0: none */
    uint32_t calls, groups;        /* how many are open */
    uint32_t kernels;              /* launched before the oldest of the pending */
    bool has_lost;                 /* there are more pending than fit */
    uint32_t pending_count;
    struct ss_nccl_operation pending[SS_NCCL_PENDING];

    uint32_t nvtx_depth;
    struct ss_nccl_nvtx_range nvtx_ranges[SS_NCCL_OPEN];
};

/* NULL: there is no memory. */
struct ss_nccl_thread *ss_nccl_own_thread(void);

/* The call of torch.distributed that an operation belongs to. Operations of one launch come in an
 * order of NCCL's: their sizes distinguish them. */
bool ss_nccl_take_torch_call(uint32_t size, int64_t bytes, struct ss_event_collective *call);
/* What the call of torch.distributed says of the operation is preferred. */
void ss_nccl_adopt(struct ss_nccl_operation *operation, const struct ss_event_collective *call);

/* "ncclAllReduce" of "nccl" and "AllReduce"; `function` NULL: unknown. */
uint32_t ss_nccl_event_name(const char *prefix, const char *function);
/* The name of a datatype as NCCL calls it; NULL: 0. */
uint32_t ss_nccl_datatype_name(const char *theirs);
/* Returns the id of the range; 0: it is not recorded. */
uint64_t ss_nccl_begin_range(uint32_t name, const struct ss_nccl_operation *operation);
/* The operation goes to the kernel of this launch. false: there are too many. */
bool ss_nccl_put_launched(uint32_t correlation, const struct ss_nccl_operation *operation);

#endif
