/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks of an input, and what lies on them. */
#include <string.h>

#include "base/device_api.h"
#include "model/builder/builder_state.h"
#include "model/clock/clock_pings.h"
#include "model/core/index.h"

static bool is_step_or_phase(const struct ss_model_track *track)
{
    return track->kind == SS_TRACK_STEPS || track->kind == SS_TRACK_PHASES;
}

static bool matches_only_tracks(const struct ss_model_builder *builder,
                                const struct ss_model_track *track)
{
    const char *name = ss_model_text(builder->model, track->name);
    if (ss_clock_ping_track(ss_intern_get(&builder->model->strings, track->name), NULL, NULL)) {
        return true; /* all times depend on it */
    }
    for (const char *const *wanted = builder->load->only_tracks; *wanted != NULL; wanted++) {
        if (strcmp(*wanted, name) == 0) {
            return true;
        }
    }
    return is_step_or_phase(track) || track->stream != 0 ||
           (track->quantity != SS_QUANTITY_NONE &&
            (builder->load->only_quantities >> track->quantity & 1) != 0);
}

static bool is_wanted_track(const struct ss_model_builder *builder, uint32_t track)
{
    return builder->load->only_tracks == NULL ||
           (track < builder->wanted_tracks.count && builder->wanted_tracks.data[track]);
}

/* The id of a new track. A track of a process may be shared with an earlier input; host tracks are
 * not, because each recorder reads the host by itself. */
static uint32_t track_row(struct ss_model_builder *builder, const struct ss_model_track *track)
{
    struct ss_model *model = builder->model;
    struct ss_identity identity = {{(uint64_t)track->process << 32 | track->thread,
                                    (uint64_t)track->parent << 32 | track->name,
                                    (uint64_t)track->kind << 32 | (uint64_t)track->counter,
                                    (uint64_t)track->stream << 32 | track->unit}};
    bool is_shared = track->process != 0 && model->inputs.count > 1;
    uint32_t id =
        is_shared ? ss_identities_find(&model->index->tracks, &identity, builder->input) : 0;
    if (id != 0) {
        model->index->shares_tracks = true;
        return id;
    }
    ss_vec_push(&model->tracks, *track);
    id = (uint32_t)model->tracks.count - 1;
    if (track->process != 0) {
        ss_identities_add(&model->index->tracks, &identity, builder->input, id);
    }
    return id;
}

/* Recordings of version 0.1.0 have names only. */
static enum ss_quantity quantity_of(const struct ss_trace_track *track)
{
    return track->quantity == SS_QUANTITY_NONE && track->kind == SS_TRACK_COUNTER
               ? ss_device_counter_quantity(track->name)
               : track->quantity;
}

uint32_t ss_model_builder_track(struct ss_model_builder *builder, uint32_t id,
                                const struct ss_trace_track *track)
{
    struct ss_model *model = builder->model;
    struct ss_model_track row = {.input = builder->input,
                                 .kind = track->kind,
                                 .process = track->process_ref,
                                 .thread = track->thread_ref,
                                 .device = track->device_ref,
                                 .stream = track->stream_ref,
                                 .parent = track->parent_ref,
                                 .name = ss_model_builder_text(builder, track->name),
                                 .unit = ss_model_builder_text(builder, track->unit),
                                 .counter = track->counter,
                                 .quantity = quantity_of(track),
                                 .rank = track->rank};
    id = id != 0 ? id : track_row(builder, &row);
    row.input = model->tracks.data[id].input;
    model->tracks.data[id] = row;
    if (builder->load->only_tracks != NULL) {
        if (id >= builder->wanted_tracks.count) {
            ss_vec_resize(&builder->wanted_tracks, (size_t)id + 1);
        }
        builder->wanted_tracks.data[id] = matches_only_tracks(builder, &model->tracks.data[id]);
    }
    return id;
}

uint32_t ss_model_name_row(struct ss_model *model, const struct ss_model_name *name)
{
    struct ss_identity identity = {{(uint64_t)name->text << 32 | name->category,
                                    (uint64_t)name->file << 32 | name->line, name->colour,
                                    name->type}};
    uint32_t id = ss_identities_find_any(&model->index->names, &identity);
    if (id == 0) {
        id = (uint32_t)model->names.count;
        ss_vec_push(&model->names, *name);
        ss_identities_add(&model->index->names, &identity, 0, id);
    }
    return id;
}

uint32_t ss_model_builder_name(struct ss_model_builder *builder, const struct ss_trace_name *name)
{
    struct ss_model_name row = {.text = ss_model_builder_text(builder, name->text),
                                .category = ss_model_builder_text(builder, name->category),
                                .colour = name->colour,
                                .file = ss_model_builder_text(builder, name->file),
                                .line = name->line,
                                .type = name->type};
    return ss_model_name_row(builder->model, &row);
}

void ss_model_builder_set_type(struct ss_model_builder *builder, uint32_t name,
                               enum ss_event_type type)
{
    builder->model->names.data[name].type = type;
}

/* --- line times ------------------------------------------------------------------------------ */

struct line_key {
    uint32_t process, name, line;
};

void ss_model_add_line_time(struct ss_model *model, const struct ss_model_line_time *line)
{
    struct line_key key = {line->process, line->name, line->line};
    uint32_t known = ss_intern_put(&model->index->line_keys, (const char *)&key, sizeof key);
    size_t at = known - 1; /* id 0 is the empty key */
    if (at == model->line_times.count) {
        ss_vec_push(&model->line_times, (struct ss_model_line_time){.process = key.process,
                                                                    .name = key.name,
                                                                    .line = key.line});
    }
    struct ss_model_line_time *row = &model->line_times.data[at];
    row->hits += line->hits;
    row->total_ns += line->total_ns;
}

static void add_line(struct ss_model_builder *builder, const struct ss_trace_line *line)
{
    const struct ss_model_line_time row = {.process = line->process_ref,
                                           .name = line->name_ref,
                                           .line = line->line,
                                           .hits = line->hits,
                                           .total_ns = line->total_ns};
    ss_model_add_line_time(builder->model, &row);
}

void ss_model_builder_line(struct ss_model_builder *builder, const struct ss_trace_line *line)
{
    struct ss_trace_line moved = *line;
    moved.time_ns = ss_model_builder_on_axis(builder, line->time_ns);
    if (builder->load->has_time_range) { /* the origin of the range may not be known yet */
        ss_vec_push(&builder->pending_lines, moved);
    } else {
        add_line(builder, &moved);
    }
}

void ss_model_builder_end_lines(struct ss_model_builder *builder, const struct ss_load_times *times)
{
    for (size_t i = 0; i < builder->pending_lines.count; i++) {
        const struct ss_trace_line *line = &builder->pending_lines.data[i];
        if (line->time_ns >= times->from_ns && line->time_ns < times->to_ns) {
            add_line(builder, line);
        }
    }
}

/* --- events and values ----------------------------------------------------------------------- */

/* Steps have the name of their track. */
static uint32_t step_name(struct ss_model_builder *builder, uint32_t track)
{
    struct ss_model *model = builder->model;
    if (track >= model->index->step_names.count) {
        ss_vec_resize(&model->index->step_names, (size_t)track + 1);
    }
    uint32_t *name = &model->index->step_names.data[track];
    if (*name == 0) {
        *name = (uint32_t)model->names.count;
        ss_vec_push(&model->names, (struct ss_model_name){.text = model->tracks.data[track].name});
    }
    return *name;
}

/* The metrics of a recording's own event, whose payload is row `payload`, if that is the newest. */
static void put_own_metrics(struct ss_model_builder *builder, const struct ss_trace_event *event,
                            size_t payload)
{
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct ss_event_value *field = &event->fields[i];
        builder->model->untested_metrics += field->field == SS_EVENT_FIELD_untested_metrics;
        if (field->field == SS_EVENT_FIELD_metrics && field->value.type == SS_VALUE_TEXT &&
            builder->model->payloads.count == payload + 1) {
            ss_model_builder_own_metrics(builder, (uint32_t)payload, field->value.text);
        }
    }
}

void ss_model_builder_event(struct ss_model_builder *builder, const struct ss_trace_event *event)
{
    uint32_t track = event->track_ref, name = event->name_ref;
    if (!is_wanted_track(builder, track)) {
        return;
    }
    if (name == 0 && event->kind == SS_EVENT_BEGIN &&
        builder->model->tracks.data[track].kind == SS_TRACK_STEPS) {
        name = step_name(builder, track);
    }
    size_t payload = builder->model->payloads.count;
    ss_load_tracks_event(&builder->on_tracks, builder->model, name,
                         ss_model_builder_on_axis(builder, event->time_ns), event);
    put_own_metrics(builder, event, payload);
}

void ss_model_builder_flow(struct ss_model_builder *builder, const struct ss_trace_event *event)
{
    if (is_wanted_track(builder, event->track_ref)) {
        ss_vec_push(
            &builder->model->flows,
            (struct ss_model_flow){.id = event->flow_id,
                                   .time_ns = ss_model_builder_on_axis(builder, event->time_ns),
                                   .track = event->track_ref,
                                   .lane = (uint16_t)event->lane,
                                   .is_end = event->flow == SS_FLOW_END});
    }
}

uint32_t ss_model_metric_kind_row(struct ss_model *model, const struct ss_model_metric_kind *kind)
{
    uint32_t id = ss_intern_put(&model->index->metric_keys, (const char *)kind, sizeof *kind);
    if (id == model->metric_kinds.count) {
        ss_vec_push(&model->metric_kinds, *kind);
    }
    return id;
}

uint32_t ss_model_builder_metric_kind(struct ss_model_builder *builder,
                                      const struct ss_builder_metric_kind *kind)
{
    const struct ss_model_metric_kind row = {.name = ss_model_builder_text(builder, kind->name),
                                             .unit = ss_model_builder_text(builder, kind->unit),
                                             .section =
                                                 ss_model_builder_text(builder, kind->section)};
    return ss_model_metric_kind_row(builder->model, &row);
}

/* The payload of the range, which has a row if it has metrics. */
static uint32_t put_metrics(struct ss_model_builder *builder, const struct ss_builder_range *range,
                            uint32_t payload)
{
    struct ss_model *model = builder->model;
    if (range->metric_count > 0 && payload == 0) {
        ss_vec_push_zero(&model->payloads);
        payload = (uint32_t)model->payloads.count - 1;
    }
    for (uint32_t i = 0; i < range->metric_count; i++) {
        const struct ss_builder_metric *metric = &range->metrics[i];
        struct ss_model_metric row = {.payload = payload,
                                      .kind = metric->kind,
                                      .is_text = metric->value.type == SS_VALUE_TEXT};
        if (row.is_text) {
            row.text = ss_model_builder_text(builder, metric->value.text);
        } else {
            row.real = metric->value.real;
        }
        ss_vec_push(&model->metrics, row);
    }
    return payload;
}

void ss_model_builder_range(struct ss_model_builder *builder, const struct ss_builder_range *range)
{
    uint32_t track = range->track, name = range->name;
    if (!is_wanted_track(builder, track)) {
        return;
    }
    if (name == 0 && builder->model->tracks.data[track].kind == SS_TRACK_STEPS) {
        name = step_name(builder, track);
    }
    struct ss_trace_event event = {
        .payload = range->payload, .fields = range->fields, .field_count = range->field_count};
    uint32_t payload = put_metrics(builder, range, ss_load_put_payload(builder->model, &event));
    struct ss_complete_range complete = {.begin_ns =
                                             ss_model_builder_on_axis(builder, range->begin_ns),
                                         .end_ns = ss_model_builder_on_axis(builder, range->end_ns),
                                         .name = name % SS_COMPLETE_MOST_NAMES,
                                         .flags = range->flags & SS_COMPLETE_FLAGS,
                                         .payload = payload};
    ss_load_tracks_complete(&builder->on_tracks, builder->model, track, range->resolution_ns,
                            &complete);
}

void ss_model_builder_counter(struct ss_model_builder *builder,
                              const struct ss_trace_counter *counter)
{
    struct ss_model_value value = {.time_ns = ss_model_builder_on_axis(builder, counter->time_ns),
                                   .track = counter->track_ref,
                                   .is_integer = counter->is_integer};
    if (counter->is_integer) {
        value.integer = counter->integer;
    } else {
        value.real = counter->real;
    }
    if (is_wanted_track(builder, value.track)) {
        ss_vec_push(&builder->model->values, value);
    }
}
