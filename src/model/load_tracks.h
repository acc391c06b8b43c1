/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies on the tracks of one trace: gathered while it is read, put into order and made into
 * rows of the model at its end. Private to model/. One owner.
 */
#ifndef SS_MODEL_LOAD_TRACKS_H
#define SS_MODEL_LOAD_TRACKS_H

#include "base/vec.h"
#include "model/model.h"

/* The begin or end of a range as read. The time comes first: ss_sort_by_time wants it there. */
struct ss_raw_event {
    uint64_t time_ns;
    uint32_t name, payload; /* ids of the model */
    uint8_t kind;           /* enum ss_event_kind */
    uint8_t flags;
};

/* Where ranges nest: a track, or one lane of it. */
struct ss_nest {
    uint32_t track; /* of the model */
    uint16_t lane;
    bool is_operators; /* of PyTorch */
    struct ss_vec_of(struct ss_raw_event) events;
};

typedef struct ss_vec_of(uint32_t) ss_nests_by_lane; /* nest + 1 */
typedef struct ss_vec_of(uint64_t) ss_step_begins;

struct ss_load_tracks {
    struct ss_vec_of(ss_nests_by_lane) lanes; /* by track of the model */
    struct ss_vec_of(struct ss_nest) nests;
    /* Rows of other inputs lie before. */
    size_t first_value, first_mark, first_flow, first_range, first_payload;
    uint64_t operators, most_operators; /* events of them; most: 0, no limit */
    unsigned halvings;                  /* of the steps whose operators are kept */
    uint64_t from_ns, to_ns;            /* operators that end before or begin then are not wanted */
};

/* The times that were asked for, and where what is open ends. */
struct ss_load_times {
    bool has_range;
    uint64_t from_ns, to_ns; /* absolute; from ≤ t < to */
    uint64_t last_ns;
};

void ss_load_tracks_begin(struct ss_load_tracks *tracks, const struct ss_model *model);
void ss_load_tracks_event(struct ss_load_tracks *tracks, struct ss_model *model, uint32_t track,
                          uint32_t name, const struct ss_trace_event *event);
/* Makes rows of all that was gathered. */
void ss_load_tracks_end(struct ss_load_tracks *tracks, struct ss_model *model,
                        const struct ss_load_times *times);
void ss_load_tracks_fini(struct ss_load_tracks *tracks);

/* Of tracks that several inputs have, the values and ranges of all of them, as model.h orders
 * them. Nothing to do for others. */
void ss_load_order_tracks(struct ss_model *model);

/* Of the processes whose phases lie from `first_range` on: where no optimizer updates, and the
 * program marks no steps, each backward pass ends a step, or each forward pass where there is no
 * backward. The fact "torch.steps" says so. */
void ss_load_derive_steps(struct ss_model *model, size_t first_range);

/* Of the phases from `first_range` on, makes the waits for batches and the gaps between evaluations
 * parts of them, and the waits for the batch of the first. */
void ss_load_join_evaluations(struct ss_model *model, size_t first_range);

/* A sample that waits for the end of the trace: for the ranges around it, and for its step. */
struct ss_pending_sample {
    uint64_t time_ns;
    uint32_t label; /* name of the innermost range as the sampler read it; 0: none */
    struct ss_model_total total;
};

/* Sets total.range of each: the path of the ranges, from `first_range` on, that were open on the
 * sample's thread, over all its tracks; the label where there was none. */
void ss_find_sample_ranges(struct ss_model *model, size_t first_range,
                           struct ss_pending_sample *samples, size_t count);

/* Sets total.step, total.in_operator and total.in_pass of the samples that have a step, by the
 * steps and operators among the ranges from `first_range` on: a sample that lies in no step which
 * the trace saw end has none. Samples of processes without such ranges stay as the sampler labelled
 * them. */
void ss_find_sample_steps(const struct ss_model *model, size_t first_range,
                          struct ss_pending_sample *samples, size_t count);

/* Stable; each row of `size` bytes begins with a u64 time. */
void ss_sort_by_time(void *rows, size_t count, size_t size);

#endif
