/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as packets: each function appends whole packets of our sequence, the Perfetto part for
 * its viewers and the payload for our reader. Pure but for the buffer.
 */
#ifndef SS_TRACE_ENCODE_H
#define SS_TRACE_ENCODE_H

#include "trace/records.h"
#include "wire/proto.h"

/* Begins a packet of our sequence that relies on its state; end with ss_wire_end. */
size_t ss_encode_packet_begin(struct ss_wire_buffer *out);
/* Begins our payload inside a packet: format word first. End with ss_wire_end. */
size_t ss_encode_payload_begin(struct ss_wire_buffer *out);
/* One clock of a snapshot. */
void ss_encode_clock(struct ss_wire_buffer *out, uint32_t id, uint64_t time_ns, bool incremental);
/* A text field that other programs read: bytes that are not UTF-8 become U+FFFD. */
void ss_encode_display_text(struct ss_wire_buffer *out, uint32_t number, struct ss_strview text);

void ss_encode_process(struct ss_wire_buffer *out, const struct ss_trace_process *process,
                       uint64_t uuid, uint64_t parent_uuid);
void ss_encode_thread(struct ss_wire_buffer *out, const struct ss_trace_thread *thread,
                      uint64_t uuid, uint64_t process_uuid, int32_t pid, uint32_t iid);
void ss_encode_source(struct ss_wire_buffer *out, const struct ss_trace_source *source);
void ss_encode_counts(struct ss_wire_buffer *out, const struct ss_trace_counts *counts,
                      uint64_t process_uuid);
void ss_encode_attribute(struct ss_wire_buffer *out, const struct ss_trace_attribute *attribute);
void ss_encode_trace_uuid(struct ss_wire_buffer *out, const uint64_t uuid[2]);
/* A named track; `is_counter`: of counts. */
void ss_encode_track(struct ss_wire_buffer *out, uint64_t uuid, uint64_t parent_uuid,
                     const char *name, bool is_counter);
/* A track that only holds others, for viewers. */
void ss_encode_folder(struct ss_wire_buffer *out, uint64_t uuid, struct ss_strview name,
                      uint32_t rank);
/* That of a process's steps and phases: it stands beside the processes, since viewers sort what
 * lies in a process below its threads. */
void ss_encode_steps_folder(struct ss_wire_buffer *out, const struct ss_trace_process *process,
                            uint64_t uuid);

/* What comes behind the timestamp of an event packet. */
void ss_encode_note_event(struct ss_wire_buffer *out, const struct ss_trace_note *note,
                          uint64_t track_uuid, uint64_t process_uuid);
void ss_encode_line_event(struct ss_wire_buffer *out, const struct ss_trace_line *line,
                          uint64_t process_uuid, uint32_t name_iid);
void ss_encode_counter_event(struct ss_wire_buffer *out, uint64_t track_uuid, uint64_t value);

#endif
