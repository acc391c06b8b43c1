/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the rows of one input with times: what importers call. Takes the records of
 * trace/records.h whose refs are ids of the model, as the builder returned them (0: none). A
 * definition precedes its first use; clocks and boot precede every record with a time. Times are of
 * the input's own clock: the builder shifts them to the common axis, selects the requested range,
 * and joins samples, ranges and steps at the end. Rows that earlier inputs defined (a process of
 * two windows, its threads, tracks and names) are shared. One owner, one thread.
 */
#ifndef SS_MODEL_BUILDER_BUILDER_H
#define SS_MODEL_BUILDER_BUILDER_H

#include "model/core/model.h"

struct ss_model_builder;

/* Adds an input to `model`. `load` is borrowed until the end. `base_ns`: origin of a requested time
 * range on the axis; NULL: the first sample of the input. */
struct ss_model_builder *ss_model_builder_new(struct ss_model *model, enum ss_input_kind kind,
                                              const char *path, const struct ss_model_load *load,
                                              const uint64_t *base_ns);
/* Stores counts and times of the whole input; its times are on its own clock. Before the end. */
void ss_model_builder_summary(struct ss_model_builder *builder,
                              const struct ss_trace_summary *summary);
/* What could not be read. */
struct ss_builder_skipped {
    uint64_t events, first_offset;
    const char *reason; /* of the first; NULL: none was skipped */
    bool is_cut;
};
/* Of imports: the tool that wrote the file. */
void ss_model_builder_import(struct ss_model_builder *builder, struct ss_strview tool,
                             const struct ss_builder_skipped *skipped);
/* Of formats that are read once: restricts the requested range to the steps with these numbers, all
 * of which are collected. Before the end. SS_E_USAGE: there is none; the message names those that
 * exist. `load` is the request that the builder borrows. */
enum ss_status ss_model_builder_select_steps(struct ss_model_builder *builder,
                                             struct ss_model_load *load, struct ss_error *err);
/* Turns what was collected into rows. */
void ss_model_builder_end(struct ss_model_builder *builder);
/* Frees the builder; the rows stay in the model. Without an end before, samples and ranges are
 * missing. */
void ss_model_builder_free(struct ss_model_builder *builder);

/* Index of its input. */
uint32_t ss_model_builder_input(const struct ss_model_builder *builder);
const struct ss_model *ss_model_builder_model(const struct ss_model_builder *builder);
/* The times of the input count from `base_ns` of the wall clock, CLOCK_REALTIME (0: they are its
 * times). Formats that say so at the end of a file call it before the summary: times so far are
 * moved. At most once. */
void ss_model_builder_wall_clock(struct ss_model_builder *builder, uint64_t base_ns);
uint32_t ss_model_builder_text(struct ss_model_builder *builder, struct ss_strview text);

void ss_model_builder_clock(struct ss_model_builder *builder, const struct ss_trace_clock *clock);
void ss_model_builder_attribute(struct ss_model_builder *builder,
                                const struct ss_trace_attribute *attribute);

/* Definitions. `id` 0: a new one, whose id is returned; else more is known about that row. Sources
 * have the id index + 1. */
uint32_t ss_model_builder_source(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_source *source);
uint32_t ss_model_builder_device(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_device *device);
uint32_t ss_model_builder_host(struct ss_model_builder *builder, uint32_t id,
                               const struct ss_trace_host *host);
uint32_t ss_model_builder_context(struct ss_model_builder *builder, uint32_t id,
                                  const struct ss_trace_context *context);
uint32_t ss_model_builder_stream(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_stream *stream);
uint32_t ss_model_builder_group(struct ss_model_builder *builder, uint32_t id,
                                const struct ss_trace_group *group);
uint32_t ss_model_builder_process(struct ss_model_builder *builder, uint32_t id,
                                  const struct ss_trace_process *process);
uint32_t ss_model_builder_thread(struct ss_model_builder *builder, uint32_t id,
                                 const struct ss_trace_thread *thread);
/* Of a thread whose id exceeds the 31 bits of its record, or is unknown (-1). */
void ss_model_builder_long_tid(struct ss_model_builder *builder, uint32_t id, int64_t tid);
uint32_t ss_model_builder_track(struct ss_model_builder *builder, uint32_t id,
                                const struct ss_trace_track *track);
uint32_t ss_model_builder_frame(struct ss_model_builder *builder,
                                const struct ss_trace_frame *frame);
uint32_t ss_model_builder_stack(struct ss_model_builder *builder, uint32_t parent, uint32_t frame);
uint32_t ss_model_builder_name(struct ss_model_builder *builder, const struct ss_trace_name *name);
/* What the events of a name are, where that is known only after them. */
void ss_model_builder_set_type(struct ss_model_builder *builder, uint32_t name,
                               enum ss_event_type type);

/* What a hardware counter measures. Values of one kind have one unit. */
struct ss_builder_metric_kind {
    struct ss_strview name, unit, section; /* the last two may be empty */
};
uint32_t ss_model_builder_metric_kind(struct ss_model_builder *builder,
                                      const struct ss_builder_metric_kind *kind);
struct ss_builder_metric {
    uint32_t kind;
    struct ss_trace_value value; /* a real or a text */
};

/* A range whose begin and end are known at once: what most tools write. Ranges of a track come in
 * any order. On the track of a stream, work that overlaps lies on different lanes; on other tracks,
 * an inner range nests, and one that only overlaps lies on another lane. */
struct ss_builder_range {
    uint64_t begin_ns, end_ns; /* begin ≤ end */
    uint32_t track, name;
    uint8_t flags; /* enum ss_event_flag */
    struct ss_trace_value payload;
    const struct ss_event_value *fields; /* borrowed, as texts are */
    uint32_t field_count;
    const struct ss_builder_metric *metrics; /* that counters measured for it; borrowed */
    uint32_t metric_count;
    /* On tracks of threads: an inner range may exceed the outer one by this much, the resolution of
     * its source. It is shortened to nest. */
    uint32_t resolution_ns;
};
void ss_model_builder_range(struct ss_model_builder *builder, const struct ss_builder_range *range);

/* SS_E_LIMIT: too many for a timeline or for 63 bits. */
enum ss_status ss_model_builder_sample(struct ss_model_builder *builder,
                                       const struct ss_trace_sample *sample, struct ss_error *err);
void ss_model_builder_event(struct ss_model_builder *builder, const struct ss_trace_event *event);
/* A point of a flow without a mark: its time, track, lane, id, and whether it ends. */
void ss_model_builder_flow(struct ss_model_builder *builder, const struct ss_trace_event *event);
void ss_model_builder_counter(struct ss_model_builder *builder,
                              const struct ss_trace_counter *counter);
void ss_model_builder_line(struct ss_model_builder *builder, const struct ss_trace_line *line);
void ss_model_builder_counts(struct ss_model_builder *builder,
                             const struct ss_trace_counts *counts);
void ss_model_builder_note(struct ss_model_builder *builder, const struct ss_trace_note *note);

#endif
