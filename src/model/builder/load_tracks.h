/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events on the tracks of one trace: collected while it is read, sorted and turned into rows of
 * the model at its end. Private to model/. One owner.
 */
#ifndef SS_MODEL_BUILDER_LOAD_TRACKS_H
#define SS_MODEL_BUILDER_LOAD_TRACKS_H

#include "base/vec.h"
#include "model/core/model.h"

/* The begin or end of a range as read. The time comes first, as ss_sort_by_time requires. */
struct ss_raw_event {
    uint64_t time_ns;
    uint32_t name, payload; /* ids of the model */
    uint8_t kind;           /* enum ss_event_kind */
    uint8_t flags;
};

/* A range as read. One of these exists for each event of a file while it is read: what it was is in
 * bits of the name, whose 2^30 values exceed the memory for names. */
struct ss_complete_range {
    uint64_t begin_ns, end_ns;
    uint32_t name : 30, flags : 2; /* id of the model; enum ss_event_flag */
    uint32_t payload;              /* id of the model */
};
enum { SS_COMPLETE_MOST_NAMES = 1 << 30, SS_COMPLETE_FLAGS = 3 };

/* A sequence of nested ranges: a track, or one lane of it. */
struct ss_nest {
    uint32_t track; /* of the model */
    uint16_t lane;
    bool is_operators; /* of PyTorch */
    struct ss_vec_of(struct ss_raw_event) events;
    struct ss_vec_of(struct ss_complete_range) complete; /* of lane 0 */
    uint32_t resolution_ns;                              /* of complete ranges: the coarsest */
};

typedef struct ss_vec_of(uint32_t) ss_nests_by_lane; /* nest + 1 */
typedef struct ss_vec_of(uint64_t) ss_step_begins;

struct ss_load_tracks {
    struct ss_vec_of(ss_nests_by_lane) lanes; /* by track of the model */
    struct ss_vec_of(struct ss_nest) nests;
    /* Rows of earlier inputs precede these. */
    size_t first_value, first_mark, first_flow, first_range, first_payload;
    uint64_t operators, most_operators; /* their events; most_operators 0: no limit */
    unsigned halvings;                  /* operators of 1 in 2^halvings steps are loaded */
    uint64_t from_ns, to_ns;            /* operators that end before or begin after are dropped */
    int64_t shift_ns; /* of the input's clock to the axis: what is selected must not depend on it */
};

/* The requested range, and the end of ranges that are still open. */
struct ss_load_times {
    bool has_range;
    uint64_t from_ns, to_ns; /* absolute; from ≤ t < to */
    uint64_t last_ns;
};

void ss_load_tracks_begin(struct ss_load_tracks *tracks, const struct ss_model *model);
/* `event->track_ref` is the track of the model; `name` its name there, `time_ns` its time on the
 * axis.
 */
void ss_load_tracks_event(struct ss_load_tracks *tracks, struct ss_model *model, uint32_t name,
                          uint64_t time_ns, const struct ss_trace_event *event);
/* A range whose begin and end are known; its times are on the axis. */
void ss_load_tracks_complete(struct ss_load_tracks *tracks, const struct ss_model *model,
                             uint32_t track, uint32_t resolution_ns,
                             const struct ss_complete_range *range);
/* The row of payloads; 0: the event carries nothing. Equal lists of fields share their rows. */
uint32_t ss_load_put_payload(struct ss_model *model, const struct ss_trace_event *event);
/* The first row of the list, which ends with field 0 after `count` fields; adds it. */
uint32_t ss_load_put_fields(struct ss_model *model, const struct ss_model_field *list,
                            size_t count);
/* Moves all times so far. */
void ss_load_tracks_shift(struct ss_load_tracks *tracks, struct ss_model *model, int64_t shift_ns);
/* Turns the collected events into rows. */
void ss_load_tracks_end(struct ss_load_tracks *tracks, struct ss_model *model,
                        const struct ss_load_times *times);
void ss_load_tracks_fini(struct ss_load_tracks *tracks);

/* Sorts values and ranges as model.h defines, if several inputs share tracks; else does nothing. */
void ss_load_order_tracks(struct ss_model *model);

/* Where no optimizer updates and the program marks no steps otherwise, the steps that its own
 * torch.profiler marks, from `first_range` on. The fact "torch.steps" records that. Before
 * ss_load_derive_steps, which finds others only without them. */
void ss_load_derive_marked_steps(struct ss_model *model, size_t first_range);

/* For processes with phases from `first_range` on: where no optimizer updates and the program marks
 * no steps, each backward pass ends a step, or each forward pass where there is no backward. The
 * fact "torch.steps" records that. */
void ss_load_derive_steps(struct ss_model *model, size_t first_range);

/* For processes of imports without phases, from `first_range` on: derives phases from the operators
 * of PyTorch, and steps from updates where the file marks none. */
void ss_load_derive_phases(struct ss_model *model, size_t first_range);

/* For an import without samples: makes them of its calls of Python functions, from `first_range`
 * on. */
void ss_load_derive_samples(struct ss_model *model, uint32_t input, size_t first_range);

/* Among the phases from `first_range` on, turns the waits for batches and the gaps between
 * evaluations into evaluation, and also the waits for the first batch. */
void ss_load_join_evaluations(struct ss_model *model, size_t first_range);

/* Takes the work of the program's own profilers, among the phases from `first_range` on, out of the
 * steps that it begins or ends. Work between two phases of a step stays in it. */
void ss_load_cut_profilers(struct ss_model *model, size_t first_range);

/* A sample whose ranges and step are known only at the end of the trace. */
struct ss_pending_sample {
    uint64_t time_ns;
    uint32_t label; /* name of the innermost range as the sampler read it; 0: none */
    struct ss_model_total total;
};

/* Sets total.range of each sample: the path of the ranges, from `first_range` on, that were open on
 * the sample's thread, over all its tracks; the label where there was none. */
void ss_find_sample_ranges(struct ss_model *model, size_t first_range,
                           struct ss_pending_sample *samples, size_t count);

/* Sets total.step, total.in_operator and total.in_pass of the samples that have a step, by the
 * steps and operators among the ranges from `first_range` on: a sample outside all steps with a
 * recorded end has no step. Samples of processes without such ranges keep the sampler's labels. */
void ss_find_sample_steps(const struct ss_model *model, size_t first_range,
                          struct ss_pending_sample *samples, size_t count);

/* Appends the complete ranges of a nest to model->ranges, nested and on lanes, and frees them
 * (load_tracks_complete.c). */
void ss_load_complete_end(struct ss_nest *nest, struct ss_model *model,
                          const struct ss_load_times *times);

/* Stable; each row of `size` bytes begins with a u64 time. */
void ss_sort_by_time(void *rows, size_t count, size_t size);

#endif
