/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet sequence of its own for the events of one track: the track is the sequence's default,
 * the stamps count from event to event, so that an event costs about 15 bytes. Interning holds per
 * sequence. One owner.
 */
#ifndef SS_TRACE_SEQUENCE_H
#define SS_TRACE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "wire/proto.h"

struct ss_sequence_event {
    uint64_t time_ns;
    uint32_t order; /* of arrival: keeps the sort stable */
    uint32_t name_iid, category_iid;
    /* In the unit's blobs: more fields of the TrackEvent, and behind them more of the packet. */
    uint32_t blob_at;
    uint16_t blob_length, tail_length;
    uint8_t kind; /* enum ss_event_kind */
};

/* Which iids a sequence has defined in a period. */
struct ss_iid_set {
    struct ss_vec_of(uint64_t) words;
    uint32_t period;
};

struct ss_sequence {
    uint32_t id;
    uint64_t track_uuid;
    bool was_used;   /* in any unit so far */
    uint32_t period; /* cleared in */
    bool must_clear; /* in this unit */
    struct ss_iid_set names, categories;
    /* Of the unit in the making. */
    struct ss_vec_of(struct ss_sequence_event) events;
    struct ss_wire_buffer interned; /* the content of InternedData */
    struct ss_wire_buffer extras;   /* our payloads beside it */
};

void ss_sequence_fini(struct ss_sequence *sequence);
void ss_sequence_clear_unit(struct ss_sequence *sequence);
/* Appends its packets to `out`; `blobs` are the unit's. Sets first and last to the times of its
 * events when they are beyond. */
void ss_sequence_encode(struct ss_sequence *sequence, uint64_t base_ns,
                        const struct ss_wire_buffer *blobs, struct ss_wire_buffer *out,
                        uint64_t *first_ns, uint64_t *last_ns);
/* True when the iid is new to the set in this period; it is in it then. */
bool ss_iid_set_add(struct ss_iid_set *set, uint32_t period, uint32_t iid);

#endif
