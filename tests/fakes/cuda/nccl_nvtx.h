/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of NVTX that the fake NCCL emits, as NCCL's versions do: FAKE_NCCL_NVTX is 15 (names
   only), 18, 24 (arguments without the communicator) or 26 (all of them, the default). */
#ifndef FAKE_NCCL_NVTX_H
#define FAKE_NCCL_NVTX_H

#include "nccl_inside.h"

/* A function without arguments begins. */
void nccl_nvtx_push(const char *function);
void nccl_nvtx_push_operation(const struct operation *operation);
void nccl_nvtx_pop(void);

/* A function that makes a communicator, or ends one. */
struct nccl_made {
    const char *function;
    uint64_t hash;
    int ranks, rank, device;
};
void nccl_nvtx_push_made(const struct nccl_made *made);
/* `is_made`: what `made` says is known, of versions that say it at the end. */
void nccl_nvtx_pop_made(const struct nccl_made *made, bool is_made);

/* Whether messages are groups of their own. */
bool nccl_nvtx_groups_messages(void);

#endif
