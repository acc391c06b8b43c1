/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's ranges of NVTX, in its domain "NCCL", as calls (calls.h): each function of NCCL is a
 * range, and its arguments are a payload. NCCL 2.14 and 2.15 have ranges without payloads, 2.16
 * to 2.24 payloads that do not name the communicator, and later ones all of it. Functions and
 * arguments are found by their names, which all versions share; the layouts are those that NCCL
 * registers.
 *
 * Any thread.
 */
#ifndef SS_INJECT_NVTX_NVTX_NCCL_H
#define SS_INJECT_NVTX_NVTX_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/nvtx/nvtx_abi.h"

#define SS_NVTX_NCCL_DOMAIN "NCCL"

/* A range begins, with the name `name`. true: it is recorded as a collective; false: it is a range
 * as any other. */
bool ss_nvtx_nccl_push(uint32_t domain, uint32_t name, const struct ss_nvtx_payload *payloads,
                       size_t count);
/* The innermost range ends; `payloads`: given at its end. Returns as the call that began it. */
bool ss_nvtx_nccl_pop(uint32_t domain, const struct ss_nvtx_payload *payloads, size_t count);

#endif
