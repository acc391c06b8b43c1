/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch needs of a multiprocessor, by its event's fields and its counters, and what limits
 * how much of it is resident. Pure. */
#ifndef SS_ANALYSIS_KERNELS_LAUNCH_OCCUPANCY_H
#define SS_ANALYSIS_KERNELS_LAUNCH_OCCUPANCY_H

#include "analysis/kernels/device_limits.h"
#include "analysis/kernels/kernel_gauges.h"
#include "base/strbuf.h"

struct ss_launch_occupancy {
    const struct ss_device_limits *device; /* NULL: unknown */
    struct ss_block_needs needs;           /* 0: unknown; of shared memory also none */
    struct ss_block_limits limits;         /* 0: unknown */
    bool is_reported;                      /* the limits are the file's */
    double theoretical;                    /* percent; negative: unknown; also the next two */
    double achieved, waves;
};

void ss_launch_occupancy_find(const struct ss_model *model, const struct ss_model_range *range,
                              const struct ss_gauges *gauges,
                              struct ss_launch_occupancy *occupancy);

/* Appends a sentence; NULL: nothing is known to limit it. */
const char *ss_launch_occupancy_limiter(const struct ss_launch_occupancy *occupancy,
                                        struct ss_strbuf *sentence);

#endif
