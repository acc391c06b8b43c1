/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waits of a training process for communication on its other threads: a collective is under way
 * ("gloo:all_reduce", for example, in the domain "torch") and the main thread is in no operator.
 * The end of DistributedDataParallel's backward is such a wait, which nothing else marks. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_EXPOSED_COMMUNICATION_H
#define SS_ANALYSIS_STEPS_EXPOSED_COMMUNICATION_H

#include "analysis/selection/range_runs.h"

struct ss_exposed_span {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

/* By process, then by time; without overlap. */
struct ss_exposed_communication {
    struct ss_vec_of(struct ss_exposed_span) spans;
};

void ss_exposed_communication_init(struct ss_exposed_communication *exposed,
                                   const struct ss_model *model, const struct ss_range_runs *runs);
void ss_exposed_communication_fini(struct ss_exposed_communication *exposed);

#endif
