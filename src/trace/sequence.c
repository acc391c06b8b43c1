/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/sequence.h"

#include <stdlib.h>

#include "trace/encode.h"
#include "trace/profile.h"
#include "trace/track_records.h"
#include "wire/perfetto.h"

enum {
    RETAINED_EVENTS = 1024, /* a larger, mostly unused buffer is freed: up to 999 sequences */
    HEAD_BYTES = 2 + 6 + 2 + 2,
    EVENT_BYTES = 2 + 2 + 6 + 6, /* type, name, category at their longest */
    STAMP_BYTES = 3 + 1 + SS_WIRE_MAX_VARINT
};

void ss_sequence_fini(struct ss_sequence *sequence)
{
    ss_vec_fini(&sequence->names.words);
    ss_vec_fini(&sequence->categories.words);
    ss_vec_fini(&sequence->fields.words);
    ss_vec_fini(&sequence->texts.words);
    ss_vec_fini(&sequence->events);
    ss_wire_fini(&sequence->interned);
    ss_wire_fini(&sequence->extras);
}

void ss_sequence_clear_unit(struct ss_sequence *sequence)
{
    if (sequence->events.capacity > RETAINED_EVENTS &&
        sequence->events.count < sequence->events.capacity / 4) {
        ss_vec_fini(&sequence->events);
    }
    ss_vec_clear(&sequence->events);
    sequence->interned.length = 0;
    sequence->extras.length = 0;
    sequence->must_clear = false;
    sequence->flows = 0;
}

bool ss_iid_set_add(struct ss_iid_set *set, uint32_t period, uint32_t iid)
{
    if (set->period != period) {
        ss_vec_clear(&set->words);
        set->period = period;
    }
    if (iid / 64 >= set->words.count) {
        ss_vec_resize(&set->words, (size_t)iid / 64 + 1);
    }
    uint64_t bit = UINT64_C(1) << iid % 64, *word = &set->words.data[iid / 64];
    bool is_new = (*word & bit) == 0;
    *word |= bit;
    return is_new;
}

static int compare(const void *left, const void *right)
{
    const struct ss_sequence_event *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_events(struct ss_sequence *sequence)
{
    const struct ss_sequence_event *events = sequence->events.data;
    for (size_t i = 1; i < sequence->events.count; i++) {
        if (events[i].time_ns < events[i - 1].time_ns) {
            qsort(sequence->events.data, sequence->events.count, sizeof *events, compare);
            return;
        }
    }
}

/* Like the head of the main sequence: sets the clock in each unit, clears the state in each period.
 */
static void put_head(const struct ss_sequence *sequence, uint64_t base_ns,
                     struct ss_wire_buffer *out)
{
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_ID, sequence->id);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_FLAGS,
                     sequence->must_clear ? SS_PF_STATE_CLEARED : SS_PF_NEEDS_STATE);
    if (sequence->must_clear) {
        size_t defaults = ss_wire_begin(out, SS_PF_PACKET_DEFAULTS);
        ss_wire_put_uint(out, SS_PF_DEFAULT_CLOCK_ID, SS_PF_SEQUENCE_CLOCK);
        size_t event = ss_wire_begin(out, SS_PF_DEFAULT_TRACK_EVENT);
        ss_wire_put_uint(out, SS_PF_DEFAULT_TRACK_UUID, sequence->track_uuid);
        ss_wire_end(out, event);
        ss_wire_end(out, defaults);
        ss_wire_put_nonzero(out, SS_PF_FIRST_PACKET_ON_SEQUENCE, !sequence->was_used);
    }
    size_t snapshot = ss_wire_begin(out, SS_PF_CLOCK_SNAPSHOT);
    ss_encode_clock(out, SS_PF_SEQUENCE_CLOCK, base_ns, true);
    ss_encode_clock(out, SS_PF_MONOTONIC, base_ns, false);
    ss_wire_put_uint(out, SS_PF_PRIMARY_TRACE_CLOCK, SS_PF_MONOTONIC);
    ss_wire_end(out, snapshot);
    ss_wire_end(out, packet);
}

static void put_interned(const struct ss_sequence *sequence, struct ss_wire_buffer *out)
{
    if (sequence->interned.length == 0) {
        return;
    }
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_ID, sequence->id);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_FLAGS, SS_PF_NEEDS_STATE);
    ss_wire_put_bytes(out, SS_PF_INTERNED_DATA, sequence->interned.data, sequence->interned.length);
    if (sequence->extras.length > 0) {
        size_t payload = ss_encode_payload_begin(out);
        ss_wire_put_raw(out, sequence->extras.data, sequence->extras.length);
        ss_wire_end(out, payload);
    }
    ss_wire_end(out, packet);
}

/* --- autograd --------------------------------------------------------------------------------- */

static uint32_t autograd_number(const struct ss_sequence_event *event,
                                const struct ss_wire_buffer *blobs)
{
    uint32_t number;
    memcpy(&number, blobs->data + event->blob_at - sizeof number, sizeof number);
    return number;
}

/* Operators without a node in the graph have the number of the next one that makes a node: of those
 * with one number, the last forward operator made it, and the last backward one computes it. A
 * forward operator at the end of a unit may not be the last. */
static void choose_flows(struct ss_sequence *sequence, const struct ss_wire_buffer *blobs)
{
    struct ss_sequence_event *next = NULL;
    uint32_t next_number = 0;
    bool is_next_backward = false;
    for (size_t i = sequence->events.count; i-- > 0;) {
        struct ss_sequence_event *event = &sequence->events.data[i];
        if (event->autograd == SS_AUTOGRAD_NONE) {
            continue;
        }
        uint32_t number = autograd_number(event, blobs);
        bool is_backward = event->autograd == SS_AUTOGRAD_BACKWARD;
        bool has_flow = is_backward ? next == NULL || !is_next_backward || next_number != number
                        : is_next_backward ? next_number == number
                                           : next != NULL && next_number > number;
        event->autograd = has_flow ? SS_AUTOGRAD_HAS_FLOW : SS_AUTOGRAD_NONE;
        next = event;
        next_number = number;
        is_next_backward = is_backward;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static inline uint8_t *put_field(uint8_t *at, uint32_t number, uint64_t value)
{
    at = ss_wire_encode_varint(at, (uint64_t)number << 3 | SS_WIRE_VARINT);
    return ss_wire_encode_varint(at, value);
}

/* The timestamp is last: the equal bytes before it give deflate long matches. */
static uint8_t *put_stamp(uint8_t *at, uint64_t time_ns, uint64_t base_ns, uint64_t *previous_ns)
{
    if (time_ns < base_ns) {
        at = put_field(at, SS_PF_TIMESTAMP_CLOCK_ID, SS_PF_MONOTONIC);
        return put_field(at, SS_PF_TIMESTAMP, time_ns);
    }
    at = put_field(at, SS_PF_TIMESTAMP, time_ns - *previous_ns);
    *previous_ns = time_ns;
    return at;
}

static const uint8_t pf_type[SS_EVENT_KIND_COUNT] = {[SS_EVENT_BEGIN] = SS_PF_EVENT_SLICE_BEGIN,
                                                     [SS_EVENT_END] = SS_PF_EVENT_SLICE_END,
                                                     [SS_EVENT_INSTANT] = SS_PF_EVENT_INSTANT};

/* The packet fields up to the length of the TrackEvent, encoded once per sequence and unit. */
struct head {
    uint8_t bytes[HEAD_BYTES];
    size_t length;
};

static struct head make_head(const struct ss_sequence *sequence)
{
    struct head head;
    uint8_t *at = put_field(head.bytes, SS_PF_SEQUENCE_ID, sequence->id);
    at = put_field(at, SS_PF_SEQUENCE_FLAGS, SS_PF_NEEDS_STATE);
    at = ss_wire_encode_varint(at, SS_PF_TRACK_EVENT << 3 | SS_WIRE_BYTES);
    head.length = (size_t)(at - head.bytes);
    return head;
}

/* Nearly all events are small: both length fields are one byte. */
static void put_small(const struct head *head, const struct ss_sequence_event *event,
                      uint64_t base_ns, uint64_t *previous_ns, struct ss_wire_buffer *out)
{
    ss_wire_reserve(out, 2 + HEAD_BYTES + EVENT_BYTES + STAMP_BYTES);
    uint8_t *packet = out->data + out->length;
    packet[0] = SS_PF_TRACE_PACKET << 3 | SS_WIRE_BYTES;
    memcpy(packet + 2, head->bytes, HEAD_BYTES);
    uint8_t *message = packet + 2 + head->length;
    uint8_t *at = put_field(message + 1, SS_PF_EVENT_TYPE, pf_type[event->kind]);
    if (event->name_iid != 0) {
        at = put_field(at, SS_PF_EVENT_NAME_IID, event->name_iid);
    }
    if (event->category_iid != 0) {
        at = put_field(at, SS_PF_EVENT_CATEGORY_IIDS, event->category_iid);
    }
    message[0] = (uint8_t)(at - message - 1);
    at = put_stamp(at, event->time_ns, base_ns, previous_ns);
    packet[1] = (uint8_t)(at - packet - 2);
    out->length += (size_t)(at - packet);
}

static void put_large(const struct ss_sequence *sequence, const struct ss_sequence_event *event,
                      const struct ss_wire_buffer *blobs, uint64_t base_ns, uint64_t *previous_ns,
                      struct ss_wire_buffer *out)
{
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_ID, sequence->id);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_FLAGS, SS_PF_NEEDS_STATE);
    size_t message = ss_wire_begin(out, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(out, SS_PF_EVENT_TYPE, pf_type[event->kind]);
    ss_wire_put_nonzero(out, SS_PF_EVENT_NAME_IID, event->name_iid);
    ss_wire_put_nonzero(out, SS_PF_EVENT_CATEGORY_IIDS, event->category_iid);
    if (event->blob_length > 0) {
        ss_wire_put_raw(out, blobs->data + event->blob_at, event->blob_length);
    }
    if (event->autograd == SS_AUTOGRAD_HAS_FLOW) {
        ss_wire_put_fixed64(out, SS_PF_EVENT_FLOW_IDS,
                            sequence->flows | autograd_number(event, blobs));
    }
    ss_wire_end(out, message);
    if (event->tail_length > 0) {
        ss_wire_put_raw(out, blobs->data + event->blob_at + event->blob_length, event->tail_length);
    }
    uint8_t stamp[STAMP_BYTES];
    uint8_t *end = put_stamp(stamp, event->time_ns, base_ns, previous_ns);
    ss_wire_put_raw(out, stamp, (size_t)(end - stamp));
    ss_wire_end(out, packet);
}

void ss_sequence_encode(struct ss_sequence *sequence, uint64_t base_ns,
                        const struct ss_wire_buffer *blobs, struct ss_wire_buffer *out,
                        uint64_t *first_ns, uint64_t *last_ns)
{
    if (sequence->events.count == 0) {
        return;
    }
    sort_events(sequence);
    if (sequence->flows != 0) {
        choose_flows(sequence, blobs);
    }
    put_head(sequence, base_ns, out);
    put_interned(sequence, out);
    struct head head = make_head(sequence);
    uint64_t previous_ns = base_ns;
    const struct ss_sequence_event *events = sequence->events.data;
    size_t count = sequence->events.count;
    for (size_t i = 0; i < count; i++) {
        if (events[i].blob_length + events[i].tail_length == 0) {
            put_small(&head, &events[i], base_ns, &previous_ns, out);
        } else {
            put_large(sequence, &events[i], blobs, base_ns, &previous_ns, out);
        }
    }
    *first_ns = events[0].time_ns < *first_ns ? events[0].time_ns : *first_ns;
    *last_ns = events[count - 1].time_ns > *last_ns ? events[count - 1].time_ns : *last_ns;
    sequence->was_used = true;
}
