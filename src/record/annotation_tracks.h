/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process's annotations on their way into the trace: names, tracks and events of source/annot.h
 * become those of trace/writer_tracks.h. Ranges lie on a track per thread and domain, asynchronous
 * ones and counters on tracks of the process, steps, epochs and phases on one each.
 *
 * Owned by the recorder's thread. Errors of the writer go into the context.
 */
#ifndef SS_RECORD_ANNOTATION_TRACKS_H
#define SS_RECORD_ANNOTATION_TRACKS_H

#include <stdint.h>

#include "base/intern.h"
#include "record/recorded_process.h"
#include "source/annot.h"
#include "trace/track_records.h"

struct ss_annotation_tracks;

/* Shared by the processes of a recording: each text once, each (text, category, colour, place) one
 * name of the trace. */
struct ss_annotation_names {
    struct ss_intern texts;
    struct ss_intern keys; /* its ids are the refs of names */
};

/* `process` (borrowed) is told to the trace before its threads. */
struct ss_annotation_tracks *ss_annotation_tracks_new(struct ss_record_context *context,
                                                      struct ss_annotation_names *names,
                                                      struct ss_recorded_process *process);
void ss_annotation_tracks_free(struct ss_annotation_tracks *tracks);
struct ss_annot_sink ss_annotation_tracks_sink(struct ss_annotation_tracks *tracks);
/* The trace's ref of a name of the process; 0: none. */
uint32_t ss_annotation_tracks_name(const struct ss_annotation_tracks *tracks, uint32_t name);
/* What other sources of the same process put on tracks of their own: a name of the trace, and the
 * number of a track that is told. */
uint32_t ss_annotation_tracks_put_name(struct ss_annotation_tracks *tracks, struct ss_strview text,
                                       struct ss_strview category);
uint32_t ss_annotation_tracks_put_track(struct ss_annotation_tracks *tracks,
                                        const struct ss_trace_track *track);
/* Call after each drain: ends that came ahead of their begins wait for one drain. */
void ss_annotation_tracks_drained(struct ss_annotation_tracks *tracks);
uint64_t ss_annotation_tracks_refused(const struct ss_annotation_tracks *tracks);

#endif
