/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a writer that takes what lies on tracks. The rules of writer.h hold: everything is
 * copied, definitions are remembered and written when first needed, one thread owns the writer.
 *
 *   ss_trace_writer_track(w, &{.ref = 1, .kind = SS_TRACK_RANGES, .thread_ref = 7}, err);
 *   ss_trace_writer_name(w, &{.ref = 1, .text = "load"}, err);
 *   ss_trace_writer_event(w, &{.time_ns = t0, .track_ref = 1, .name_ref = 1}, err);
 *   ss_trace_writer_event(w, &{.time_ns = t1, .track_ref = 1, .kind = SS_EVENT_END}, err);
 *
 * Order. The events of one track are best handed in in the order of their times, a range's begin
 * as soon as it is known (a range whose end never comes is then still in the file). What comes in
 * another order costs some bytes and is put into order by the reader. Events of one track with
 * equal times keep the order in which they came. Tracks are independent of each other.
 */
#ifndef SS_TRACE_WRITER_TRACKS_H
#define SS_TRACE_WRITER_TRACKS_H

#include "base/error.h"
#include "trace/track_records.h"

struct ss_trace_writer;

/* Its process, thread and parent must be known. At most 2^20 tracks. */
enum ss_status ss_trace_writer_track(struct ss_trace_writer *writer,
                                     const struct ss_trace_track *track, struct ss_error *err);
enum ss_status ss_trace_writer_name(struct ss_trace_writer *writer,
                                    const struct ss_trace_name *name, struct ss_error *err);
/* Not for COUNTER and GROUP tracks. On ASYNC tracks the caller keeps the lanes (from 1) apart; see
 * ss_trace_writer_async_begin. */
enum ss_status ss_trace_writer_event(struct ss_trace_writer *writer,
                                     const struct ss_trace_event *event, struct ss_error *err);
/* A whole range at once: its begin and its end. */
enum ss_status ss_trace_writer_range(struct ss_trace_writer *writer,
                                     const struct ss_trace_event *begin, uint64_t end_ns,
                                     struct ss_error *err);
/* `process_ref` and `name_ref` were told before. */
enum ss_status ss_trace_writer_line(struct ss_trace_writer *writer,
                                    const struct ss_trace_line *line, struct ss_error *err);
enum ss_status ss_trace_writer_counter(struct ss_trace_writer *writer,
                                       const struct ss_trace_counter *counter,
                                       struct ss_error *err);

/*
 * Ranges of an ASYNC track by id, from any thread. The writer gives each open one a lane of its
 * own. `event` is the BEGIN (its lane is ignored). `*taken` (may be NULL) is false when the track
 * has too many open ranges (1,024) or the id is open already: nothing was written then, and the
 * caller counts it as dropped. An end whose id is not open is told the same way.
 */
enum ss_status ss_trace_writer_async_begin(struct ss_trace_writer *writer, uint64_t id,
                                           const struct ss_trace_event *event, bool *taken,
                                           struct ss_error *err);
enum ss_status ss_trace_writer_async_end(struct ss_trace_writer *writer, uint64_t id,
                                         const struct ss_trace_event *end, bool *taken,
                                         struct ss_error *err);

#endif
