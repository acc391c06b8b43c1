/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of RCCL, with their arguments, as rocprofiler-sdk passes them to a callback on the
 * program's threads: operations and communicators of inject/nccl/calls.h. A communicator is an
 * address; its ranks know each other by the id that they made it with, or by how often its parent
 * was split.
 */
#ifndef SS_INJECT_ROCM_RCCL_H
#define SS_INJECT_ROCM_RCCL_H

#include "inject/rocm/calls.h"
#include "inject/rocm/rocm_abi.h"

/* Those whose arguments are read. Finds their numbers. */
void ss_rccl_list(const struct ss_rocm *rocm, struct ss_rocm_operations *operations);
void ss_rccl_observe(const struct ss_rocm_event *event, uint64_t *user);

#endif
