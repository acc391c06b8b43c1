/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_annotation_tracks. Private to the implementation of annotation_tracks.h:
 * annotation_tracks.c (names, tracks, life), annotation_tracks_events.c (events),
 * annotation_tracks_collectives.c (fields of collectives), annotation_tracks_detail.c (sums). */
#ifndef SS_RECORD_TRACKS_ANNOTATION_TRACKS_INSIDE_H
#define SS_RECORD_TRACKS_ANNOTATION_TRACKS_INSIDE_H

#include <uthash.h>

#include "base/vec.h"
#include "record/tracks/annotation_tracks.h"

enum { SS_TRACK_LANE_DOMAINS = SS_RING_MAX_DOMAINS };

struct ss_track_name_entry {
    uint32_t text; /* in names->texts */
    uint32_t ref;  /* of the trace */
    uint32_t counter_track;
    uint32_t unit;
    enum ss_ring_counter counter;
    enum ss_quantity quantity;
};

struct ss_track_lane {
    uint32_t thread; /* number within the process; a new thread gets new tracks */
    uint32_t thread_ref;
    uint32_t tracks[SS_TRACK_LANE_DOMAINS];
};

/* A communication group. */
struct ss_track_group {
    uint32_t text, ref; /* its name; of the trace */
};

struct ss_track_async_range {
    uint64_t id;
    uint32_t track_ref;
    uint64_t arrives; /* the flow of the send that is received; 0: none */
    UT_hash_handle hh;
};

struct ss_track_early_end {
    uint64_t id, time_ns;
    bool is_old; /* one drain has finished since */
};

/* A track of consecutive ranges: steps, epochs or phases. */
struct ss_track_sequence {
    uint32_t track_ref;
    bool is_open;
};

/* A step that has begun, of which nothing is known to be a step's: what follows the last update of
 * a training is none, and its start is never written. */
struct ss_track_waiting_step {
    struct ss_trace_event begin;
    uint32_t window, window_owner;
    bool is_waiting;
};

struct ss_annotation_tracks {
    struct ss_record_context *context;
    struct ss_event_names *names; /* of the context */
    struct ss_recorded_process *process;
    uint32_t process_ref;
    struct ss_vec_of(struct ss_track_name_entry) name_entries;
    struct ss_vec_of(uint32_t) domains; /* texts */
    struct ss_vec_of(struct ss_track_lane *) lanes;
    struct ss_vec_of(struct ss_track_group) groups;
    uint32_t async_tracks[SS_TRACK_LANE_DOMAINS];
    struct ss_track_async_range *async;
    struct ss_vec_of(struct ss_track_early_end) early;
    struct ss_track_sequence steps, epochs, phases;
    uint32_t detail_track, waits_track;
    uint32_t sum_tracks[SS_DETAIL_KINDS]; /* by kind */
    struct ss_track_waiting_step waiting;
    uint32_t window;       /* of the current event; 0: none, or irrelevant */
    uint32_t window_owner; /* ref of another process; 0: this process */
    uint64_t refused;
};

/* A text of the recording; "" for 0. */
struct ss_strview ss_tracks_text(const struct ss_annotation_tracks *tracks, uint32_t text);
/* The trace ref of a name of the process, or that of "<other>". */
uint32_t ss_tracks_name_ref(struct ss_annotation_tracks *tracks, uint32_t name);
/* The trace ref of a name that the program has not defined. */
uint32_t ss_tracks_plain_ref(struct ss_annotation_tracks *tracks, const char *text);

/* Defines a track in the trace. */
uint32_t ss_tracks_add(struct ss_annotation_tracks *tracks, struct ss_trace_track track);
/* The tracks of an event, defined on first use. */
uint32_t ss_tracks_of_ranges(struct ss_annotation_tracks *tracks,
                             const struct ss_annot_event *event);
uint32_t ss_tracks_of_async(struct ss_annotation_tracks *tracks, uint32_t domain);
/* 0: not a name of the process. */
uint32_t ss_tracks_of_counter(struct ss_annotation_tracks *tracks, uint32_t name);

/* --- annotation_tracks_events.c -------------------------------------------------------------- */

/* Of the sink; `context` is the tracks. */
void ss_tracks_on_event(void *context, const struct ss_annot_event *event);

/* The fields of a collective. Returns how many; there is room for
 * SS_TRACK_COLLECTIVE_FIELDS. */
enum { SS_TRACK_COLLECTIVE_FIELDS = 15 };
uint32_t ss_tracks_put_collective(struct ss_annotation_tracks *tracks,
                                  const struct ss_annot_event *event,
                                  struct ss_event_value *fields);
/* Of a send, the record gets its flow; of a receive, returns the one that arrives at its end. Else
 * returns 0. */
uint64_t ss_tracks_put_flow(const struct ss_annotation_tracks *tracks,
                            const struct ss_annot_event *event, struct ss_trace_event *record);

#endif
