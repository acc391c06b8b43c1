/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations and bytes of memory that hardware counters measured, by the name of the
 * kernel: means over its launches. Nsight Compute's metrics, of its pages "raw" and "details".
 * Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_KERNELS_KERNEL_COUNTERS_H
#define SS_ANALYSIS_KERNELS_KERNEL_COUNTERS_H

#include "analysis/selection/selection.h"

struct ss_kernel_counter {
    uint64_t flop_launches, byte_launches; /* in which they were measured; 0: unknown */
    double flops, bytes;                   /* of such a launch, the mean */
    bool has_matrix_flops; /* those of the units for matrix products were measured, too */
};

struct ss_kernel_counters {
    const struct ss_model *model;
    uint32_t *counter_of; /* by string of the model: index plus one; 0: none */
    struct ss_vec_of(struct ss_kernel_counter) counters; /* that have either */
    uint32_t *devices; /* by device: string, the model as a metric states it; 0: it does not */
};

void ss_kernel_counters_init(struct ss_kernel_counters *counters,
                             const struct ss_selection *selection);
void ss_kernel_counters_fini(struct ss_kernel_counters *counters);

/* `name`: index into the model's names. NULL: nothing of use was measured. */
const struct ss_kernel_counter *ss_kernel_counter_of(const struct ss_kernel_counters *counters,
                                                     uint32_t name);

#endif
