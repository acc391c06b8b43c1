/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/unit.h"

#include <stdlib.h>

#include "trace/encode.h"
#include "trace/profile.h"
#include "trace/wire_records.h"
#include "wire/crc32c.h"
#include "wire/perfetto.h"

enum {
    SAMPLE_BYTES = 34,            /* typical size of a sample packet */
    FAST_ABOVE_BYTES = 96 * 1024, /* larger units, of busy recordings, use a faster level */
    COUNTERS_ABOVE_BYTES = 8 * 1024,
    LEVEL_FAST = 1,
    LEVEL_COUNTERS = 2, /* counter values: higher levels take three times as long for 10 % less */
    LEVEL_RANGES = 4,   /* 15-byte packets: the lowest level that searches beyond the first match */
    LEVEL_SMALL = 6
};

void ss_unit_fini(struct ss_unit *unit)
{
    for (size_t i = 0; i < unit->sequences.count; i++) {
        ss_sequence_fini(&unit->sequences.data[i]);
    }
    ss_vec_fini(&unit->sequences);
    ss_vec_fini(&unit->events);
    ss_vec_fini(&unit->tasks);
    ss_wire_fini(&unit->blobs);
    ss_wire_fini(&unit->descriptors);
    ss_wire_fini(&unit->plain);
    ss_wire_fini(&unit->stored);
}

void ss_unit_clear(struct ss_unit *unit)
{
    for (size_t i = 0; i < unit->sequences.count; i++) {
        ss_sequence_clear_unit(&unit->sequences.data[i]);
    }
    unit->sequence_events = unit->sequence_bytes = 0;
    ss_vec_clear(&unit->events);
    unit->blobs.length = 0;
    unit->descriptors.length = 0;
    unit->plain.length = 0;
    unit->stored.length = 0;
    unit->samples = 0;
}

size_t ss_unit_estimate(const struct ss_unit *unit)
{
    return unit->events.count * SAMPLE_BYTES + unit->blobs.length + unit->descriptors.length +
           unit->sequence_bytes;
}

uint64_t ss_unit_first_ns(const struct ss_unit *unit)
{
    uint64_t first_ns = UINT64_MAX;
    for (size_t i = 0; i < unit->events.count; i++) {
        uint64_t time_ns = unit->events.data[i].time_ns;
        first_ns = time_ns < first_ns ? time_ns : first_ns;
    }
    for (size_t s = 0; s < unit->sequences.count; s++) {
        const struct ss_sequence *sequence = &unit->sequences.data[s];
        for (size_t i = 0; i < sequence->events.count; i++) {
            uint64_t time_ns = sequence->events.data[i].time_ns;
            first_ns = time_ns < first_ns ? time_ns : first_ns;
        }
    }
    return first_ns;
}

static int compare_events(const void *left, const void *right)
{
    const struct ss_unit_event *a = left;
    const struct ss_unit_event *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_events(struct ss_unit *unit)
{
    const struct ss_unit_event *events = unit->events.data;
    for (size_t i = 1; i < unit->events.count; i++) {
        if (events[i].time_ns < events[i - 1].time_ns) {
            qsort(unit->events.data, unit->events.count, sizeof *events, compare_events);
            return;
        }
    }
}

static void put_blob(struct ss_unit *unit, const struct ss_unit_event *event)
{
    if (event->blob_length > 0) { /* the buffer may be NULL */
        ss_wire_put_raw(&unit->plain, unit->blobs.data + event->blob_at, event->blob_length);
    }
}

/* The fields that vary between samples are last, followed by the timestamp: deflate then finds one
 * long match for the rest. */
static void encode_sample(struct ss_unit *unit, const struct ss_unit_event *event)
{
    struct ss_wire_buffer *out = &unit->plain;
    size_t payload = ss_encode_payload_begin(out);
    ss_wire_put_uint(out, SS_PAYLOAD_sample_flags, event->flags);
    put_blob(unit, event);
    ss_wire_end(out, payload);
    size_t sample = ss_wire_begin(out, SS_PF_STACK_SAMPLE);
    ss_wire_put_uint(out, SS_PF_SAMPLE_WEIGHT, event->weight);
    ss_wire_put_uint(out, SS_PF_SAMPLE_TASK_IID, event->task_iid);
    ss_wire_put_nonzero(out, SS_PF_SAMPLE_CALLSTACK_IID, event->stack_iid);
    ss_wire_end(out, sample);
}

static void encode_perf_sample(struct ss_unit *unit, const struct ss_unit_event *event)
{
    struct ss_wire_buffer *out = &unit->plain;
    const struct ss_unit_task *task = &unit->tasks.data[event->task_iid];
    size_t sample = ss_wire_begin(out, SS_PF_PERF_SAMPLE);
    ss_wire_put_uint(out, SS_PF_PERF_PID, task->pid);
    ss_wire_put_uint(out, SS_PF_PERF_TID, task->tid);
    ss_wire_put_uint(out, SS_PF_PERF_CPU_MODE, SS_PF_PERF_MODE_USER);
    ss_wire_put_nonzero(out, SS_PF_PERF_CALLSTACK_IID, event->stack_iid);
    ss_wire_end(out, sample);
}

static void encode_main(struct ss_unit *unit, uint64_t base_ns)
{
    sort_events(unit);
    uint64_t previous_ns = base_ns;
    struct ss_wire_buffer *out = &unit->plain;
    for (size_t i = 0; i < unit->events.count; i++) {
        const struct ss_unit_event *event = &unit->events.data[i];
        size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
        ss_wire_put_uint(out, SS_PF_SEQUENCE_ID, SS_SEQUENCE);
        ss_wire_put_uint(out, SS_PF_SEQUENCE_FLAGS, SS_PF_NEEDS_STATE);
        if (event->is_sample && unit->perf_samples) {
            encode_perf_sample(unit, event);
        } else if (event->is_sample) {
            encode_sample(unit, event);
        } else {
            put_blob(unit, event);
        }
        if (event->time_ns < base_ns) {
            ss_wire_put_uint(out, SS_PF_TIMESTAMP_CLOCK_ID, SS_PF_MONOTONIC);
            ss_wire_put_uint(out, SS_PF_TIMESTAMP, event->time_ns);
        } else {
            ss_wire_put_uint(out, SS_PF_TIMESTAMP, event->time_ns - previous_ns);
            previous_ns = event->time_ns;
        }
        ss_wire_end(out, packet);
    }
}

void ss_unit_encode_events(struct ss_unit *unit, uint64_t base_ns)
{
    unit->first_ns = UINT64_MAX;
    unit->last_ns = 0;
    encode_main(unit, base_ns);
    if (unit->events.count > 0) {
        unit->first_ns = unit->events.data[0].time_ns;
        unit->last_ns = unit->events.data[unit->events.count - 1].time_ns;
    }
    for (size_t i = 0; unit->sequence_events > 0 && i < unit->sequences.count; i++) {
        ss_sequence_encode(&unit->sequences.data[i], base_ns, &unit->blobs, &unit->plain,
                           &unit->first_ns, &unit->last_ns);
    }
}

static void put_start(struct ss_wire_buffer *out, const struct ss_unit_seal *seal)
{
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    ss_wire_put_raw(out, ss_marker, sizeof ss_marker);
    size_t payload = ss_encode_payload_begin(out);
    struct ss_trace_unit start = {
        .number = seal->number, .period = seal->period, .restart = seal->restart, .gap = seal->gap};
    ss_schema_put(out, SS_SCHEMA_unit, &start, NULL);
    ss_wire_end(out, payload);
    ss_wire_end(out, packet);
}

static int choose_level(const struct ss_unit *unit)
{
    if (unit->sequence_events > unit->events.count) {
        return unit->plain.length <= FAST_ABOVE_BYTES ? LEVEL_SMALL
               : unit->is_fast                        ? LEVEL_FAST
                                                      : LEVEL_RANGES;
    }
    if (unit->plain.length > FAST_ABOVE_BYTES) {
        return LEVEL_FAST;
    }
    size_t other_events = unit->events.count - unit->samples;
    return other_events > unit->samples && unit->plain.length > COUNTERS_ABOVE_BYTES
               ? LEVEL_COUNTERS
               : LEVEL_SMALL;
}

struct ss_unit_facts ss_unit_facts_of(const struct ss_unit *unit)
{
    return (struct ss_unit_facts){.events = ss_unit_event_count(unit),
                                  .samples = unit->samples,
                                  .first_ns = unit->first_ns,
                                  .last_ns = unit->last_ns,
                                  .level = choose_level(unit),
                                  .has_ranges = unit->sequence_events > unit->events.count};
}

static void put_body(const struct ss_wire_buffer *plain, const struct ss_unit_facts *facts,
                     struct ss_deflater *deflater, struct ss_wire_buffer *out)
{
    if (deflater != NULL) {
        size_t before = out->length;
        size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
        size_t content = ss_wire_begin(out, SS_PF_COMPRESSED_PACKETS);
        if (ss_deflate(deflater, facts->level, !facts->has_ranges, plain->data, plain->length,
                       out)) {
            ss_wire_end(out, content);
            ss_wire_end(out, packet);
            return;
        }
        out->length = before;
    }
    ss_wire_put_raw(out, plain->data, plain->length);
}

static void put_trailer(size_t plain_bytes, const struct ss_unit_facts *facts,
                        const struct ss_unit_seal *seal, struct ss_wire_buffer *out)
{
    uint64_t first = facts->events > 0 ? facts->first_ns : seal->fallback_time_ns;
    uint64_t last = facts->events > 0 ? facts->last_ns : seal->fallback_time_ns;
    /* The checksum also covers the trailer and its lengths, which must be final: it is written as 0
     * and filled last. */
    struct ss_trace_trailer trailer = {.number = seal->number,
                                       .first_ns = first,
                                       .span_ns = last - first,
                                       .events = facts->events,
                                       .samples = facts->samples,
                                       .plain_bytes = plain_bytes,
                                       .sealed = seal->sealed};
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    size_t payload = ss_encode_payload_begin(out);
    ss_schema_put(out, SS_SCHEMA_trailer, &trailer, NULL);
    ss_wire_end(out, payload);
    ss_wire_end(out, packet);
    uint32_t crc = ss_crc32c(0, out->data, out->length - sizeof crc);
    memcpy(out->data + out->length - sizeof crc, &crc, sizeof crc);
}

void ss_unit_pack(const struct ss_wire_buffer *plain, const struct ss_unit_facts *facts,
                  const struct ss_unit_seal *seal, struct ss_deflater *deflater,
                  struct ss_wire_buffer *stored)
{
    stored->length = 0;
    put_start(stored, seal);
    put_body(plain, facts, deflater, stored);
    put_trailer(plain->length, facts, seal, stored);
}

void ss_unit_frame(struct ss_unit *unit, const struct ss_unit_seal *seal,
                   struct ss_deflater *deflater)
{
    const struct ss_unit_facts facts = ss_unit_facts_of(unit);
    ss_unit_pack(&unit->plain, &facts, seal, deflater, &unit->stored);
}
