/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes records as packets of the main sequence: Perfetto fields for viewers, the extension
 * payload for our reader. Pure apart from the output buffer.
 */
#ifndef SS_TRACE_ENCODE_H
#define SS_TRACE_ENCODE_H

#include "trace/records.h"
#include "trace/schema.h"
#include "wire/proto.h"

/* Begins a packet of the main sequence that needs its incremental state; end with ss_wire_end. */
size_t ss_encode_packet_begin(struct ss_wire_buffer *out);
/* Begins the extension payload of a packet with the format word; end with ss_wire_end. */
size_t ss_encode_payload_begin(struct ss_wire_buffer *out);
/* One clock of a ClockSnapshot. */
void ss_encode_clock(struct ss_wire_buffer *out, uint32_t id, uint64_t time_ns, bool incremental);
/* A text field for other programs: invalid UTF-8 becomes U+FFFD. */
void ss_encode_display_text(struct ss_wire_buffer *out, uint32_t number, struct ss_strview text);

void ss_encode_process(struct ss_wire_buffer *out, const struct ss_trace_process *process,
                       uint64_t uuid, uint64_t parent_uuid, bool is_named);
void ss_encode_thread(struct ss_wire_buffer *out, const struct ss_trace_thread *thread,
                      uint64_t uuid, uint64_t process_uuid, int32_t pid, uint32_t iid);
/* A packet with one record of schema.def and its ids (NULL: none). */
void ss_encode_record(struct ss_wire_buffer *out, enum ss_schema_id id, const void *record,
                      const uint64_t *ids);
void ss_encode_attribute(struct ss_wire_buffer *out, const struct ss_trace_attribute *attribute);
void ss_encode_trace_uuid(struct ss_wire_buffer *out, const uint64_t uuid[2]);
/* A named track; `is_counter`: a counter series of unit "count". */
void ss_encode_track(struct ss_wire_buffer *out, uint64_t uuid, uint64_t parent_uuid,
                     const char *name, bool is_counter);
/* A track that only groups other tracks in viewers. */
void ss_encode_folder(struct ss_wire_buffer *out, uint64_t uuid, struct ss_strview name,
                      uint32_t rank);

/* The fields of an event packet, without sequence fields and timestamp. */
void ss_encode_instant(struct ss_wire_buffer *out, uint64_t track_uuid, struct ss_strview name);
void ss_encode_note_event(struct ss_wire_buffer *out, const struct ss_trace_note *note,
                          uint64_t track_uuid, uint64_t process_uuid);
void ss_encode_line_event(struct ss_wire_buffer *out, const struct ss_trace_line *line,
                          uint64_t process_uuid, uint32_t name_iid);
void ss_encode_counter_event(struct ss_wire_buffer *out, uint64_t track_uuid, uint64_t value);

#endif
