/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current flush unit: its events, sorted when it closes, and its bytes. Implements the framing
 * of a unit (marker, compression, trailer); the writer defines the packets. One owner.
 */
#ifndef SS_TRACE_UNIT_H
#define SS_TRACE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/sequence.h"
#include "wire/deflate.h"
#include "wire/proto.h"

/* A sample, or another event (stored in the blob only). */
struct ss_unit_event {
    uint64_t time_ns;
    uint32_t order; /* of arrival: makes the sort stable */
    uint32_t task_iid, stack_iid, weight;
    uint32_t blob_at, blob_length; /* sample: further payload fields; else packet fields */
    uint16_t flags;
    bool is_sample;
};

struct ss_unit_task {
    uint32_t pid, tid;
};

struct ss_unit {
    bool is_fast;      /* compress large units of ranges in half the time, to an eighth more */
    bool perf_samples; /* write PerfSample packets, which contain pid and tid */
    struct ss_vec_of(struct ss_unit_task) tasks; /* by task iid; survives ss_unit_clear */
    struct ss_vec_of(struct ss_unit_event) events;
    struct ss_wire_buffer blobs;
    struct ss_vec_of(struct ss_sequence) sequences; /* survives ss_unit_clear */
    size_t sequence_events, sequence_bytes;         /* of this unit; bytes are estimated */
    struct ss_wire_buffer descriptors;              /* packets written before the events */
    struct ss_wire_buffer plain;                    /* scratch: the packets of the unit */
    struct ss_wire_buffer stored;                   /* scratch: the unit as written to the file */
    uint64_t samples;
    uint64_t first_ns, last_ns; /* of the encoded events, if any */
};

/* The header and trailer fields of a unit. */
struct ss_unit_seal {
    uint32_t number;
    uint32_t period;           /* hash: unlikely to equal the hash of another period or trace */
    uint64_t fallback_time_ns; /* for first and last when there are no events */
    bool restart, gap, sealed;
};

void ss_unit_fini(struct ss_unit *unit);
void ss_unit_clear(struct ss_unit *unit);
/* Estimated plain bytes. */
size_t ss_unit_estimate(const struct ss_unit *unit);
/* Appends the events, oldest first, to unit->plain. Timestamps are deltas on the sequence clock,
 * starting at `base_ns`; events before `base_ns` get absolute timestamps. */
void ss_unit_encode_events(struct ss_unit *unit, uint64_t base_ns);
static inline size_t ss_unit_event_count(const struct ss_unit *unit)
{
    return unit->events.count + unit->sequence_events;
}
/* The earliest event time; UINT64_MAX when there are no events. */
uint64_t ss_unit_first_ns(const struct ss_unit *unit);
/* What the frame of a unit needs besides its packets. */
struct ss_unit_facts {
    size_t events;
    uint64_t samples, first_ns, last_ns;
    int level; /* of compression */
    bool has_ranges;
};
struct ss_unit_facts ss_unit_facts_of(const struct ss_unit *unit);
/* Replaces `stored` by the unit of these packets. `deflater` NULL: uncompressed. */
void ss_unit_pack(const struct ss_wire_buffer *plain, const struct ss_unit_facts *facts,
                  const struct ss_unit_seal *seal, struct ss_deflater *deflater,
                  struct ss_wire_buffer *stored);
/* The same, of unit->plain into unit->stored. */
void ss_unit_frame(struct ss_unit *unit, const struct ss_unit_seal *seal,
                   struct ss_deflater *deflater);

#endif
