/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which module the collectives are that a training waits for most: those of one kind and module,
 * as far as nothing computes meanwhile, on devices or on the host (exposed_communication.h). Only
 * collectives of which the module is known. Pure.
 */
#ifndef SS_ANALYSIS_RANKS_EXPOSED_COLLECTIVES_H
#define SS_ANALYSIS_RANKS_EXPOSED_COLLECTIVES_H

#include "analysis/devices/device_steps.h"
#include "analysis/table/sentence.h"

/* Sums over steady-state steps. */
struct ss_exposed_collective {
    uint32_t range;  /* an instance: its kind and module; only if count > 0 */
    uint64_t count;  /* 0: none is known */
    uint64_t ns;     /* exposed */
    uint64_t all_ns; /* of all such collectives of which the module is known */
};

/* As the host executes them. */
struct ss_exposed_collective ss_exposed_on_host(const struct ss_model *model,
                                                const struct ss_step_summary *training);
/* As devices do. */
struct ss_exposed_collective ss_exposed_on_devices(const struct ss_model *model,
                                                   const struct ss_device_works *works,
                                                   const struct ss_step_summary *training);

/* "all_gather of layers.3"; of gradients also the bucket. */
void ss_exposed_collective_add(const struct ss_model *model,
                               const struct ss_exposed_collective *exposed,
                               struct ss_sentence *out);

#endif
