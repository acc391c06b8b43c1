/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of allocators, as plain values in order. Private to allocation*.c. Borrows the model.
 */
#ifndef SS_ANALYSIS_ALLOCATION_EVENTS_H
#define SS_ANALYSIS_ALLOCATION_EVENTS_H

#include "analysis/selection.h"

enum ss_allocation_event_kind {
    SS_ALLOCATION_EVENT_BEFORE, /* allocated before the history */
    SS_ALLOCATION_EVENT_SEGMENT_BEFORE,
    SS_ALLOCATION_EVENT_BYTES, /* allocated, or, negative, freed */
    SS_ALLOCATION_EVENT_SEGMENT,
    SS_ALLOCATION_EVENT_FAILURE
};

struct ss_allocation_event {
    uint64_t time_ns;
    int64_t bytes;            /* of a failure: what the device had free */
    uint64_t requested_bytes; /* of a failure */
    uint64_t address, allocated, reserved;
    uint32_t process, device, thread;
    uint32_t stack;   /* string: its frames; 0: none */
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

#endif
