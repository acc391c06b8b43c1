/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts on what the devices did in the steady-state steps of a training, for the rules. Sums are
 * over these steps of all devices; per step they are divided by summary.mean.steps. Pure.
 */
#ifndef SS_ANALYSIS_TRAINING_DEVICE_FACTS_H
#define SS_ANALYSIS_TRAINING_DEVICE_FACTS_H

#include "analysis/devices/device_memory.h"
#include "analysis/devices/device_steps.h"
#include "analysis/devices/device_waits.h"
#include "analysis/ranks/exposed_collectives.h"

struct ss_device_facts {
    bool has_steps; /* steady-state steps with work of a device; else all else is 0 */
    const struct ss_device_summary *summary;
    struct ss_device_waits waits;
    uint64_t kernel_p50_ns;              /* of all kernels in these steps */
    uint64_t short_kernels, short_ns;    /* shorter than SS_LIMIT_SHORT_KERNEL_NS */
    uint32_t main_kernel;                /* name with most time, of kernels that compute; 0: none */
    uint64_t main_kernel_ns, main_count; /* its time and instances */
    bool is_main_expected;               /* a matrix product, convolution or attention */
    uint64_t float32_ns; /* matrix products in float32 on a device with faster units */
    uint64_t conversion_ns, conversions; /* kernels that only convert or move data */
    uint64_t pageable_ns, pageable_bytes, pageable_copies; /* copies from or to pageable memory */
    struct ss_exposed_collective exposed;                  /* communication that nothing hides */
    uint64_t allocation_ns, allocations; /* calls that allocate or free memory of the device */
    uint64_t allocated_bytes; /* of the device, where it is recorded what programs take from it */
    struct ss_compilations compilations; /* in the whole recording */
    uint64_t wait_calls;                 /* that wait for it */
    uint64_t wait_calls_ns;              /* their time on the host */
};

void ss_device_facts_find(struct ss_device_facts *facts, const struct ss_selection *selection,
                          const struct ss_step_summary *training);
void ss_device_facts_fini(struct ss_device_facts *facts);

#endif
