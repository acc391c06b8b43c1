/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/random.h"
#include "trace/encode.h"
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "wire/perfetto.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
    DEFAULT_UNIT_BYTES = 256 * 1024,
    DEFAULT_RESTART_BYTES = 4 * 1024 * 1024,
    DEFAULT_RESTART_S = 30,
    /* A restart waits for the next tick, which reports it; above this multiple it is immediate. */
    FORCED_RESTART_FACTOR = 4
};

/* --- lifetime ------------------------------------------------------------------------------- */

static struct ss_trace_writer_options complete_options(const struct ss_trace_writer_options *given)
{
    struct ss_trace_writer_options options = {0};
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    options.unit_ns = options.unit_ns != 0 ? options.unit_ns : SECOND_NS;
    options.unit_bytes = options.unit_bytes != 0 ? options.unit_bytes : DEFAULT_UNIT_BYTES;
    /* Perfetto requires compressed packets below 512 KiB: larger requests are capped. */
    if (options.unit_bytes > DEFAULT_UNIT_BYTES) {
        options.unit_bytes = DEFAULT_UNIT_BYTES;
    }
    options.restart_ns =
        options.restart_ns != 0 ? options.restart_ns : DEFAULT_RESTART_S * SECOND_NS;
    options.restart_bytes =
        options.restart_bytes != 0 ? options.restart_bytes : DEFAULT_RESTART_BYTES;
    return options;
}

static void begin_unit(struct ss_trace_writer *writer)
{
    ss_unit_clear(&writer->unit);
    if (!writer->options.replay) {
        ss_clock_now(writer->options.clock, &writer->clock);
        writer->has_clock = true;
    }
}

/* Invalidates all earlier definitions. */
static void begin_period(struct ss_trace_writer *writer)
{
    ss_definitions_restart(&writer->definitions);
    writer->next_thread_iid = 1;
    writer->next_name_iid = 1;
    writer->period_bytes = 0;
    writer->period_began_ns = writer->clock.monotonic_ns;
    writer->unit_restarts = true;
    for (size_t i = 0; i < writer->counts.count; i++) {
        struct ss_writer_counts *entry = &writer->counts.data[i];
        entry->pending = entry->pending || entry->record.process_ref == 0;
    }
}

static void flush_definitions(void *context);

static void make_trace_uuid(struct ss_trace_writer *writer)
{
    memcpy(writer->trace_uuid, writer->options.uuid, sizeof writer->trace_uuid);
    if ((writer->trace_uuid[0] | writer->trace_uuid[1]) != 0) {
        return;
    }
    if (!ss_random_bytes(writer->trace_uuid, sizeof writer->trace_uuid)) {
        writer->trace_uuid[0] = ss_hash_u64(ss_clock_monotonic_ns());
    }
}

enum ss_status ss_trace_writer_open(const struct ss_trace_writer_options *options,
                                    struct ss_trace_writer **result, struct ss_error *err)
{
    struct ss_output output = {.fd = -1, .folder_fd = -1};
    if (options->path != NULL) {
        SS_TRY(ss_output_open(options->path, options->keeps_reserve, &output, err));
    }
    struct ss_trace_writer *writer = ss_alloc_zero(1, sizeof *writer);
    writer->output = output;
    writer->options = complete_options(options);
    writer->processes.item_bytes = sizeof(struct ss_writer_process);
    writer->threads.item_bytes = sizeof(struct ss_writer_thread);
    writer->tracks.item_bytes = sizeof(struct ss_writer_track);
    writer->options.path = output.path;
    writer->unit.perf_samples = writer->options.perf_samples;
    writer->unit.is_fast = writer->options.compression > 0;
    writer->deflater = writer->options.compression < 0 ? NULL : ss_deflater_new();
    writer->packer = writer->deflater != NULL && writer->options.threads > 0
                         ? ss_packer_new(writer->options.threads)
                         : NULL;
    ss_definitions_init(&writer->definitions);
    writer->definitions.flush = flush_definitions;
    writer->definitions.flush_context = writer;
    writer->definitions.flush_at = writer->options.unit_bytes;
    make_trace_uuid(writer);
    begin_unit(writer);
    begin_period(writer);
    *result = writer;
    return SS_OK;
}

enum ss_status ss_trace_writer_begin(struct ss_trace_writer *writer, const char *path,
                                     struct ss_error *err)
{
    struct ss_output output;
    SS_TRY(ss_output_open(path, writer->options.keeps_reserve, &output, err));
    writer->output = output;
    writer->options.path = output.path;
    writer->lasting_attributes = writer->attributes.count;
    writer->failure = (struct ss_error){0};
    writer->stats = (struct ss_trace_writer_stats){0};
    writer->unit_number = 0;
    writer->base_ns = 0;
    writer->unit_has_gap = writer->restart_pending = false;
    writer->lost_shown = writer->forgotten_lost = 0;
    ss_vec_clear(&writer->counts);
    ss_writer_tracks_begin(writer);
    make_trace_uuid(writer);
    begin_unit(writer);
    begin_period(writer);
    return SS_OK;
}

enum ss_status ss_trace_writer_splice(struct ss_trace_writer *writer, const void *bytes,
                                      size_t length, uint32_t next_number, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    if (ss_output_append(&writer->output, bytes, length, &writer->failure) != SS_OK) {
        return ss_writer_failed(writer, err);
    }
    writer->stats.bytes_written += length;
    writer->unit_number = next_number;
    return SS_OK;
}

enum ss_status ss_writer_failed(const struct ss_trace_writer *writer, struct ss_error *err)
{
    if (writer->failure.status != SS_OK && err != NULL) {
        *err = writer->failure;
    }
    return writer->failure.status;
}

/* --- closing a unit ------------------------------------------------------------------------- */

static void put_perf_defaults(struct ss_wire_buffer *out)
{
    size_t samples = ss_wire_begin(out, SS_PF_DEFAULT_PERF_SAMPLE);
    size_t timebase = ss_wire_begin(out, SS_PF_PERF_DEFAULT_TIMEBASE);
    ss_wire_put_uint(out, SS_PF_TIMEBASE_COUNTER, SS_PF_COUNTER_CPU_CLOCK);
    ss_wire_put_text(out, SS_PF_TIMEBASE_NAME, "stepscope.python");
    ss_wire_end(out, timebase);
    ss_wire_end(out, samples);
}

static void put_stack_defaults(struct ss_wire_buffer *out)
{
    size_t samples = ss_wire_begin(out, SS_PF_DEFAULT_STACK_SAMPLE);
    ss_wire_put_text(out, SS_PF_SAMPLE_DEFAULT_SOURCE, "stepscope.python");
    size_t primary = ss_wire_begin(out, SS_PF_SAMPLE_DEFAULT_PRIMARY);
    ss_wire_put_text(out, SS_PF_COUNTER_NAME, "samples");
    ss_wire_put_uint(out, SS_PF_COUNTER_UNIT, SS_PF_SAMPLE_UNIT_COUNT);
    ss_wire_end(out, primary);
    ss_wire_end(out, samples);
}

/* The first packet of a unit sets the sequence clock, so that times do not depend on other units;
 * at a restart point it also clears the state. */
static void put_head(struct ss_trace_writer *writer, struct ss_wire_buffer *out, uint64_t base_ns)
{
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_ID, SS_SEQUENCE);
    if (writer->unit_restarts) {
        ss_wire_put_uint(out, SS_PF_SEQUENCE_FLAGS, SS_PF_STATE_CLEARED);
        size_t defaults = ss_wire_begin(out, SS_PF_PACKET_DEFAULTS);
        ss_wire_put_uint(out, SS_PF_DEFAULT_CLOCK_ID, SS_PF_SEQUENCE_CLOCK);
        if (writer->options.perf_samples) {
            put_perf_defaults(out);
        } else {
            put_stack_defaults(out);
        }
        ss_wire_end(out, defaults);
        ss_wire_put_nonzero(out, SS_PF_PREVIOUS_PACKET_DROPPED, writer->unit_has_gap);
        ss_wire_put_nonzero(out, SS_PF_FIRST_PACKET_ON_SEQUENCE, writer->unit_number == 0);
    }
    size_t snapshot = ss_wire_begin(out, SS_PF_CLOCK_SNAPSHOT);
    ss_encode_clock(out, SS_PF_SEQUENCE_CLOCK, base_ns, true);
    ss_encode_clock(out, SS_PF_MONOTONIC, base_ns, false);
    if (writer->has_clock) {
        ss_encode_clock(out, SS_PF_BOOTTIME, writer->clock.boottime_ns, false);
        ss_encode_clock(out, SS_PF_MONOTONIC_RAW, writer->clock.monotonic_raw_ns, false);
        ss_encode_clock(out, SS_PF_REALTIME, writer->clock.realtime_ns, false);
    }
    ss_wire_put_uint(out, SS_PF_PRIMARY_TRACE_CLOCK, SS_PF_MONOTONIC);
    ss_wire_end(out, snapshot);
    if (writer->has_clock) {
        size_t payload = ss_encode_payload_begin(out);
        ss_wire_put_uint(out, SS_PAYLOAD_clock_width, writer->clock.width_ns);
        ss_wire_end(out, payload);
    }
    ss_wire_end(out, packet);
}

uint64_t ss_writer_track_uuid(const struct ss_trace_writer *writer, uint64_t which)
{
    return ss_hash_u64(writer->trace_uuid[0] ^ which) | 1;
}

/* Each restart point repeats the properties of the whole recording, so that the file is complete
 * from any restart point on. */
static void put_recording(struct ss_trace_writer *writer, struct ss_wire_buffer *out)
{
    ss_encode_trace_uuid(out, writer->trace_uuid);
    for (size_t i = 0; i < writer->attributes.count; i++) {
        ss_encode_attribute(out, &writer->attributes.data[i]);
    }
    ss_writer_put_entities(writer, out);
    uint64_t recording = ss_writer_track_uuid(writer, SS_RECORDING_TRACK);
    ss_encode_folder(out, ss_writer_track_uuid(writer, SS_HOST_TRACK),
                     ss_strview_of(SS_HOST_TRACK_NAME), 1000);
    ss_encode_folder(out, recording, ss_strview_of("recording"), 1001);
    ss_encode_track(out, ss_writer_track_uuid(writer, SS_LOST_TRACK), recording, "lost samples",
                    true);
    ss_encode_track(out, ss_writer_track_uuid(writer, SS_NOTES_TRACK), recording, "stepscope notes",
                    false);
}

uint64_t ss_writer_process_uuid(const struct ss_trace_writer *writer, uint32_t ref)
{
    const struct ss_writer_process *entry = ss_writer_process_at(writer, ref);
    return entry != NULL ? entry->uuid : 0;
}

/* Also writes the ancestors, so that the file contains the process tree. */
void ss_writer_put_process(struct ss_trace_writer *writer, struct ss_writer_process *entry)
{
    entry->period = writer->definitions.period;
    ss_writer_use_process(writer, entry->record.parent_ref);
    uint64_t parent = ss_writer_process_uuid(writer, entry->record.parent_ref);
    entry->parent_uuid = parent != 0 ? parent : entry->parent_uuid;
    /* Viewers keep the first name. The name of a child is not known before it executes a program.
     */
    const struct ss_writer_process *from = ss_writer_process_at(writer, entry->record.parent_ref);
    bool is_named = entry->was_put || from == NULL || entry->record.cmdline.length == 0 ||
                    !ss_strview_equal(entry->record.cmdline, from->record.cmdline);
    entry->was_put = true;
    entry->was_named = entry->was_named || is_named;
    ss_encode_process(&writer->unit.descriptors, &entry->record, entry->uuid, entry->parent_uuid,
                      is_named);
}

void ss_writer_name_process(struct ss_trace_writer *writer, struct ss_writer_process *entry)
{
    if (entry->was_put && !entry->was_named) {
        ss_writer_put_process(writer, entry);
    }
}

static void name_processes(struct ss_trace_writer *writer)
{
    for (uint32_t ref = 0; ref < writer->processes.end; ref++) {
        struct ss_writer_process *entry = ss_writer_process_at(writer, ref);
        if (entry != NULL) {
            ss_writer_name_process(writer, entry);
        }
    }
}

void ss_writer_use_process(struct ss_trace_writer *writer, uint32_t ref)
{
    struct ss_writer_process *entry = ss_writer_process_at(writer, ref);
    if (entry != NULL && entry->period != writer->definitions.period) {
        ss_writer_put_process(writer, entry);
    }
}

/* The value of the "lost samples" track: the sum over processes, or the count of the source itself,
 * which is normally the same or higher. */
static uint64_t count_lost(const struct ss_trace_writer *writer)
{
    uint64_t own = 0, processes = 0;
    for (size_t i = 0; i < writer->counts.count; i++) {
        const struct ss_trace_counts *counts = &writer->counts.data[i].record;
        *(counts->process_ref == 0 ? &own : &processes) += counts->lost + counts->dropped;
    }
    processes += writer->forgotten_lost;
    return own > processes ? own : processes;
}

static void put_counts(struct ss_trace_writer *writer)
{
    uint64_t newest_ns = 0;
    for (size_t i = 0; i < writer->counts.count; i++) {
        struct ss_writer_counts *entry = &writer->counts.data[i];
        if (entry->pending) {
            ss_writer_put_counts(writer, &entry->record);
            entry->pending = false;
        }
        newest_ns = entry->record.time_ns > newest_ns ? entry->record.time_ns : newest_ns;
    }
    uint64_t lost = count_lost(writer);
    if (writer->counts.count == 0 || writer->lost_shown == lost + 1) {
        return;
    }
    writer->lost_shown = lost + 1;
    uint32_t at = (uint32_t)writer->unit.blobs.length;
    ss_encode_counter_event(&writer->unit.blobs, ss_writer_track_uuid(writer, SS_LOST_TRACK), lost);
    ss_vec_push(&writer->unit.events,
                (struct ss_unit_event){.time_ns = newest_ns,
                                       .order = (uint32_t)writer->unit.events.count,
                                       .blob_at = at,
                                       .blob_length = (uint32_t)writer->unit.blobs.length - at});
}

static void put_interned(struct ss_trace_writer *writer, struct ss_wire_buffer *out)
{
    struct ss_wire_buffer *interned = &writer->definitions.interned;
    struct ss_wire_buffer *extras = &writer->definitions.extras;
    if (interned->length == 0) {
        return;
    }
    size_t packet = ss_encode_packet_begin(out);
    ss_wire_put_bytes(out, SS_PF_INTERNED_DATA, interned->data, interned->length);
    if (extras->length > 0) {
        size_t payload = ss_encode_payload_begin(out);
        ss_wire_put_raw(out, extras->data, extras->length);
        ss_wire_end(out, payload);
    }
    ss_wire_end(out, packet);
    interned->length = 0;
    extras->length = 0;
}

/* The time that the head of the unit relates to the sequence clock. It never goes back from unit to
 * unit: Perfetto rejects such a reading, and then cannot place the events after it. Earlier events
 * have times of their own clock. */
static uint64_t set_unit_base(struct ss_trace_writer *writer)
{
    uint64_t base_ns = writer->clock.monotonic_ns;
    if (!writer->has_clock && ss_unit_event_count(&writer->unit) > 0) {
        base_ns = writer->base_ns != 0 ? writer->base_ns : ss_unit_first_ns(&writer->unit);
    }
    if (base_ns < writer->base_ns) {
        writer->has_clock = false;
        base_ns = writer->base_ns;
    }
    writer->base_ns = base_ns;
    return base_ns;
}

/* Of what the packer has; a failure is sticky: what follows is not written. */
static void write_packed(struct ss_trace_writer *writer, bool waits)
{
    const struct ss_wire_buffer *stored = ss_packer_take(writer->packer, waits);
    if (stored != NULL && writer->failure.status == SS_OK &&
        ss_output_append(&writer->output, stored->data, stored->length, &writer->failure) ==
            SS_OK) {
        writer->stats.bytes_written += stored->length;
    }
}

/* What the packer still has. */
static enum ss_status write_all_packed(struct ss_trace_writer *writer, struct ss_error *err)
{
    while (writer->packer != NULL && ss_packer_has_any(writer->packer)) {
        write_packed(writer, true);
    }
    return ss_writer_failed(writer, err);
}

static enum ss_status write_unit(struct ss_trace_writer *writer, const struct ss_unit_seal *seal,
                                 struct ss_error *err)
{
    struct ss_unit *unit = &writer->unit;
    writer->stats.plain_bytes += unit->plain.length;
    writer->stats.units++;
    writer->period_bytes += unit->plain.length;
    if (writer->packer != NULL) {
        write_packed(writer, ss_packer_is_full(writer->packer));
        ss_packer_put(writer->packer, unit, seal);
        return ss_writer_failed(writer, err);
    }
    ss_unit_frame(unit, seal, writer->deflater);
    SS_TRY(ss_output_append(&writer->output, unit->stored.data, unit->stored.length,
                            &writer->failure) == SS_OK
               ? SS_OK
               : ss_writer_failed(writer, err));
    writer->stats.bytes_written += unit->stored.length;
    writer->stats.stored_ticks = writer->stats.ticks;
    return SS_OK;
}

/* Writes the unit and begins the next. */
static enum ss_status close_unit(struct ss_trace_writer *writer, bool sealed, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    struct ss_unit *unit = &writer->unit;
    struct ss_wire_buffer *out = &unit->plain;
    out->length = 0;
    uint64_t base_ns = set_unit_base(writer);
    put_head(writer, out, base_ns);
    if (writer->unit_restarts) {
        put_recording(writer, out);
    }
    put_counts(writer);
    ss_wire_put_raw(out, unit->descriptors.data, unit->descriptors.length);
    put_interned(writer, out);
    ss_unit_encode_events(unit, base_ns);

    struct ss_unit_seal seal = {
        .number = writer->unit_number++,
        .period = (uint32_t)ss_hash_u64(writer->trace_uuid[1] + writer->definitions.period),
        .fallback_time_ns = base_ns,
        .restart = writer->unit_restarts,
        .gap = writer->unit_has_gap,
        .sealed = sealed};
    SS_TRY(write_unit(writer, &seal, err));
    writer->unit_restarts = false;
    writer->unit_has_gap = false;
    writer->has_clock = false;
    begin_unit(writer);
    return SS_OK;
}

/* A failure is sticky: the public call that led here returns it. */
static void flush_definitions(void *context)
{
    struct ss_trace_writer *writer = context;
    if (close_unit(writer, false, NULL) != SS_OK) {
        writer->definitions.interned.length = 0;
        writer->definitions.extras.length = 0;
    }
}

static bool unit_has_content(const struct ss_trace_writer *writer)
{
    return ss_unit_event_count(&writer->unit) > 0 || writer->unit.descriptors.length > 0 ||
           writer->definitions.interned.length > 0;
}

static enum ss_status restart(struct ss_trace_writer *writer, struct ss_error *err)
{
    if (unit_has_content(writer)) {
        SS_TRY(close_unit(writer, false, err));
    }
    begin_period(writer);
    writer->restart_pending = true;
    return SS_OK;
}

enum ss_status ss_writer_make_room(struct ss_trace_writer *writer, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    const struct ss_definitions *definitions = &writer->definitions;
    if (writer->period_bytes > (uint64_t)writer->options.restart_bytes * FORCED_RESTART_FACTOR ||
        ss_definitions_exhausted(definitions) || writer->next_thread_iid >= SS_MAX_IID ||
        writer->next_name_iid >= SS_MAX_IID - 4) {
        SS_TRY(restart(writer, err));
    }
    size_t plain =
        ss_unit_estimate(&writer->unit) + definitions->interned.length + definitions->extras.length;
    return plain > writer->options.unit_bytes ? close_unit(writer, false, err) : SS_OK;
}

/* --- time ----------------------------------------------------------------------------------- */

enum ss_status ss_trace_writer_tick(struct ss_trace_writer *writer, uint64_t now_ns,
                                    bool *restarted, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    /* The writer reads the clock slightly after each call. The tolerance yields one unit per call
     * for a caller that ticks every unit_ns. */
    uint64_t unit_ns = writer->options.unit_ns;
    bool due = now_ns + unit_ns / 32 >= writer->clock.monotonic_ns + unit_ns;
    /* The first unit is written at once: from then on the file is a readable trace. */
    if (due || writer->unit_number == 0) {
        SS_TRY(close_unit(writer, false, err));
    }
    if (now_ns >= writer->period_began_ns + writer->options.restart_ns ||
        writer->period_bytes >= writer->options.restart_bytes) {
        SS_TRY(restart(writer, err));
    }
    if (restarted != NULL) {
        *restarted = writer->restart_pending;
        writer->restart_pending = false;
    }
    return SS_OK;
}

enum ss_status ss_trace_writer_clock(struct ss_trace_writer *writer,
                                     const struct ss_trace_clock *clock, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    if (writer->unit_number > 0 || unit_has_content(writer) || writer->has_clock) {
        SS_TRY(close_unit(writer, false, err));
    }
    writer->clock = (struct ss_clock_reading){.monotonic_ns = clock->monotonic_ns,
                                              .boottime_ns = clock->boottime_ns,
                                              .monotonic_raw_ns = clock->monotonic_raw_ns,
                                              .realtime_ns = clock->realtime_ns,
                                              .width_ns = clock->width_ns};
    writer->has_clock = true;
    if (writer->period_began_ns == 0) {
        writer->period_began_ns = clock->monotonic_ns;
    }
    if (clock->monotonic_ns >= writer->period_began_ns + writer->options.restart_ns ||
        writer->period_bytes >= writer->options.restart_bytes) {
        begin_period(writer);
    }
    return SS_OK;
}

enum ss_status ss_trace_writer_gap(struct ss_trace_writer *writer, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    SS_TRY(restart(writer, err));
    writer->unit_has_gap = true;
    return SS_OK;
}

enum ss_status ss_trace_writer_flush(struct ss_trace_writer *writer, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    SS_TRY(unit_has_content(writer) ? close_unit(writer, false, err) : SS_OK);
    return write_all_packed(writer, err);
}

enum ss_status ss_trace_writer_end(struct ss_trace_writer *writer, struct ss_error *err)
{
    enum ss_status status = close_unit(writer, true, err);
    enum ss_status packed = write_all_packed(writer, status == SS_OK ? err : NULL);
    status = status == SS_OK ? packed : status;
    ss_output_close(&writer->output);
    writer->options.path = NULL;
    writer->failure = (struct ss_error){0};
    writer->attributes.count = writer->lasting_attributes;
    ss_vec_clear(&writer->counts);
    ss_unit_clear(&writer->unit);
    writer->definitions.interned.length = writer->definitions.extras.length = 0;
    begin_period(writer);
    return status;
}

/* After a unit that did not fit on the disk, which was taken back: a small one fits nearly always,
 * into the rest of the file's last block, or into the reserve. It says why the trace ends here. */
static void end_full_disk(struct ss_trace_writer *writer)
{
    struct ss_error failure = writer->failure;
    char text[sizeof failure.message + 64];
    snprintf(text, sizeof text, "%s: it ends before the program did", failure.message);
    const struct ss_trace_note note = {.time_ns = writer->clock.monotonic_ns,
                                       .kind = ss_strview_of("disk-full"),
                                       .text = ss_strview_of(text)};
    writer->failure = (struct ss_error){0};
    writer->output.reserve_bytes = 0;
    writer->unit_number--;
    ss_unit_clear(&writer->unit);
    writer->definitions.interned.length = writer->definitions.extras.length = 0;
    begin_unit(writer);
    if (ss_trace_writer_note(writer, &note, NULL) == SS_OK) {
        close_unit(writer, true, NULL);
    }
    writer->failure = failure;
}

enum ss_status ss_trace_writer_close(struct ss_trace_writer *writer, struct ss_error *err)
{
    name_processes(writer);
    bool is_full = writer->failure.status == SS_E_NOSPACE && writer->unit_number > 1;
    if (is_full && writer->output.fd >= 0 && writer->packer == NULL) {
        end_full_disk(writer);
    }
    enum ss_status status = writer->output.fd >= 0 ? close_unit(writer, true, err) : SS_OK;
    status = status == SS_OK ? write_all_packed(writer, err) : status;
    ss_output_close(&writer->output);
    ss_packer_free(writer->packer);
    ss_deflater_free(writer->deflater);
    ss_definitions_fini(&writer->definitions);
    ss_unit_fini(&writer->unit);
    ss_pages_fini(&writer->processes);
    ss_pages_fini(&writer->threads);
    ss_writer_entities_fini(writer);
    ss_vec_fini(&writer->attributes);
    ss_vec_fini(&writer->counts);
    ss_writer_tracks_fini(writer);
    ss_free(writer);
    return status;
}
