/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as tracks of lanes: groups (processes, then the host) of tracks (steps, phases, the
 * main thread, other threads, streams of devices, counters) of lanes (timeline/lane.h), one for
 * each depth of nesting. Times are on the model's axis; `base_ns` of a track is where the picture's
 * time 0 lies on it.
 *
 * Borrows the selection, its model loaded with keep_samples. Immutable once built, then readable by
 * any number of threads.
 */
#ifndef SS_TIMELINE_TIMELINE_H
#define SS_TIMELINE_TIMELINE_H

#include "analysis/selection/selection.h"
#include "timeline/lane.h"
#include "timeline/series.h"

/* In the order of a group's tracks. */
enum ss_timeline_kind {
    SS_TIMELINE_STEPS,
    SS_TIMELINE_PHASES,
    SS_TIMELINE_MAIN,    /* ranges of a main thread */
    SS_TIMELINE_STACKS,  /* sampled stacks of a thread, as slices */
    SS_TIMELINE_THREAD,  /* ranges of another thread */
    SS_TIMELINE_RANGES,  /* of the process, of its host, or of none */
    SS_TIMELINE_STREAM,  /* work of a device */
    SS_TIMELINE_COUNTER, /* values, and no lanes */
    SS_TIMELINE_KINDS
};

/* What the `path` of a track's slices is. */
enum ss_timeline_naming {
    SS_NAMED_BY_PATH,  /* as in the model */
    SS_NAMED_BY_FRAME, /* index into frames */
    SS_NAMED_BY_NAME   /* index into names: a mark */
};

struct ss_timeline_track {
    enum ss_timeline_kind kind;
    enum ss_timeline_naming naming;
    uint32_t track;  /* of the model; 0: stacks */
    uint32_t thread; /* 0: none */
    uint32_t group;
    uint64_t base_ns;
    uint32_t first_lane, lanes;
    uint64_t slices;
    struct ss_series series; /* of counters */
    /* Private: the ranges that it is built from, and how deep they nest. */
    const struct ss_model_range *ranges;
    size_t first_range, end_range;
};

struct ss_timeline_group {
    uint32_t process; /* 0: the host, or what has no owner */
    uint32_t first_track, end_track;
};

struct ss_timeline {
    const struct ss_selection *selection;
    struct ss_vec_of(struct ss_timeline_track) tracks; /* by group, kind, thread, device */
    struct ss_vec_of(struct ss_timeline_group) groups;
    struct ss_vec_of(struct ss_lane) lanes;
    uint32_t *track_of_lane;
    /* Of stacks and marks: slices that the model has no ranges for. */
    struct ss_model_range *own;
    size_t own_count;
    uint64_t duration_ns; /* from time 0 to the last end */
    uint64_t slices;
    uint64_t hidden; /* slices nested deeper than SS_TIMELINE_MAX_LANES */
};

enum { SS_TIMELINE_MAX_LANES = 512 /* of a track */ };

void ss_timeline_init(struct ss_timeline *timeline, const struct ss_selection *selection);
void ss_timeline_fini(struct ss_timeline *timeline);
/* Bytes that the timeline adds to the model, ranges of stacks and marks included. */
size_t ss_timeline_memory(const struct ss_timeline *timeline);

/* The process of a track; 0: none. */
static inline uint32_t ss_timeline_process(const struct ss_timeline *timeline,
                                           const struct ss_timeline_track *track)
{
    return timeline->groups.data[track->group].process;
}

#endif
