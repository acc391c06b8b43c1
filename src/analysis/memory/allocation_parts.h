/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the analysis of a pool. Private to allocation*.c. */
#ifndef SS_ANALYSIS_MEMORY_ALLOCATION_PARTS_H
#define SS_ANALYSIS_MEMORY_ALLOCATION_PARTS_H

#include "analysis/memory/allocation_events.h"
#include "analysis/memory/allocations.h"

/* How far all events have come: neighbours mostly have come as far. */
struct ss_allocation_way {
    struct ss_vec_of(struct ss_allocation_progress) steps;
    uint32_t *step_of; /* by event: index into steps */
};

/* The events of a pool: event i of struct ss_allocation_pool is rows[i - 1], its code codes[i - 1],
 * its progress that of steps[step_of[i - 1]]. */
struct ss_allocation_pool_events {
    const struct ss_allocation_event *rows;
    const struct ss_allocation_code *codes;
    const struct ss_allocation_progress *steps;
    const uint32_t *step_of;
    size_t count;
    /* Allocations and segments that the history begins with. */
    const struct ss_allocation_event *before;
    size_t before_count;
};

/* How far each event has come, and at the end of each process (allocation_categories.c). `rows` are
 * all events; `last`: by process of the model. */
void ss_allocation_progress_find(const struct ss_allocation_events *events,
                                 const struct ss_allocation_code *codes,
                                 struct ss_allocation_way *way,
                                 struct ss_allocation_progress *last);
/* Sets the category of each allocation of the pool. */
void ss_allocation_categorise(struct ss_allocations *allocations,
                              const struct ss_allocation_pool *pool,
                              const struct ss_allocation_pool_events *events,
                              const struct ss_allocation_progress *last);
/* What the allocator asks of the device, and the blocks at the peak (allocation_segments.c). */
void ss_allocation_segments_find(struct ss_allocations *allocations,
                                 struct ss_allocation_pool *pool,
                                 const struct ss_allocation_pool_events *events);
void ss_allocation_requests_find(const struct ss_allocations *allocations,
                                 struct ss_allocation_pool *pool,
                                 const struct ss_allocation_pool_events *events,
                                 const struct ss_step_summary *training);
/* The same where only calls of the device's runtime were recorded. */
void ss_allocation_calls_find(const struct ss_allocations *allocations,
                              struct ss_allocation_pool *pool,
                              const struct ss_step_summary *training);

#endif
