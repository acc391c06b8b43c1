/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet sequence for the events of one track: the track is the default of the sequence, and
 * timestamps are deltas, so that an event costs about 15 bytes. Interning is per sequence. One
 * owner.
 */
#ifndef SS_TRACE_SEQUENCE_H
#define SS_TRACE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "wire/proto.h"

struct ss_sequence_event {
    uint64_t time_ns;
    uint32_t order; /* of arrival: makes the sort stable */
    uint32_t name_iid, category_iid;
    /* In the blobs of the unit: further fields of the TrackEvent, then further packet fields. */
    uint32_t blob_at, blob_length;
    uint16_t tail_length;
    uint8_t kind; /* enum ss_event_kind */
    /* enum ss_sequence_autograd; its number is in the four bytes of the blobs before `blob_at`. */
    uint8_t autograd;
};

/* An operator with a number of autograd, which its backward operator has, too. */
enum ss_sequence_autograd {
    SS_AUTOGRAD_NONE,
    SS_AUTOGRAD_FORWARD,
    SS_AUTOGRAD_BACKWARD,
    SS_AUTOGRAD_HAS_FLOW /* from its forward operator, or to its backward one */
};

/* The iids that a sequence has defined in a period. */
struct ss_iid_set {
    struct ss_vec_of(uint64_t) words;
    uint32_t period;
};

struct ss_sequence {
    uint32_t id;
    uint64_t track_uuid;
    uint64_t flows;  /* ids of its autograd flows (ss_autograd_flows); 0: none in this unit */
    bool was_used;   /* in any earlier unit */
    uint32_t period; /* restart period of the last state clear */
    bool must_clear; /* the head of this unit clears the state */
    struct ss_iid_set names, categories, fields, texts;
    /* Content for the current unit. */
    struct ss_vec_of(struct ss_sequence_event) events;
    struct ss_wire_buffer interned; /* the content of InternedData */
    struct ss_wire_buffer extras;   /* the matching extension payload */
};

void ss_sequence_fini(struct ss_sequence *sequence);
void ss_sequence_clear_unit(struct ss_sequence *sequence);
/* Appends the packets of the sequence to `out`; `blobs` belongs to the unit. Extends first and last
 * to the times of the events. */
void ss_sequence_encode(struct ss_sequence *sequence, uint64_t base_ns,
                        const struct ss_wire_buffer *blobs, struct ss_wire_buffer *out,
                        uint64_t *first_ns, uint64_t *last_ns);
/* Adds the iid; true when it is new in this period. */
bool ss_iid_set_add(struct ss_iid_set *set, uint32_t period, uint32_t iid);

#endif
