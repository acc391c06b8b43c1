/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decode.h"

#include "trace/decode_step.h"
#include "wire/perfetto.h"

/* The parts of a packet that matter here. */
struct packet {
    uint64_t timestamp, clock_id, sequence_flags;
    struct ss_wire_cursor interned, sample, payload, clocks, attributes, compressed;
    bool has_timestamp, has_clock_id;
};

void ss_decoder_init(struct ss_decoder *decoder, const struct ss_trace_visitor *visitor,
                     void *context, struct ss_trace_summary *summary)
{
    *decoder = (struct ss_decoder){.visitor = visitor, .context = context, .summary = summary};
    ss_tables_init(&decoder->tables);
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
    ss_vec_fini(&decoder->scratch);
    ss_wire_fini(&decoder->plain);
    ss_inflater_free(decoder->inflater);
}

size_t ss_decoder_memory(const struct ss_decoder *decoder)
{
    return ss_tables_memory(&decoder->tables) +
           (decoder->functions.capacity + decoder->paths.capacity + decoder->frames.capacity +
            decoder->stacks.capacity + decoder->tasks.capacity + decoder->scratch.capacity) *
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

/* One field of our payload. `sample`: that of the packet, to be completed. */
static enum ss_outcome read_payload_field(struct ss_step *step, const struct ss_wire_field *field,
                                          struct ss_trace_sample *sample, uint64_t *width_ns)
{
    switch (field->number) {
    case SS_PAYLOAD_SAMPLE_FLAGS: {
        unsigned state = field->value & 7;
        unsigned gil = field->value >> 3 & 3;
        sample->state = state < SS_STATE_COUNT ? (enum ss_thread_state)state : SS_STATE_UNKNOWN;
        sample->gil = (enum ss_gil_state)gil;
        sample->partial = (field->value >> 5 & 1) != 0;
        return SS_STEP_GOOD;
    }
    case SS_PAYLOAD_WINDOW:
        sample->window = (uint32_t)field->value;
        return SS_STEP_GOOD;
    case SS_PAYLOAD_STEP:
        sample->step = (int64_t)(field->value - 1);
        return SS_STEP_GOOD;
    case SS_PAYLOAD_PHASE:
        sample->phase_name = (uint32_t)field->value;
        return SS_STEP_GOOD;
    case SS_PAYLOAD_RANGE:
        sample->range_name = (uint32_t)field->value;
        return SS_STEP_GOOD;
    case SS_PAYLOAD_CLOCK_WIDTH:
        *width_ns = field->value;
        return SS_STEP_GOOD;
    default:
        return ss_decode_record(step, field);
    }
}

static enum ss_outcome read_payload(struct ss_step *step, struct ss_wire_cursor payload,
                                    struct ss_trace_sample *sample, uint64_t *width_ns,
                                    bool *has_attribute)
{
    struct ss_wire_field field;
    if (ss_wire_next(&payload, &field) != SS_WIRE_FIELD || field.number != SS_PAYLOAD_FORMAT ||
        (field.value & 0x7f) != SS_FORMAT_MAGIC) {
        return ss_step_malformed(step, "a payload does not begin with our format word");
    }
    SS_EACH_FIELD(step, payload, field)
    {
        *has_attribute = *has_attribute || field.number == SS_PAYLOAD_ATTRIBUTE;
        SS_STEP_TRY(read_payload_field(step, &field, sample, width_ns));
    }
    return SS_STEP_GOOD;
}

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
        case SS_PF_INTERNED_DATA:
            packet->interned = is_bytes ? field.body : packet->interned;
            break;
        case SS_PF_STACK_SAMPLE:
            packet->sample = is_bytes ? field.body : packet->sample;
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

static uint64_t packet_time(struct ss_decoder *decoder, const struct packet *packet)
{
    if (packet->has_clock_id && packet->clock_id != SS_PF_SEQUENCE_CLOCK) {
        return packet->timestamp;
    }
    decoder->sequence_ns += packet->timestamp;
    return decoder->sequence_ns;
}

static enum ss_outcome tell_sample(struct ss_step *step, struct ss_wire_cursor body,
                                   struct ss_trace_sample *sample)
{
    struct ss_trace_summary *summary = step->decoder->summary;
    bool defined;
    SS_STEP_TRY(read_sample(step, body, sample, &defined));
    if (!defined) {
        summary->lost_samples++;
        return SS_STEP_GOOD;
    }
    if (summary->samples == 0 || sample->time_ns < summary->first_ns) {
        summary->first_ns = sample->time_ns;
    }
    summary->last_ns = sample->time_ns > summary->last_ns ? sample->time_ns : summary->last_ns;
    summary->samples++;
    SS_STEP_TELL(step, sample, sample);
    return SS_STEP_GOOD;
}

static void clear_period(struct ss_decoder *decoder)
{
    ss_vec_clear(&decoder->functions);
    ss_vec_clear(&decoder->paths);
    ss_vec_clear(&decoder->frames);
    ss_vec_clear(&decoder->stacks);
    ss_vec_clear(&decoder->tasks);
}

static enum ss_outcome read_packet(struct ss_step *step, const struct packet *packet)
{
    struct ss_decoder *decoder = step->decoder;
    struct ss_trace_sample sample = {.step = -1, .weight = 1};
    uint64_t width_ns = 0;
    bool has_attribute = false;
    if ((packet->sequence_flags & SS_PF_STATE_CLEARED) != 0) {
        clear_period(decoder);
    }
    if (packet->has_timestamp) {
        sample.time_ns = packet_time(decoder, packet);
    }
    if (packet->payload.at != NULL) {
        SS_STEP_TRY(read_payload(step, packet->payload, &sample, &width_ns, &has_attribute));
    }
    if (packet->interned.at != NULL) {
        SS_STEP_TRY(ss_decode_interned(step, packet->interned, packet->payload));
    }
    if (packet->clocks.at != NULL) {
        SS_STEP_TRY(ss_decode_clocks(step, packet->clocks, width_ns));
    }
    if (packet->attributes.at != NULL && !has_attribute) {
        SS_STEP_TRY(ss_decode_attributes(step, packet->attributes));
    }
    if (packet->sample.at != NULL && packet->has_timestamp) {
        SS_STEP_TRY(tell_sample(step, packet->sample, &sample));
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
        struct packet packet = {0};
        SS_STEP_TRY(split_packet(step, field.body, &packet));
        if (packet.compressed.at == NULL) {
            decoder->summary->plain_bytes += nested ? 0 : field.value;
            SS_STEP_TRY(read_packet(step, &packet));
            continue;
        }
        if (nested) {
            return ss_step_malformed(step, "compressed packets within compressed packets");
        }
        switch (ss_inflate(decoder->inflater, packet.compressed.at,
                           (size_t)(packet.compressed.end - packet.compressed.at),
                           SS_MAX_PLAIN_BYTES, &decoder->plain)) {
        case SS_INFLATE_CORRUPT:
            return ss_step_malformed(step, "compressed packets cannot be inflated");
        case SS_INFLATE_TOO_LARGE:
            return ss_step_malformed(step, "compressed packets inflate beyond the limit");
        case SS_INFLATE_OK:
            break;
        }
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
        /* Behind a lost restart point the same ids mean something else. */
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
