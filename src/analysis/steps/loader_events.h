/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's DataLoaders do: batches that are fetched, requests for a batch, copies to a
 * device; of all processes, as the row of a selected process may need the events of others. Pure;
 * immutable once built.
 */
#ifndef SS_ANALYSIS_STEPS_LOADER_EVENTS_H
#define SS_ANALYSIS_STEPS_LOADER_EVENTS_H

#include "analysis/selection/range_runs.h"

struct ss_loader_fetch {
    uint32_t process, track;
    bool is_cut; /* its begin or end was not recorded */
    uint64_t begin_ns, end_ns;
    uint64_t collate_ns;
    int64_t samples;
};

struct ss_loader_wait {
    uint32_t process, track;
    uint64_t begin_ns, end_ns;
    int64_t ready; /* batches; -1: no prefetching */
};

/* From host to device. */
struct ss_loader_copy {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

/* Each list by process, then by begin. */
struct ss_loader_events {
    struct ss_vec_of(struct ss_loader_fetch) fetches;
    struct ss_vec_of(struct ss_loader_wait) waits;
    struct ss_vec_of(struct ss_loader_copy) copies;
};

void ss_loader_events_init(struct ss_loader_events *events, const struct ss_model *model,
                           const struct ss_range_runs *runs);
void ss_loader_events_fini(struct ss_loader_events *events);

/* The process or its nearest ancestor that consumes batches; 0: none in the recording. */
uint32_t ss_loader_consumer(const struct ss_loader_events *events, const struct ss_model *model,
                            uint32_t process);

#endif
