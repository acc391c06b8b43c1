/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_model_builder, shared by its files. Private to model/. */
#ifndef SS_MODEL_BUILDER_BUILDER_STATE_H
#define SS_MODEL_BUILDER_BUILDER_STATE_H

#include "model/builder/builder.h"
#include "model/builder/load_tracks.h"

#define SS_MODEL_DEFAULT_MAX_SAMPLES (UINT64_C(1) << 26)
enum { SS_MODEL_MOST_GIL_SPANS = 1 << 20 };

struct ss_pending_samples ss_vec_of(struct ss_pending_sample);

/* Samples of non-main threads in the newest step of a process: whether that step ends is not known
 * yet. */
struct ss_step_samples {
    int64_t number;
    struct ss_pending_samples pending;
};

struct ss_model_builder {
    struct ss_model *model;
    const struct ss_model_load *load;
    uint32_t input;
    struct ss_vec_of(bool) wanted_tracks; /* by track of the model; for only_tracks */
    struct ss_load_tracks on_tracks;
    struct ss_pending_samples pending; /* with sample_ranges; with sample_phases: of main threads */
    struct ss_vec_of(struct ss_step_samples) last_steps; /* by process; with sample_phases */
    struct ss_vec_of(struct ss_trace_line) pending_lines;
    bool is_placed;   /* on the time axis */
    int64_t shift_ns; /* added to its times */
    bool has_base;
    uint64_t base_ns;   /* the first tick of the first sample: origin of a time range */
    uint64_t period_ns; /* 0: unknown */
};

/* The ids of rows that inputs share by their content; added if they are new. */
uint32_t ss_model_host_row(struct ss_model *model, const struct ss_model_host *host);
/* A new one is empty. Of no `uuid`: always a new one. */
uint32_t ss_model_device_row(struct ss_model *model, uint32_t input, uint32_t uuid);
/* Replaces what is known of the group. */
uint32_t ss_model_group_row(struct ss_model *model, const struct ss_model_group *group);
uint32_t ss_model_name_row(struct ss_model *model, const struct ss_model_name *name);
uint32_t ss_model_metric_kind_row(struct ss_model *model, const struct ss_model_metric_kind *kind);
/* Adds hits and time to the row of the line. */
void ss_model_add_line_time(struct ss_model *model, const struct ss_model_line_time *line);

/* The time on the axis. */
uint64_t ss_model_builder_on_axis(struct ss_model_builder *builder, uint64_t time_ns);
void ss_model_builder_end_lines(struct ss_model_builder *builder,
                                const struct ss_load_times *times);
/* The metrics of an event of a recording, from its field "metrics"; `payload` is the newest row. */
void ss_model_builder_own_metrics(struct ss_model_builder *builder, uint32_t payload,
                                  struct ss_strview text);
/* At the end, when the ranges are rows: the samples whose steps and ranges were unknown. */
void ss_model_builder_end_samples(struct ss_model_builder *builder);
void ss_model_builder_free_samples(struct ss_model_builder *builder);

#endif
