/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto traces of other programs: those that use its SDK, Chrome, profilers that write stacks.
 * Streamed: of the file, one block is in memory, and the state of its packet sequences. */
#include <inttypes.h>

#include "base/alloc.h"
#include "model/perfetto/perfetto_loading.h"
#include "trace/reader.h"
#include "wire/deflate.h"
#include "wire/perfetto.h"

enum { MOST_INFLATED_BYTES = 64 << 20 };

struct loader {
    struct ss_import_window window;
    struct ss_perfetto_loading loading;
    struct ss_inflater *inflater;
    struct ss_wire_buffer inflated;
};

void ss_perfetto_skip(struct ss_perfetto_loading *loading, const char *reason)
{
    ss_import_window_count_skipped(loading->window, loading->offset, reason);
}

void ss_perfetto_count(struct ss_perfetto_loading *loading, uint64_t begin_ns, uint64_t end_ns)
{
    bool is_first = loading->events == 0;
    loading->first_ns = is_first || begin_ns < loading->first_ns ? begin_ns : loading->first_ns;
    loading->last_ns = is_first || end_ns > loading->last_ns ? end_ns : loading->last_ns;
    loading->events++;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* A packet's fields, before its sequence is known. */
struct fields {
    struct ss_perfetto_packet packet;
    uint64_t sequence_id;
    bool is_cleared, has_losses;
    const char *unread; /* what kind of data it has that is not read; NULL: none */
    struct ss_wire_cursor compressed;
};

static const char *unread_kind(uint32_t number)
{
    switch (number) {
    case SS_PF_FTRACE_EVENTS:
        return "events of the kernel (ftrace)";
    case SS_PF_CHROME_EVENTS:
        return "events in Chrome's format of before 2019";
    case SS_PF_PROFILE_PACKET:
        return "a heap profile";
    case SS_PF_GPU_COUNTERS:
        return "counters of GPUs";
    case SS_PF_GPU_STAGES:
        return "stages of GPUs";
    case SS_PF_STREAMING_PROFILE:
        return "a profile in Chrome's format";
    case SS_PF_ZSTD_PACKETS:
        return "packets compressed with zstd";
    default:
        return NULL;
    }
}

/* Where the field's message goes; NULL: it is none that is read. */
static struct ss_wire_cursor *message_of(struct fields *fields, uint32_t number)
{
    struct ss_perfetto_packet *packet = &fields->packet;
    switch (number) {
    case SS_PF_INTERNED_DATA:
        return &packet->interned;
    case SS_PF_PACKET_DEFAULTS:
        return &packet->defaults;
    case SS_PF_CLOCK_SNAPSHOT:
        return &packet->clocks;
    case SS_PF_TRACK_EVENT:
        return &packet->event;
    case SS_PF_TRACK_DESCRIPTOR:
        return &packet->descriptor;
    case SS_PF_PROCESS_DESCRIPTOR:
        return &packet->process;
    case SS_PF_THREAD_DESCRIPTOR:
        return &packet->thread;
    case SS_PF_PROCESS_TREE:
        return &packet->tree;
    case SS_PF_PERF_SAMPLE:
        return &packet->perf_sample;
    case SS_PF_STACK_SAMPLE:
        return &packet->stack_sample;
    case SS_PF_COMPRESSED_PACKETS:
        return &fields->compressed;
    default:
        return NULL;
    }
}

static void split_number(const struct ss_wire_field *field, struct fields *fields)
{
    struct ss_perfetto_packet *packet = &fields->packet;
    switch (field->number) {
    case SS_PF_TIMESTAMP:
        packet->timestamp = field->value;
        packet->has_time = true;
        break;
    case SS_PF_TIMESTAMP_CLOCK_ID:
        packet->clock = field->value;
        packet->has_clock = true;
        break;
    case SS_PF_SEQUENCE_ID:
        fields->sequence_id = field->value;
        break;
    case SS_PF_SEQUENCE_FLAGS:
        packet->flags = field->value;
        break;
    case SS_PF_STATE_CLEARED_FLAG:
        fields->is_cleared = field->value != 0;
        break;
    case SS_PF_PREVIOUS_PACKET_DROPPED:
        fields->has_losses = field->value != 0;
        break;
    default:
        break;
    }
}

static bool split_packet(struct ss_wire_cursor body, struct fields *fields)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    *fields = (struct fields){0};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.type != SS_WIRE_BYTES) {
            split_number(&field, fields);
            continue;
        }
        struct ss_wire_cursor *message = message_of(fields, field.number);
        if (message != NULL) {
            *message = field.body;
        } else if (fields->unread == NULL) {
            fields->unread = unread_kind(field.number);
        }
    }
    return next == SS_WIRE_END;
}

/* What the sequence interned before is gone, or incomplete. */
static void update_state(struct loader *loader, const struct fields *fields)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    struct ss_perfetto_sequence *sequence =
        ss_perfetto_sequence_at(loading, fields->packet.sequence);
    bool is_cleared = fields->is_cleared || (fields->packet.flags & SS_PF_STATE_CLEARED) != 0;
    if (fields->has_losses && sequence->has_state && !is_cleared) {
        ss_perfetto_skip(loading, "packets were lost while the trace was recorded");
        sequence->has_state = false;
    }
    if (is_cleared) {
        ss_perfetto_clear(sequence);
        sequence->has_state = true;
    }
}

static bool read_snapshot(struct loader *loader, struct ss_wire_cursor body, uint32_t sequence)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    struct ss_perfetto_clocks *clocks = &loading->clocks;
    bool had_wall = clocks->has_wall;
    bool is_read = ss_perfetto_clocks_snapshot(
        clocks, &ss_perfetto_sequence_at(loading, sequence)->clocks, body);
    bool is_wall_time = clocks->wall_base_ns > 0 && clocks->wall_base_ns <= INT64_MAX;
    if (is_read && clocks->has_wall && !had_wall && is_wall_time && loading->samples == 0) {
        ss_model_builder_wall_clock(loading->builder, clocks->wall_base_ns);
    }
    return is_read;
}

static bool read_definitions(struct loader *loader, const struct ss_perfetto_packet *packet)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    uint32_t sequence = packet->sequence;
    return (packet->clocks.at == NULL || read_snapshot(loader, packet->clocks, sequence)) &&
           (packet->defaults.at == NULL ||
            ss_perfetto_read_defaults(loading, sequence, packet->defaults)) &&
           (packet->interned.at == NULL ||
            ss_perfetto_read_interned(loading, sequence, packet->interned)) &&
           (packet->descriptor.at == NULL || ss_perfetto_read_track(loading, packet->descriptor)) &&
           (packet->process.at == NULL || ss_perfetto_read_process(loading, packet->process)) &&
           (packet->thread.at == NULL ||
            ss_perfetto_read_thread(loading, sequence, packet->thread)) &&
           (packet->tree.at == NULL || ss_perfetto_read_tree(loading, packet->tree));
}

/* The time of the packet; false: it is of a clock that no snapshot defines. */
static bool find_time(struct loader *loader, struct ss_perfetto_packet *packet)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    struct ss_perfetto_sequence *sequence = ss_perfetto_sequence_at(loading, packet->sequence);
    uint64_t clock = packet->has_clock ? packet->clock : sequence->default_clock;
    clock = clock != 0 ? clock : loading->clocks.trace_clock;
    return !packet->has_time || ss_perfetto_clocks_time(&loading->clocks, &sequence->clocks, clock,
                                                        packet->timestamp, &packet->time_ns);
}

static bool read_records(struct loader *loader, const struct ss_perfetto_packet *packet)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    return (packet->event.at == NULL || ss_perfetto_read_event(loading, packet)) &&
           (packet->perf_sample.at == NULL || ss_perfetto_read_perf_sample(loading, packet)) &&
           (packet->stack_sample.at == NULL || ss_perfetto_read_stack_sample(loading, packet));
}

static bool has_records(const struct ss_perfetto_packet *packet)
{
    return packet->event.at != NULL || packet->perf_sample.at != NULL ||
           packet->stack_sample.at != NULL;
}

/* Long: each reason to skip a packet. */
static void read_packet(struct loader *loader, struct fields *fields)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    struct ss_perfetto_packet *packet = &fields->packet;
    packet->sequence = ss_perfetto_sequence_of(loading, fields->sequence_id);
    if (packet->sequence == UINT32_MAX) {
        ss_perfetto_skip(loading, "more than 65,536 packet sequences");
        return;
    }
    update_state(loader, fields);
    if (fields->unread != NULL) {
        ss_perfetto_skip(loading, fields->unread);
    }
    if (!read_definitions(loader, packet)) {
        ss_perfetto_skip(loading, "a malformed packet");
        return;
    }
    bool has_time = find_time(loader, packet); /* also of those without an event: clocks advance */
    if (!has_records(packet)) {
        return;
    }
    const struct ss_perfetto_sequence *sequence =
        ss_perfetto_sequence_at(loading, packet->sequence);
    if ((packet->flags & SS_PF_NEEDS_STATE) != 0 && !sequence->has_state) {
        ss_perfetto_skip(loading, "an event whose names were lost");
    } else if (!has_time) {
        ss_perfetto_skip(loading, "a time of a clock that is not defined, or beyond 63 bits");
    } else if (!read_records(loader, packet)) {
        ss_perfetto_skip(loading, "a malformed packet");
    }
}

static void read_body(struct loader *loader, struct ss_wire_cursor body, bool may_be_compressed);

static void read_compressed(struct loader *loader, struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    if (loader->inflater == NULL) {
        loader->inflater = ss_inflater_new();
    }
    if (ss_inflate(loader->inflater, body.at, (size_t)(body.end - body.at), MOST_INFLATED_BYTES,
                   &loader->inflated) != SS_INFLATE_OK) {
        ss_perfetto_skip(&loader->loading, "packets that cannot be inflated");
        return;
    }
    loader->loading.status = ss_input_budget_read(loader->window.file->budget,
                                                  loader->inflated.length, loader->loading.err);
    struct ss_wire_cursor cursor =
        ss_wire_cursor_of(loader->inflated.data, loader->inflated.length);
    while (ss_wire_next(&cursor, &field) == SS_WIRE_FIELD && loader->loading.status == SS_OK) {
        if (field.number == SS_PF_TRACE_PACKET && field.type == SS_WIRE_BYTES) {
            read_body(loader, field.body, false);
        }
    }
}

static void read_body(struct loader *loader, struct ss_wire_cursor body, bool may_be_compressed)
{
    struct fields fields;
    if (!split_packet(body, &fields)) {
        ss_perfetto_skip(&loader->loading, "a malformed packet");
        return;
    }
    if (fields.compressed.at == NULL) {
        read_packet(loader, &fields);
    } else if (may_be_compressed) {
        read_compressed(loader, fields.compressed);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

/* The size of the packet's tag and length; 0: the bytes are none. `*more`: they end within it. */
static size_t packet_head(struct ss_wire_cursor bytes, uint64_t *length, bool *more)
{
    struct ss_wire_cursor cursor = bytes;
    uint64_t tag = 0;
    bool is_read = ss_wire_get_varint(&cursor, &tag);
    bool is_tag = is_read && tag == (SS_PF_TRACE_PACKET << 3 | SS_WIRE_BYTES);
    bool has_length = is_tag && ss_wire_get_varint(&cursor, length);
    *more = !has_length && (is_tag || !is_read) && bytes.end - bytes.at < 2 * SS_WIRE_MAX_VARINT;
    return has_length ? (size_t)(cursor.at - bytes.at) : 0;
}

/* False: the file ends, or what follows is not a packet. */
static bool next_packet(struct loader *loader, struct ss_wire_cursor *body)
{
    struct ss_import_window *window = &loader->window;
    for (;;) {
        size_t available = window->end - window->begin;
        struct ss_wire_cursor bytes = ss_wire_cursor_of(window->data + window->begin, available);
        uint64_t length = 0;
        bool more = true;
        size_t head = available > 0 ? packet_head(bytes, &length, &more) : 0;
        if (head > 0 && length <= available - head) {
            *body = ss_wire_cursor_of(bytes.at + head, length);
            loader->loading.offset = ss_import_window_offset(window);
            window->begin += head + length;
            return true;
        }
        if (head == 0 && !more) {
            ss_import_window_count_skipped(window, ss_import_window_offset(window), "no packet");
            window->is_cut = true;
            return false;
        }
        if (!ss_import_window_refill(window)) {
            window->is_cut = window->is_cut || available > 0;
            return false;
        }
    }
}

static enum ss_status check(const struct loader *loader, const char *path, struct ss_error *err)
{
    const struct ss_perfetto_loading *loading = &loader->loading;
    const struct ss_import_window *window = &loader->window;
    if (loading->events + loading->samples > 0) {
        return SS_OK;
    }
    if (window->status != SS_OK) {
        return ss_fail(err, window->status, "%s", window->err.message);
    }
    if (window->skipped > 0) {
        return ss_fail(err, SS_E_FORMAT,
                       "%s: nothing that stepscope reads of this Perfetto trace; the first that it "
                       "does not, at byte %" PRIu64 ": %s",
                       path, window->first_skipped, window->skip_reason);
    }
    return ss_fail(err, SS_E_FORMAT, "%s is a Perfetto trace without an event, up to byte %" PRIu64,
                   path, ss_import_window_offset(window));
}

static void put_input(struct loader *loader)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    struct ss_builder_skipped skipped = ss_import_window_skipped(&loader->window);
    uint64_t last_ns =
        loading->last_ns > loading->last_sample_ns ? loading->last_ns : loading->last_sample_ns;
    struct ss_trace_summary summary = {.file_bytes = ss_import_window_offset(&loader->window),
                                       .events = loading->events,
                                       .samples = loading->samples,
                                       .first_ns = loading->first_sample_ns,
                                       .last_ns = loading->last_sample_ns,
                                       .first_event_ns = loading->first_ns,
                                       .last_event_ns = last_ns,
                                       .sealed = !loader->window.is_cut};
    if (loading->clocks.has_wall && loading->events > 0) {
        struct ss_trace_attribute start = {
            .key = ss_strview_of("start_realtime_ns"),
            .is_integer = true,
            .integer = (int64_t)(loading->first_ns + loading->clocks.wall_base_ns)};
        ss_model_builder_attribute(loading->builder, &start);
    }
    ss_model_builder_import(loading->builder,
                            ss_strview_of("a program that writes Perfetto traces"), &skipped);
    ss_model_builder_summary(loading->builder, &summary);
}

static enum ss_status finish(struct loader *loader, struct ss_model_load *request,
                             struct ss_error *err)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    SS_TRY(loading->status);
    SS_TRY(ss_import_window_refused(&loader->window, err));
    SS_TRY(check(loader, loader->window.file->path, err));
    ss_perfetto_end_async(loading);
    ss_perfetto_finish_rows(loading);
    put_input(loader);
    if (request->has_steps) {
        SS_TRY(ss_model_builder_select_steps(loading->builder, request, err));
    }
    ss_model_builder_end(loading->builder);
    return SS_OK;
}

static void loader_fini(struct loader *loader)
{
    struct ss_perfetto_loading *loading = &loader->loading;
    for (size_t i = 0; i < loading->sequences.count; i++) {
        ss_perfetto_sequence_fini(&loading->sequences.data[i]);
    }
    struct ss_perfetto_map *const maps[] = {
        &loading->sequence_of, &loading->track_of, &loading->process_of,  &loading->thread_of,
        &loading->name_of,     &loading->field_of, &loading->async_track, &loading->legacy_counter};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        ss_perfetto_map_fini(maps[i]);
    }
    ss_perfetto_clocks_fini(&loading->clocks);
    ss_vec_fini(&loading->sequences);
    ss_vec_fini(&loading->processes);
    ss_vec_fini(&loading->threads);
    ss_vec_fini(&loading->tracks);
    ss_vec_fini(&loading->async);
    ss_intern_fini(&loading->async_keys);
    ss_model_builder_free(loading->builder);
    ss_inflater_free(loader->inflater);
    ss_wire_fini(&loader->inflated);
    ss_import_window_fini(&loader->window);
    ss_free(loader);
}

static enum ss_status load_perfetto(struct ss_model *model, const struct ss_import_file *file,
                                    const struct ss_model_load *load, struct ss_error *err)
{
    struct loader *loader = ss_alloc_zero(1, sizeof *loader);
    struct ss_model_load request = *load;
    uint64_t base_ns = 0;
    struct ss_wire_cursor body;
    ss_import_window_init(&loader->window, file, load);
    ss_intern_init(&loader->loading.async_keys);
    loader->loading.model = model;
    loader->loading.load = load;
    loader->loading.window = &loader->window;
    loader->loading.err = err;
    loader->loading.builder = ss_model_builder_new(model, SS_INPUT_IMPORT, file->path, &request,
                                                   load->on_axis ? &base_ns : NULL);
    while (loader->loading.status == SS_OK && next_packet(loader, &body)) {
        read_body(loader, body, true);
    }
    enum ss_status status = finish(loader, &request, err);
    if (status == SS_OK && !load->quiet) {
        ss_import_window_report(&loader->window);
    }
    loader_fini(loader);
    return status;
}

/* --- the probe -------------------------------------------------------------------------------- */

/* How sure a packet's fields make that it is one: those that nearly every packet has. */
static bool looks_like_packet(struct ss_wire_cursor body, bool is_cut, bool *has_message)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    bool has_known = false;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        bool is_bytes = field.type == SS_WIRE_BYTES;
        bool is_known_number = field.number == SS_PF_TIMESTAMP || field.number == SS_PF_SEQUENCE_ID;
        bool is_known_message =
            field.number == SS_PF_CLOCK_SNAPSHOT || field.number == SS_PF_TRACK_EVENT ||
            field.number == SS_PF_INTERNED_DATA || field.number == SS_PF_COMPRESSED_PACKETS ||
            field.number == SS_PF_TRACK_DESCRIPTOR || field.number == SS_PF_FTRACE_EVENTS;
        has_known = has_known || (is_bytes ? is_known_message : is_known_number);
        *has_message = *has_message || (is_bytes && is_known_message);
        if ((is_bytes && is_known_number) || (!is_bytes && is_known_message)) {
            return false;
        }
    }
    return has_known && (next == SS_WIRE_END || is_cut);
}

static enum ss_import_match probe_perfetto(const char *head, size_t length)
{
    struct ss_wire_cursor bytes = ss_wire_cursor_of(head, length);
    size_t packets = 0;
    uint64_t size;
    bool more, has_message = false;
    if (ss_trace_is_trace(head, length < 64 ? length : 64)) {
        return SS_IMPORT_NO;
    }
    while (bytes.at < bytes.end && (packets < 4 || !has_message)) {
        size_t skip = packet_head(bytes, &size, &more);
        size_t left = (size_t)(bytes.end - bytes.at) - skip;
        bool is_cut = skip > 0 && size > left;
        if (skip == 0 || (is_cut && length < SS_IMPORT_HEAD_BYTES && packets == 0) ||
            !looks_like_packet(ss_wire_cursor_of(bytes.at + skip, is_cut ? left : size), is_cut,
                               &has_message)) {
            break;
        }
        packets++;
        bytes.at += skip + (is_cut ? left : size);
    }
    bool are_packets = packets >= 2 || (packets == 1 && bytes.at == bytes.end);
    return are_packets && has_message ? SS_IMPORT_CERTAIN : SS_IMPORT_NO;
}

const struct ss_importer ss_importer_perfetto = {.name = "perfetto",
                                                 .summary = "Perfetto traces of other programs",
                                                 .kind = SS_INPUT_IMPORT,
                                                 .probe = probe_perfetto,
                                                 .load = load_perfetto};
