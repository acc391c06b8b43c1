/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of NCCL or RCCL, as their begins and ends are observed on the program's threads: by
 * NVTX (inject/nvtx/nvtx_nccl.h), or by rocprofiler-sdk (inject/rocm/). They are the second source
 * of operations: a process whose communicators are described by the profiler interface has none of
 * them.
 *
 * A call is a range "nccl:AllReduce", in which the host queues the operation; a call of
 * torch.distributed on the same thread that has begun it stands for it instead. The kernel that was
 * launched in the call, or at the end of the group of calls (ncclGroupEnd), gets what is known of
 * the operation. Where a group launched several kernels, it is not known which belongs to which
 * call, and they get nothing.
 *
 * The number of an operation in its communicator is how many were called before it. It is unknown
 * (-1) if several ranks of one communicator are in this process, as calls do not name the rank.
 *
 * A call within another is a part of it: what RCCL does by messages is not a message of the
 * program.
 *
 * Any thread; a lock is held for a moment. Nothing is allocated.
 */
#ifndef SS_INJECT_NCCL_CALLS_H
#define SS_INJECT_NCCL_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct ss_nccl_call {
    const char *function;  /* "AllReduce" */
    uint64_t communicator; /* 0: unknown */
    bool is_hash;          /* the communicator's number is the same on all ranks */
    const char *datatype;  /* "ncclFloat32"; NULL: unknown */
    int64_t bytes;         /* -1: unknown */
    uint32_t reduction;    /* enum ss_ring_reduction */
    bool is_message;       /* between two ranks */
};

/* Returns whether the call is recorded as a range; false: a call of torch.distributed stands for
 * it, or the call that it is within. */
bool ss_nccl_call_begin(const struct ss_nccl_call *call);
void ss_nccl_call_end(void);

void ss_nccl_group_begin(void);
/* `launches`: false: the operations of the group are dropped. */
void ss_nccl_group_end(bool launches);

/* --- communicators ---------------------------------------------------------------------------- */

struct ss_nccl_made {
    uint64_t communicator; /* as in calls; 0: unknown */
    uint64_t hash;         /* the same on all ranks; 0: unknown */
    uint32_t size;         /* ranks; 0: unknown */
    uint32_t ranks_here;   /* how many of them were made in this process */
    int64_t device;        /* -1: unknown */
};
void ss_nccl_made(const struct ss_nccl_made *made);
/* A communicator was split, which all of its ranks do: `made` is the part of this rank; 0: none. */
void ss_nccl_split(uint64_t parent, int32_t colour, uint64_t made);
/* One rank of it. */
void ss_nccl_gone(uint64_t communicator);

#endif
