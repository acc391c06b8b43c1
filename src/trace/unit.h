/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flush unit in the making: its events, sorted when it closes, and its bytes. Knows the frame
 * around a unit (marker, compression, trailer); what the packets mean is the writer's business.
 * One owner.
 */
#ifndef SS_TRACE_UNIT_H
#define SS_TRACE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/sequence.h"
#include "wire/deflate.h"
#include "wire/proto.h"

/* A sample, or (blob only) another event. */
struct ss_unit_event {
    uint64_t time_ns;
    uint32_t order; /* of arrival: keeps the sort stable */
    uint32_t task_iid, stack_iid, weight;
    uint32_t blob_at, blob_length; /* sample: the rest of its payload; else the packet's rest */
    uint16_t flags;
    bool is_sample;
};

struct ss_unit_task {
    uint32_t pid, tid;
};

struct ss_unit {
    bool perf_samples; /* samples as PerfSample, which names its task itself */
    struct ss_vec_of(struct ss_unit_task) tasks; /* by task iid; kept when the unit is cleared */
    struct ss_vec_of(struct ss_unit_event) events;
    struct ss_wire_buffer blobs;
    struct ss_vec_of(struct ss_sequence) sequences; /* kept when the unit is cleared */
    size_t sequence_events, sequence_bytes;         /* of this unit; bytes roughly */
    struct ss_wire_buffer descriptors;              /* whole packets that come before the events */
    struct ss_wire_buffer plain;                    /* scratch: the packets of the unit */
    struct ss_wire_buffer stored;                   /* scratch: the unit as it goes to the file */
    uint64_t samples;
    uint64_t first_ns, last_ns; /* of the encoded events, when there are any */
};

/* What the frame around the packets says. */
struct ss_unit_seal {
    uint32_t number;
    uint32_t period;           /* unlikely to be that of any other period, also of another trace */
    uint64_t fallback_time_ns; /* for first and last when there are no events */
    bool restart, gap, sealed;
};

void ss_unit_fini(struct ss_unit *unit);
void ss_unit_clear(struct ss_unit *unit);
/* Plain bytes, roughly. */
size_t ss_unit_estimate(const struct ss_unit *unit);
/* Appends the events, oldest first, to unit->plain as packets whose stamps count from
 * `base_ns` on the sequence's clock; older ones get absolute stamps. */
void ss_unit_encode_events(struct ss_unit *unit, uint64_t base_ns);
static inline size_t ss_unit_event_count(const struct ss_unit *unit)
{
    return unit->events.count + unit->sequence_events;
}
/* The earliest time of its events; UINT64_MAX when it has none. */
uint64_t ss_unit_first_ns(const struct ss_unit *unit);
/* Makes unit->stored from unit->plain. `deflater` NULL: not compressed. */
void ss_unit_frame(struct ss_unit *unit, const struct ss_unit_seal *seal,
                   struct ss_deflater *deflater);

#endif
