/* SPDX-License-Identifier: Apache-2.0 */
/* The throughputs of one launch in percent of the device's peaks, as measured or derived from their
 * parts, and what limits a kernel that has them. Pure. */
#ifndef SS_ANALYSIS_KERNELS_LAUNCH_LIGHT_H
#define SS_ANALYSIS_KERNELS_LAUNCH_LIGHT_H

#include "analysis/kernels/kernel_gauges.h"
#include "base/strbuf.h"

enum ss_light { /* the same as the first gauges */
                SS_LIGHT_OF_COMPUTE = SS_GAUGE_COMPUTE,
                SS_LIGHT_OF_MEMORY = SS_GAUGE_MEMORY,
                SS_LIGHT_OF_L1 = SS_GAUGE_L1,
                SS_LIGHT_OF_L2 = SS_GAUGE_L2,
                SS_LIGHT_OF_DRAM = SS_GAUGE_DRAM,
                SS_LIGHTS
};

struct ss_launch_light {
    bool has[SS_LIGHTS];
    bool is_derived[SS_LIGHTS]; /* from parts: at least so much */
    double percent[SS_LIGHTS];
};

/* `ns`: of the launch, where no counter says it; `bandwidth`: of the device's memory in bytes per
 * second, where no counter says it. 0: unknown. */
void ss_launch_light_find(const struct ss_gauges *gauges, double ns, double bandwidth,
                          struct ss_launch_light *light);

enum ss_limiter {
    SS_LIMITED_UNKNOWN,
    SS_LIMITED_BY_COMPUTE,
    SS_LIMITED_BY_MEMORY, /* by none of the next three, but memory */
    SS_LIMITED_BY_L1,
    SS_LIMITED_BY_L2,
    SS_LIMITED_BY_DRAM,
    SS_LIMITED_BY_LATENCY
};

/* Appends the sentence that says so. `occupancy`: achieved, in percent; negative: unknown. */
enum ss_limiter ss_launch_light_limiter(const struct ss_launch_light *light, double occupancy,
                                        struct ss_strbuf *sentence);
const char *ss_limiter_name(enum ss_limiter limiter); /* NULL: unknown */

#endif
