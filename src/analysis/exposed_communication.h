/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a process that trains waited for communication that others of its threads did: a collective
 * was under way ("gloo:all_reduce" and the like, of the domain "torch") and its main thread was in
 * no operator. So the end of DistributedDataParallel's backward looks, which nothing else marks.
 * Pure.
 */
#ifndef SS_ANALYSIS_EXPOSED_COMMUNICATION_H
#define SS_ANALYSIS_EXPOSED_COMMUNICATION_H

#include "analysis/selection.h"

struct ss_exposed_span {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

/* By process, then by time; they do not overlap. */
struct ss_exposed_communication {
    struct ss_vec_of(struct ss_exposed_span) spans;
};

void ss_exposed_communication_init(struct ss_exposed_communication *exposed,
                                   const struct ss_selection *selection);
void ss_exposed_communication_fini(struct ss_exposed_communication *exposed);

#endif
