/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer interface for tracks, events and counter values. The rules of writer.h hold: the
 * writer copies all input, writes definitions on first use, and is owned by one thread.
 *
 *   ss_trace_writer_track(w, &{.ref = 1, .kind = SS_TRACK_RANGES, .thread_ref = 7}, err);
 *   ss_trace_writer_name(w, &{.ref = 1, .text = "load"}, err);
 *   ss_trace_writer_event(w, &{.time_ns = t0, .track_ref = 1, .name_ref = 1}, err);
 *   ss_trace_writer_event(w, &{.time_ns = t1, .track_ref = 1, .kind = SS_EVENT_END}, err);
 *
 * Order. Pass the events of one track in time order, and the start of a range as soon as it is
 * known (the file then contains the range even if its end never comes). Another order costs some
 * bytes; the reader sorts the events. Events of one track with equal times keep their order of
 * arrival. Tracks are independent of each other.
 */
#ifndef SS_TRACE_WRITER_TRACKS_H
#define SS_TRACE_WRITER_TRACKS_H

#include "base/error.h"
#include "trace/track_records.h"
#include "trace/writer.h"

/* Process, thread and parent must be defined first. At most 2^20 tracks. */
enum ss_status ss_trace_writer_track(struct ss_trace_writer *writer,
                                     const struct ss_trace_track *track, struct ss_error *err);
enum ss_status ss_trace_writer_name(struct ss_trace_writer *writer,
                                    const struct ss_trace_name *name, struct ss_error *err);
/* Not for COUNTER and GROUP tracks. On ASYNC tracks the caller assigns the lanes (from 1); see
 * ss_trace_writer_async_begin. */
enum ss_status ss_trace_writer_event(struct ss_trace_writer *writer,
                                     const struct ss_trace_event *event, struct ss_error *err);
/* A complete range: begin and end. */
enum ss_status ss_trace_writer_range(struct ss_trace_writer *writer,
                                     const struct ss_trace_event *begin, uint64_t end_ns,
                                     struct ss_error *err);
/* `process_ref` and `name_ref` must be defined first. */
enum ss_status ss_trace_writer_line(struct ss_trace_writer *writer,
                                    const struct ss_trace_line *line, struct ss_error *err);
enum ss_status ss_trace_writer_counter(struct ss_trace_writer *writer,
                                       const struct ss_trace_counter *counter,
                                       struct ss_error *err);

/*
 * Ranges of an ASYNC track by id, from any thread of the program. The writer assigns each open
 * range its own lane. `event` is the BEGIN (its lane is ignored). `*accepted` (may be NULL) is
 * false when the track has too many open ranges (1,024) or the id is already open: the writer then
 * writes nothing, and the caller counts a drop. The same holds for an end whose id is not open.
 */
enum ss_status ss_trace_writer_async_begin(struct ss_trace_writer *writer, uint64_t id,
                                           const struct ss_trace_event *event, bool *accepted,
                                           struct ss_error *err);
enum ss_status ss_trace_writer_async_end(struct ss_trace_writer *writer, uint64_t id,
                                         const struct ss_trace_event *end, bool *accepted,
                                         struct ss_error *err);

#endif
