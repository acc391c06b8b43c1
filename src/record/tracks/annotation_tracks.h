/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the annotations of one process to the trace: converts names, tracks and events of
 * source/annot.h to those of trace/writer_tracks.h. Ranges are on a track per thread and domain,
 * asynchronous ranges and counters on tracks of the process; steps, epochs and phases have a track
 * each.
 *
 * Owned by the recorder's thread. Errors of the writer are sticky in the context.
 */
#ifndef SS_RECORD_TRACKS_ANNOTATION_TRACKS_H
#define SS_RECORD_TRACKS_ANNOTATION_TRACKS_H

#include <stdint.h>

#include "record/details/detail_filter.h"
#include "record/processes/recorded_process.h"
#include "source/annot.h"
#include "trace/track_records.h"

struct ss_annotation_tracks;

/* Before it defines a thread in the trace, it defines `process` (borrowed). */
struct ss_annotation_tracks *ss_annotation_tracks_new(struct ss_record_context *context,
                                                      struct ss_recorded_process *process);
void ss_annotation_tracks_free(struct ss_annotation_tracks *tracks);
struct ss_annot_sink ss_annotation_tracks_sink(struct ss_annotation_tracks *tracks);
/* Where a filter in front of the sink writes what it leaves out. */
struct ss_detail_output ss_annotation_tracks_detail(struct ss_annotation_tracks *tracks);
/* The trace ref of a name of the process; 0: none. */
uint32_t ss_annotation_tracks_name(const struct ss_annotation_tracks *tracks, uint32_t name);
/* For other sources of the process with tracks of their own: define a name or a track in the trace
 * and return its ref. */
uint32_t ss_annotation_tracks_put_name(struct ss_annotation_tracks *tracks, struct ss_strview text,
                                       struct ss_strview category, enum ss_event_type type);
uint32_t ss_annotation_tracks_put_track(struct ss_annotation_tracks *tracks,
                                        const struct ss_trace_track *track);
/* The ref of the communication group with this name, defined at its first use. */
uint32_t ss_annotation_tracks_put_group(struct ss_annotation_tracks *tracks,
                                        const struct ss_trace_group *group);
/* Call after each drain: ends that arrive before their begins wait for one drain. */
void ss_annotation_tracks_drained(struct ss_annotation_tracks *tracks);
uint64_t ss_annotation_tracks_refused(const struct ss_annotation_tracks *tracks);

#endif
