/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What records of rocprofiler-sdk refer to: kernels that were loaded, agents, queues. Kernels are
 * defined on the program's threads, under a lock; agents once, before there are records; queues are
 * numbered on the writer's thread.
 */
#ifndef SS_INJECT_ROCM_ENTITIES_H
#define SS_INJECT_ROCM_ENTITIES_H

#include <stdbool.h>
#include <stdint.h>

struct ss_rocm_symbol {
    uint32_t name;       /* a text; 0: unknown */
    uint32_t registers;  /* VGPRs of a work-item, with those for accumulation */
    uint32_t static_lds; /* bytes */
};

/* `symbol`: the SDK's description of a kernel that was loaded. */
void ss_rocm_define_symbol(const void *symbol);
struct ss_rocm_symbol ss_rocm_symbol_of(uint64_t kernel);

/* The number of a GPU, as HIP counts them without a mask. */
void ss_rocm_define_gpu(uint64_t agent, uint32_t number);
bool ss_rocm_gpu_of(uint64_t agent, uint32_t *number);
/* Of a device's queues, from 1 on, in the order of their first records; 0: there are too many. */
uint32_t ss_rocm_queue_of(uint64_t queue);

#endif
