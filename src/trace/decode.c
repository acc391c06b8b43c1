/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decode.h"

#include "trace/decode_step.h"
#include "wire/perfetto.h"

/* The fields of a TracePacket that the decoder reads. */
struct packet {
    uint64_t timestamp, clock_id, sequence_flags, sequence_id;
    struct ss_wire_cursor interned, sample, perf_sample, payload, clocks, attributes, compressed,
        event, descriptor, defaults;
    bool has_timestamp, has_clock_id;
};

/* The decoded extension payload of a packet. */
struct payload {
    struct ss_trace_sample sample;
    struct ss_trace_event event;
    uint64_t width_ns;
    bool has_attribute, has_note;
};

void ss_decoder_init(struct ss_decoder *decoder, const struct ss_trace_visitor *visitor,
                     void *context, struct ss_trace_summary *summary)
{
    *decoder = (struct ss_decoder){.visitor = visitor, .context = context, .summary = summary};
    ss_tables_init(&decoder->tables);
    ss_intern_init(&decoder->tids);
    ss_vec_resize(&decoder->sequences, SS_SEQUENCE + 1);
    decoder->inflater = ss_inflater_new();
}

void ss_decoder_fini(struct ss_decoder *decoder)
{
    ss_tables_fini(&decoder->tables);
    ss_vec_fini(&decoder->functions);
    ss_vec_fini(&decoder->paths);
    ss_vec_fini(&decoder->frames);
    ss_vec_fini(&decoder->stacks);
    ss_vec_fini(&decoder->tasks);
    ss_vec_fini(&decoder->thread_of_tid);
    ss_intern_fini(&decoder->tids);
    ss_vec_fini(&decoder->scratch);
    ss_vec_fini(&decoder->fields);
    for (size_t i = 0; i < decoder->sequences.count; i++) {
        ss_vec_fini(&decoder->sequences.data[i].names);
        ss_vec_fini(&decoder->sequences.data[i].fields);
        ss_vec_fini(&decoder->sequences.data[i].texts);
    }
    ss_vec_fini(&decoder->sequences);
    ss_wire_fini(&decoder->plain);
    ss_inflater_free(decoder->inflater);
}

size_t ss_decoder_memory(const struct ss_decoder *decoder)
{
    size_t sequences = decoder->sequences.capacity * sizeof *decoder->sequences.data;
    for (size_t i = 0; i < decoder->sequences.count; i++) {
        const struct ss_decoder_sequence *sequence = &decoder->sequences.data[i];
        sequences +=
            (sequence->names.capacity + sequence->fields.capacity + sequence->texts.capacity) *
            sizeof(uint32_t);
    }
    return ss_tables_memory(&decoder->tables) + sequences +
           (decoder->functions.capacity + decoder->paths.capacity + decoder->frames.capacity +
            decoder->stacks.capacity + decoder->tasks.capacity + decoder->scratch.capacity +
            decoder->thread_of_tid.capacity) *
               sizeof(uint32_t) +
           decoder->plain.capacity;
}

static enum ss_outcome read_sample(struct ss_step *step, struct ss_wire_cursor body,
                                   struct ss_trace_sample *sample, bool *defined)
{
    const struct ss_decoder *decoder = step->decoder;
    uint64_t task_iid = 0, stack_iid = 0, weight = 1;
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_SAMPLE_TASK_IID) {
            task_iid = field.value;
        } else if (field.number == SS_PF_SAMPLE_CALLSTACK_IID) {
            stack_iid = field.value;
        } else if (field.number == SS_PF_SAMPLE_WEIGHT) {
            weight = field.value;
        }
    }
    sample->thread_ref = ss_id_map_get(&decoder->tasks, task_iid);
    sample->stack_ref = ss_id_map_get(&decoder->stacks, stack_iid);
    sample->weight = weight == 0 ? 1 : weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
    *defined = sample->thread_ref != 0 && (stack_iid == 0 || sample->stack_ref != 0);
    return SS_STEP_GOOD;
}

static enum ss_outcome read_perf_sample(struct ss_step *step, struct ss_wire_cursor body,
                                        struct ss_trace_sample *sample, bool *defined)
{
    struct ss_decoder *decoder = step->decoder;
    uint64_t stack_iid = 0;
    int32_t tid = 0;
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_PERF_TID) {
            tid = (int32_t)field.value;
        } else if (field.number == SS_PF_PERF_CALLSTACK_IID) {
            stack_iid = field.value;
        }
    }
    sample->thread_ref = ss_id_map_get(
        &decoder->thread_of_tid, ss_intern_find(&decoder->tids, (const char *)&tid, sizeof tid));
    sample->stack_ref = ss_id_map_get(&decoder->stacks, stack_iid);
    *defined = sample->thread_ref != 0 && (stack_iid == 0 || sample->stack_ref != 0);
    return SS_STEP_GOOD;
}

/* The ref of a name, by its iid on the main sequence. */
static uint32_t main_name(const struct ss_step *step, uint64_t iid)
{
    return ss_id_map_get(&step->decoder->sequences.data[SS_SEQUENCE].names, iid);
}

/* Long: one case for each field. */
static enum ss_outcome read_payload_field(struct ss_step *step, const struct ss_wire_field *field,
                                          struct payload *payload)
{
    struct ss_trace_sample *sample = &payload->sample;
    switch (field->number) {
    case SS_PAYLOAD_sample_flags: {
        unsigned state = field->value & 7;
        unsigned gil = field->value >> 3 & 3;
        sample->state = state < SS_STATE_COUNT ? (enum ss_thread_state)state : SS_STATE_UNKNOWN;
        sample->gil = (enum ss_gil_state)gil;
        sample->partial = (field->value >> 5 & 1) != 0;
        unsigned wait = field->value >> 6 & 15;
        sample->wait = wait < SS_WAIT_COUNT ? (enum ss_wait_kind)wait : SS_WAIT_OTHER;
        return SS_STEP_GOOD;
    }
    case SS_PAYLOAD_window:
        sample->window = (uint32_t)field->value;
        return SS_STEP_GOOD;
    case SS_PAYLOAD_step:
        sample->step = (int64_t)(field->value - 1);
        return SS_STEP_GOOD;
    case SS_PAYLOAD_phase:
        sample->phase_name = main_name(step, field->value);
        return SS_STEP_GOOD;
    case SS_PAYLOAD_range:
        sample->range_name = main_name(step, field->value);
        return SS_STEP_GOOD;
    case SS_PAYLOAD_clock_width:
        payload->width_ns = field->value;
        return SS_STEP_GOOD;
    case SS_PAYLOAD_event_flags:
        payload->event.flags = (uint8_t)field->value;
        return SS_STEP_GOOD;
    case SS_PAYLOAD_event_text:
        if (field->type == SS_WIRE_BYTES) {
            payload->event.payload.type = SS_VALUE_TEXT;
            payload->event.payload.text = ss_wire_view(field->body);
        }
        return SS_STEP_GOOD;
    default:
        return ss_decode_record(step, field);
    }
}

static enum ss_outcome read_payload(struct ss_step *step, struct ss_wire_cursor body,
                                    struct payload *payload)
{
    struct ss_wire_field field;
    if (ss_wire_next(&body, &field) != SS_WIRE_FIELD || field.number != SS_PAYLOAD_format ||
        (field.value & 0x7f) != SS_FORMAT_MAGIC) {
        return ss_step_malformed(step, "a payload does not begin with our format word");
    }
    SS_EACH_FIELD(step, body, field)
    {
        payload->has_attribute |= field.number == SS_PAYLOAD_attribute;
        payload->has_note |= field.number == SS_PAYLOAD_note;
        SS_STEP_TRY(read_payload_field(step, &field, payload));
    }
    return SS_STEP_GOOD;
}

/* Long: one case for each field. */
static enum ss_outcome split_packet(struct ss_step *step, struct ss_wire_cursor body,
                                    struct packet *packet)
{
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        bool is_bytes = field.type == SS_WIRE_BYTES;
        switch (field.number) {
        case SS_PF_TIMESTAMP:
            packet->timestamp = field.value;
            packet->has_timestamp = true;
            break;
        case SS_PF_TIMESTAMP_CLOCK_ID:
            packet->clock_id = field.value;
            packet->has_clock_id = true;
            break;
        case SS_PF_SEQUENCE_FLAGS:
            packet->sequence_flags = field.value;
            break;
        case SS_PF_SEQUENCE_ID:
            packet->sequence_id = field.value;
            break;
        case SS_PF_TRACK_EVENT:
            packet->event = is_bytes ? field.body : packet->event;
            break;
        case SS_PF_TRACK_DESCRIPTOR:
            packet->descriptor = is_bytes ? field.body : packet->descriptor;
            break;
        case SS_PF_PACKET_DEFAULTS:
            packet->defaults = is_bytes ? field.body : packet->defaults;
            break;
        case SS_PF_INTERNED_DATA:
            packet->interned = is_bytes ? field.body : packet->interned;
            break;
        case SS_PF_STACK_SAMPLE:
            packet->sample = is_bytes ? field.body : packet->sample;
            break;
        case SS_PF_PERF_SAMPLE:
            packet->perf_sample = is_bytes ? field.body : packet->perf_sample;
            break;
        case SS_EXTENSION:
            packet->payload = is_bytes ? field.body : packet->payload;
            break;
        case SS_PF_CLOCK_SNAPSHOT:
            packet->clocks = is_bytes ? field.body : packet->clocks;
            break;
        case SS_PF_TRACE_ATTRIBUTES:
            packet->attributes = is_bytes ? field.body : packet->attributes;
            break;
        case SS_PF_COMPRESSED_PACKETS:
            packet->compressed = is_bytes ? field.body : packet->compressed;
            break;
        default:
            break;
        }
    }
    return SS_STEP_GOOD;
}

static uint64_t packet_time(struct ss_decoder_sequence *sequence, const struct packet *packet)
{
    if (packet->has_clock_id && packet->clock_id != SS_PF_SEQUENCE_CLOCK) {
        return packet->timestamp;
    }
    sequence->time_ns += packet->timestamp;
    return sequence->time_ns;
}

static enum ss_outcome emit_sample(struct ss_step *step, const struct packet *packet,
                                   struct ss_trace_sample *sample)
{
    struct ss_trace_summary *summary = step->decoder->summary;
    bool defined;
    if (packet->sample.at != NULL) {
        SS_STEP_TRY(read_sample(step, packet->sample, sample, &defined));
    } else {
        SS_STEP_TRY(read_perf_sample(step, packet->perf_sample, sample, &defined));
    }
    if (!defined) {
        summary->lost_samples++;
        return SS_STEP_GOOD;
    }
    if (summary->samples == 0 || sample->time_ns < summary->first_ns) {
        summary->first_ns = sample->time_ns;
    }
    summary->last_ns = sample->time_ns > summary->last_ns ? sample->time_ns : summary->last_ns;
    summary->samples++;
    SS_STEP_EMIT(step, sample, sample);
    return SS_STEP_GOOD;
}

static void clear_main(struct ss_decoder *decoder)
{
    ss_vec_clear(&decoder->functions);
    ss_vec_clear(&decoder->paths);
    ss_vec_clear(&decoder->frames);
    ss_vec_clear(&decoder->stacks);
    ss_vec_clear(&decoder->tasks);
}

static void clear_sequence(struct ss_decoder *decoder, uint32_t sequence)
{
    struct ss_decoder_sequence *state = &decoder->sequences.data[sequence];
    ss_vec_clear(&state->names);
    ss_vec_clear(&state->fields);
    ss_vec_clear(&state->texts);
    state->target = (struct ss_track_target){0};
    if (sequence == SS_SEQUENCE) {
        clear_main(decoder);
    }
}

static void clear_period(struct ss_decoder *decoder)
{
    for (uint32_t i = SS_SEQUENCE; i < decoder->sequences.count; i++) {
        clear_sequence(decoder, i);
    }
}

/* The definitions and records of a packet, in order of dependency. */
static enum ss_outcome read_definitions(struct ss_step *step, const struct packet *packet,
                                        uint32_t sequence, struct payload *payload)
{
    if (packet->payload.at != NULL) {
        SS_STEP_TRY(read_payload(step, packet->payload, payload));
    }
    if (packet->interned.at != NULL) {
        SS_STEP_TRY(ss_decode_interned(step, packet->interned, packet->payload, sequence));
    }
    if (packet->defaults.at != NULL) {
        SS_STEP_TRY(ss_decode_defaults(step, packet->defaults, sequence));
    }
    if (packet->clocks.at != NULL) {
        SS_STEP_TRY(ss_decode_clocks(step, packet->clocks, payload->width_ns, sequence));
    }
    if (packet->attributes.at != NULL && !payload->has_attribute) {
        SS_STEP_TRY(ss_decode_attributes(step, packet->attributes));
    }
    if (packet->descriptor.at != NULL && packet->payload.at == NULL) {
        SS_STEP_TRY(ss_decode_foreign_track(step, packet->descriptor));
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome read_packet(struct ss_step *step, const struct packet *packet)
{
    struct ss_decoder *decoder = step->decoder;
    struct payload payload = {.sample = {.step = -1, .weight = 1}};
    if (packet->sequence_id > SS_MAX_SEQUENCE) {
        return SS_STEP_GOOD; /* written by a later version */
    }
    uint32_t sequence = packet->sequence_id > 0 ? (uint32_t)packet->sequence_id : SS_SEQUENCE;
    if (sequence >= decoder->sequences.count) {
        ss_vec_resize(&decoder->sequences, (size_t)sequence + 1);
    }
    if ((packet->sequence_flags & SS_PF_STATE_CLEARED) != 0) {
        clear_sequence(decoder, sequence);
    }
    uint64_t time_ns = 0;
    if (packet->has_timestamp) {
        time_ns = packet_time(&decoder->sequences.data[sequence], packet);
    }
    SS_STEP_TRY(read_definitions(step, packet, sequence, &payload));
    if (packet->event.at != NULL && packet->has_timestamp && !payload.has_note) {
        payload.event.time_ns = time_ns;
        SS_STEP_TRY(ss_decode_event(step, packet->event, sequence, &payload.event));
    }
    bool is_sample = packet->sample.at != NULL || packet->perf_sample.at != NULL;
    if (is_sample && packet->has_timestamp) {
        payload.sample.time_ns = time_ns;
        SS_STEP_TRY(emit_sample(step, packet, &payload.sample));
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome inflate(struct ss_step *step, struct ss_wire_cursor compressed)
{
    switch (ss_inflate(step->decoder->inflater, compressed.at,
                       (size_t)(compressed.end - compressed.at), SS_MAX_PLAIN_BYTES,
                       &step->decoder->plain)) {
    case SS_INFLATE_CORRUPT:
        return ss_step_malformed(step, "compressed packets cannot be inflated");
    case SS_INFLATE_TOO_LARGE:
        return ss_step_malformed(step, "compressed packets inflate beyond the limit");
    case SS_INFLATE_OK:
        break;
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome read_packets(struct ss_step *step, struct ss_wire_cursor packets,
                                    bool nested)
{
    struct ss_decoder *decoder = step->decoder;
    struct ss_wire_field field;
    SS_EACH_FIELD(step, packets, field)
    {
        if (field.number != SS_PF_TRACE_PACKET || field.type != SS_WIRE_BYTES) {
            continue;
        }
        enum ss_outcome outcome;
        if (ss_decode_small_event(step, field.body, &outcome)) {
            decoder->summary->plain_bytes += nested ? 0 : field.value;
            decoder->summary->track_bytes += field.value;
            SS_STEP_TRY(outcome);
            continue;
        }
        struct packet packet = {0};
        SS_STEP_TRY(split_packet(step, field.body, &packet));
        if (packet.compressed.at == NULL) {
            decoder->summary->plain_bytes += nested ? 0 : field.value;
            decoder->summary->track_bytes += packet.event.at != NULL ? field.value : 0;
            SS_STEP_TRY(read_packet(step, &packet));
            continue;
        }
        if (nested) {
            return ss_step_malformed(step, "compressed packets within compressed packets");
        }
        SS_STEP_TRY(inflate(step, packet.compressed));
        decoder->summary->plain_bytes += decoder->plain.length;
        struct ss_wire_cursor plain = ss_wire_cursor_of(decoder->plain.data, decoder->plain.length);
        SS_STEP_TRY(read_packets(step, plain, true));
    }
    return SS_STEP_GOOD;
}

enum ss_status ss_decoder_unit(struct ss_decoder *decoder, const struct ss_scan_unit *unit,
                               const char **reason, struct ss_error *err)
{
    struct ss_step step = {.decoder = decoder};
    *reason = NULL;
    if (unit->restart || unit->period != decoder->period) {
        /* After a lost restart point the same iids have other meanings. */
        clear_period(decoder);
        decoder->period = unit->period;
    }
    switch (read_packets(&step, unit->body, false)) {
    case SS_STEP_MALFORMED:
        *reason = step.reason;
        return SS_OK;
    case SS_STEP_STOPPED:
        return ss_fail(err, step.status, "reading stopped at byte %llu: %s",
                       (unsigned long long)unit->offset, ss_status_text(step.status));
    case SS_STEP_GOOD:
        break;
    }
    return SS_OK;
}
