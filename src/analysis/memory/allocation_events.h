/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of allocators, as plain values in order. Private to allocation*.c. Borrows the model.
 */
#ifndef SS_ANALYSIS_MEMORY_ALLOCATION_EVENTS_H
#define SS_ANALYSIS_MEMORY_ALLOCATION_EVENTS_H

#include "analysis/selection/selection.h"

enum ss_allocation_event_kind {
    SS_ALLOCATION_EVENT_BEFORE, /* allocated before the history */
    SS_ALLOCATION_EVENT_SEGMENT_BEFORE,
    SS_ALLOCATION_EVENT_BYTES, /* allocated, or, negative, freed */
    SS_ALLOCATION_EVENT_SEGMENT,
    SS_ALLOCATION_EVENT_FAILURE
};

/* Recordings have millions of them: what is read once is read from the mark. */
struct ss_allocation_event {
    uint64_t time_ns;
    int64_t bytes; /* of a failure: what the device had free */
    uint64_t address;
    uint32_t process, device;
    uint32_t mark;    /* index into model->marks */
    uint8_t kind;     /* enum ss_allocation_event_kind */
    uint8_t category; /* as the recording states it, plus one; 0: it does not */
    bool has_address, has_totals;
};

struct ss_allocation_events {
    /* By process and device, then by time; those before the history come first. */
    struct ss_vec_of(struct ss_allocation_event) rows;
};

void ss_allocation_events_init(struct ss_allocation_events *events,
                               const struct ss_selection *selection);
void ss_allocation_events_fini(struct ss_allocation_events *events);

/* What a mark states beside that: bytes of a failure that were requested, the allocator's totals
 * after the event (0: unknown), the frames as a string (0: none). */
uint64_t ss_allocation_event_natural(const struct ss_model *model,
                                     const struct ss_allocation_event *event,
                                     enum ss_event_field_id field);
uint32_t ss_allocation_event_stack(const struct ss_model *model,
                                   const struct ss_allocation_event *event);
uint32_t ss_allocation_event_thread(const struct ss_model *model,
                                    const struct ss_allocation_event *event);

#endif
