/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/encode.h"

#include <inttypes.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "trace/process_names.h"
#include "trace/profile.h"
#include "wire/perfetto.h"

enum { MAX_TITLE_BYTES = 64 * 1024 };

size_t ss_encode_packet_begin(struct ss_wire_buffer *out)
{
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_ID, SS_SEQUENCE);
    ss_wire_put_uint(out, SS_PF_SEQUENCE_FLAGS, SS_PF_NEEDS_STATE);
    return packet;
}

void ss_encode_clock(struct ss_wire_buffer *out, uint32_t id, uint64_t time_ns, bool incremental)
{
    size_t clock = ss_wire_begin(out, SS_PF_CLOCKS);
    ss_wire_put_uint(out, SS_PF_CLOCK_ID, id);
    ss_wire_put_uint(out, SS_PF_CLOCK_TIME, time_ns);
    ss_wire_put_nonzero(out, SS_PF_CLOCK_INCREMENTAL, incremental);
    ss_wire_end(out, clock);
}

size_t ss_encode_payload_begin(struct ss_wire_buffer *out)
{
    size_t payload = ss_wire_begin(out, SS_EXTENSION);
    ss_wire_put_uint(out, SS_PAYLOAD_format, ss_format_word(SS_FORMAT_VERSION));
    return payload;
}

static void put_payload(struct ss_wire_buffer *out, enum ss_schema_id id, const void *record,
                        const uint64_t *ids)
{
    size_t payload = ss_encode_payload_begin(out);
    ss_schema_put(out, id, record, ids);
    ss_wire_end(out, payload);
}

void ss_encode_display_text(struct ss_wire_buffer *out, uint32_t number, struct ss_strview text)
{
    if (ss_utf8_valid(text.data, text.length)) {
        ss_wire_put_view(out, number, text);
        return;
    }
    struct ss_strbuf valid;
    ss_strbuf_init(&valid, (size_t)SS_MAX_TEXT_BYTES * 3);
    ss_utf8_append_valid(&valid, text.data, text.length);
    ss_wire_put_bytes(out, number, valid.data, valid.length);
    ss_strbuf_fini(&valid);
}

void ss_encode_process(struct ss_wire_buffer *out, const struct ss_trace_process *process,
                       uint64_t uuid, uint64_t parent_uuid, bool is_named)
{
    struct ss_strbuf title;
    ss_strbuf_init(&title, MAX_TITLE_BYTES);
    if (is_named) {
        ss_process_append_title(process, &title);
    }
    size_t packet = ss_encode_packet_begin(out);
    size_t track = ss_wire_begin(out, SS_PF_TRACK_DESCRIPTOR);
    ss_wire_put_uint(out, SS_PF_TRACK_UUID, uuid);
    /* Viewers sort tracks without a name before those at the top (writer_top.c). */
    ss_wire_put_text(out, SS_PF_TRACK_NAME, "whole process");
    size_t descriptor = ss_wire_begin(out, SS_PF_TRACK_PROCESS);
    ss_wire_put_uint(out, SS_PF_PROCESS_PID, (uint64_t)(int64_t)process->pid);
    ss_encode_display_text(out, SS_PF_PROCESS_CMDLINE, process->cmdline);
    ss_encode_display_text(out, SS_PF_PROCESS_NAME, (struct ss_strview){title.data, title.length});
    ss_encode_display_text(out, SS_PF_PROCESS_LABELS, process->label);
    ss_wire_end(out, descriptor);
    ss_wire_put_uint(out, SS_PF_TRACK_CHILD_ORDERING, SS_PF_CHILDREN_EXPLICIT);
    ss_wire_put_uint(out, SS_PF_TRACK_THREAD_ORDERING, SS_PF_THREADS_EXPLICIT);
    ss_wire_end(out, track);
    ss_strbuf_fini(&title);

    put_payload(
        out, SS_SCHEMA_process, process,
        (const uint64_t[]){[SS_ID_process_uuid] = uuid, [SS_ID_process_parent_uuid] = parent_uuid});
    ss_wire_end(out, packet);
}

void ss_encode_thread(struct ss_wire_buffer *out, const struct ss_trace_thread *thread,
                      uint64_t uuid, uint64_t process_uuid, int32_t pid, uint32_t iid)
{
    size_t packet = ss_encode_packet_begin(out);
    size_t track = ss_wire_begin(out, SS_PF_TRACK_DESCRIPTOR);
    ss_wire_put_uint(out, SS_PF_TRACK_UUID, uuid);
    ss_wire_put_nonzero(out, SS_PF_TRACK_PARENT, process_uuid);
    size_t descriptor = ss_wire_begin(out, SS_PF_TRACK_THREAD);
    ss_wire_put_uint(out, SS_PF_THREAD_PID, (uint64_t)(int64_t)pid);
    ss_wire_put_uint(out, SS_PF_THREAD_TID, (uint64_t)(int64_t)thread->tid);
    ss_encode_display_text(out, SS_PF_THREAD_NAME, thread->name);
    ss_wire_end(out, descriptor);
    ss_wire_put_uint(out, SS_PF_TRACK_RANK, thread->is_main ? 0 : 1);
    ss_wire_end(out, track);

    put_payload(out, SS_SCHEMA_thread, thread,
                (const uint64_t[]){[SS_ID_thread_uuid] = uuid,
                                   [SS_ID_thread_process_uuid] = process_uuid,
                                   [SS_ID_thread_task_iid] = iid});
    ss_wire_end(out, packet);
}

void ss_encode_record(struct ss_wire_buffer *out, enum ss_schema_id id, const void *record,
                      const uint64_t *ids)
{
    size_t packet = ss_encode_packet_begin(out);
    put_payload(out, id, record, ids);
    ss_wire_end(out, packet);
}

void ss_encode_attribute(struct ss_wire_buffer *out, const struct ss_trace_attribute *attribute)
{
    size_t packet = ss_encode_packet_begin(out);
    size_t list = ss_wire_begin(out, SS_PF_TRACE_ATTRIBUTES);
    size_t one = ss_wire_begin(out, SS_PF_ATTRIBUTE);
    ss_encode_display_text(out, SS_PF_ATTRIBUTE_KEY, attribute->key);
    if (attribute->is_integer) {
        ss_wire_put_uint(out, SS_PF_ATTRIBUTE_LONG, (uint64_t)attribute->integer);
    } else if (attribute->text.length == 0) {
        ss_wire_put_bytes(out, SS_PF_ATTRIBUTE_STRING, "", 0);
    } else {
        ss_encode_display_text(out, SS_PF_ATTRIBUTE_STRING, attribute->text);
    }
    ss_wire_end(out, one);
    ss_wire_end(out, list);
    bool valid = ss_utf8_valid(attribute->key.data, attribute->key.length) &&
                 ss_utf8_valid(attribute->text.data, attribute->text.length);
    if (!valid && !attribute->is_integer) {
        put_payload(out, SS_SCHEMA_attribute, attribute, NULL);
    }
    ss_wire_end(out, packet);
}

void ss_encode_trace_uuid(struct ss_wire_buffer *out, const uint64_t uuid[2])
{
    size_t packet = ss_wire_begin(out, SS_PF_TRACE_PACKET);
    size_t message = ss_wire_begin(out, SS_PF_TRACE_UUID);
    ss_wire_put_uint(out, SS_PF_UUID_MSB, uuid[0]);
    ss_wire_put_uint(out, SS_PF_UUID_LSB, uuid[1]);
    ss_wire_end(out, message);
    ss_wire_end(out, packet);
}

void ss_encode_folder(struct ss_wire_buffer *out, uint64_t uuid, struct ss_strview name,
                      uint32_t rank)
{
    size_t packet = ss_encode_packet_begin(out);
    size_t track = ss_wire_begin(out, SS_PF_TRACK_DESCRIPTOR);
    ss_wire_put_uint(out, SS_PF_TRACK_UUID, uuid);
    ss_encode_display_text(out, SS_PF_TRACK_NAME, name);
    ss_wire_put_uint(out, SS_PF_TRACK_CHILD_ORDERING, SS_PF_CHILDREN_EXPLICIT);
    ss_wire_put_uint(out, SS_PF_TRACK_RANK, rank);
    ss_wire_end(out, track);
    ss_wire_end(out, packet);
}

void ss_encode_track(struct ss_wire_buffer *out, uint64_t uuid, uint64_t parent_uuid,
                     const char *name, bool is_counter)
{
    size_t packet = ss_encode_packet_begin(out);
    size_t track = ss_wire_begin(out, SS_PF_TRACK_DESCRIPTOR);
    ss_wire_put_uint(out, SS_PF_TRACK_UUID, uuid);
    ss_wire_put_uint(out, SS_PF_TRACK_PARENT, parent_uuid);
    ss_wire_put_text(out, SS_PF_TRACK_NAME, name);
    if (is_counter) {
        size_t counter = ss_wire_begin(out, SS_PF_TRACK_COUNTER);
        ss_wire_put_uint(out, SS_PF_TRACK_COUNTER_UNIT, SS_PF_TRACK_UNIT_COUNT);
        ss_wire_end(out, counter);
    }
    ss_wire_end(out, track);
    ss_wire_end(out, packet);
}

static void put_annotation(struct ss_wire_buffer *out, const char *name, struct ss_strview text,
                           int64_t value)
{
    size_t annotation = ss_wire_begin(out, SS_PF_EVENT_ANNOTATIONS);
    ss_wire_put_text(out, SS_PF_ANNOTATION_NAME, name);
    if (text.length > 0) {
        ss_encode_display_text(out, SS_PF_ANNOTATION_STRING, text);
    } else {
        ss_wire_put_uint(out, SS_PF_ANNOTATION_INT, (uint64_t)value);
    }
    ss_wire_end(out, annotation);
}

void ss_encode_instant(struct ss_wire_buffer *out, uint64_t track_uuid, struct ss_strview name)
{
    size_t event = ss_wire_begin(out, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(out, SS_PF_EVENT_TYPE, SS_PF_EVENT_INSTANT);
    ss_wire_put_uint(out, SS_PF_EVENT_TRACK, track_uuid);
    ss_encode_display_text(out, SS_PF_EVENT_NAME, name);
    ss_wire_end(out, event);
}

void ss_encode_note_event(struct ss_wire_buffer *out, const struct ss_trace_note *note,
                          uint64_t track_uuid, uint64_t process_uuid)
{
    size_t event = ss_wire_begin(out, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(out, SS_PF_EVENT_TYPE, SS_PF_EVENT_INSTANT);
    ss_wire_put_uint(out, SS_PF_EVENT_TRACK, track_uuid);
    ss_encode_display_text(out, SS_PF_EVENT_NAME, note->kind);
    if (note->text.length > 0) {
        put_annotation(out, "text", note->text, 0);
    }
    put_annotation(out, "value", (struct ss_strview){NULL, 0}, note->value);
    ss_wire_end(out, event);

    put_payload(out, SS_SCHEMA_note, note,
                (const uint64_t[]){[SS_ID_note_process_uuid] = process_uuid});
}

void ss_encode_line_event(struct ss_wire_buffer *out, const struct ss_trace_line *line,
                          uint64_t process_uuid, uint32_t name_iid)
{
    put_payload(out, SS_SCHEMA_line, line,
                (const uint64_t[]){
                    [SS_ID_line_process_uuid] = process_uuid, [SS_ID_line_name_iid] = name_iid});
}

void ss_encode_counter_event(struct ss_wire_buffer *out, uint64_t track_uuid, uint64_t value)
{
    size_t event = ss_wire_begin(out, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(out, SS_PF_EVENT_TYPE, SS_PF_EVENT_COUNTER);
    ss_wire_put_uint(out, SS_PF_EVENT_TRACK, track_uuid);
    ss_wire_put_uint(out, SS_PF_EVENT_COUNTER_VALUE, value);
    ss_wire_end(out, event);
}
