/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/model_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/search.h"
#include "trace/profile.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

struct writing {
    const struct ss_model *model;
    struct ss_trace_writer *writer;
    struct ss_model_flow *flows;      /* by track, then by time */
    uint32_t next_track;              /* ref of the next track that the model lacks */
    uint32_t part_of, part, part_ref; /* a track for lanes that another one has no room for */
    struct ss_error *err;
};

static struct ss_strview text_of(const struct writing *writing, uint32_t string)
{
    return ss_intern_get(&writing->model->strings, string);
}

/* --- definitions ------------------------------------------------------------------------------ */

static enum ss_status put_devices(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (uint32_t i = 1; i < model->devices.count; i++) {
        const struct ss_model_device *device = &model->devices.data[i];
        struct ss_trace_device row = {.ref = i,
                                      .kind = device->kind,
                                      .number =
                                          device->number >= 0 ? (uint32_t)device->number + 1 : 0,
                                      .model = text_of(writing, device->model),
                                      .uuid = text_of(writing, device->uuid),
                                      .pci_address = text_of(writing, device->pci_address),
                                      .memory_bytes = device->memory_bytes};
        SS_TRY(ss_trace_writer_device(writing->writer, &row, writing->err));
    }
    return SS_OK;
}

static enum ss_status put_streams(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (uint32_t i = 1; i < model->contexts.count; i++) {
        const struct ss_model_context *context = &model->contexts.data[i];
        struct ss_trace_context row = {.ref = i,
                                       .process_ref = context->process,
                                       .device_ref = context->device,
                                       .number = context->number};
        SS_TRY(ss_trace_writer_context(writing->writer, &row, writing->err));
    }
    for (uint32_t i = 1; i < model->streams.count; i++) {
        const struct ss_model_stream *stream = &model->streams.data[i];
        struct ss_trace_stream row = {.ref = i,
                                      .device_ref = stream->device,
                                      .context_ref = stream->context,
                                      .number = stream->number,
                                      .name = text_of(writing, stream->name),
                                      .priority = stream->priority,
                                      .is_default = stream->is_default};
        SS_TRY(ss_trace_writer_stream(writing->writer, &row, writing->err));
    }
    return SS_OK;
}

/* A process without a pid takes its row number. */
static enum ss_status put_groups(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    struct ss_wire_buffer runs = {0};
    enum ss_status status = SS_OK;
    for (uint32_t i = 1; i < model->groups.count && status == SS_OK; i++) {
        const struct ss_model_group *group = &model->groups.data[i];
        runs.length = 0;
        for (uint32_t k = 0; k < group->run_count; k++) {
            ss_rank_run_put(&runs, &model->rank_runs.data[group->first_run + k]);
        }
        struct ss_trace_group row = {.ref = i,
                                     .kind = group->kind,
                                     .number = group->number,
                                     .name = text_of(writing, group->name),
                                     .size = group->size,
                                     .ranks = {(const char *)runs.data, runs.length}};
        status = ss_trace_writer_group(writing->writer, &row, writing->err);
    }
    ss_wire_fini(&runs);
    return status;
}

static enum ss_status put_processes(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (uint32_t i = 1; i < model->processes.count; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        struct ss_trace_process row = {.ref = i,
                                       .parent_ref = process->parent < i ? process->parent : 0,
                                       .pid = process->pid >= 0 ? process->pid : (int32_t)i,
                                       .parent_pid = process->parent_pid,
                                       .start_time_ticks = process->start_time_ticks,
                                       .cmdline = text_of(writing, process->cmdline),
                                       .name = text_of(writing, process->name),
                                       .runtime = text_of(writing, process->runtime),
                                       .executable = text_of(writing, process->executable),
                                       .label = text_of(writing, process->label),
                                       .first_seen_ns = process->first_seen_ns,
                                       .rank = process->rank,
                                       .local_rank = process->local_rank,
                                       .node = process->node,
                                       .world_size = process->world_size,
                                       .role = process->role,
                                       .has_rank = process->has_rank,
                                       .has_local_rank = process->has_local_rank,
                                       .has_node = process->has_node};
        SS_TRY(ss_trace_writer_process(writing->writer, &row, writing->err));
    }
    return SS_OK;
}

static enum ss_status put_threads(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (uint32_t i = 1; i < model->threads.count; i++) {
        const struct ss_model_thread *thread = &model->threads.data[i];
        bool fits = thread->tid >= 0 && thread->tid <= INT32_MAX;
        struct ss_trace_thread row = {.ref = i,
                                      .process_ref = thread->process,
                                      .tid = fits ? (int32_t)thread->tid : (int32_t)i,
                                      .is_main = thread->is_main,
                                      .name = text_of(writing, thread->name)};
        SS_TRY(ss_trace_writer_thread(writing->writer, &row, writing->err));
    }
    return SS_OK;
}

static enum ss_status put_stacks(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (uint32_t i = 1; i < model->frames.count; i++) {
        const struct ss_model_frame *frame = &model->frames.data[i];
        struct ss_strview file = text_of(writing, frame->file);
        struct ss_strview short_file = text_of(writing, frame->short_file);
        size_t skip = file.length > short_file.length ? file.length - short_file.length : 0;
        struct ss_trace_frame row = {.ref = i,
                                     .function = text_of(writing, frame->function),
                                     .name = text_of(writing, frame->name),
                                     .file = file,
                                     .short_file_offset = (uint32_t)skip,
                                     .line = frame->line,
                                     .first_line = frame->first_line > 0 ? frame->first_line : 0,
                                     .kind = frame->kind};
        SS_TRY(ss_trace_writer_frame(writing->writer, &row, writing->err));
    }
    for (uint32_t i = 1; i < model->stacks.count; i++) {
        struct ss_trace_stack row = {i, model->stacks.data[i].parent, model->stacks.data[i].frame};
        SS_TRY(ss_trace_writer_stack(writing->writer, &row, writing->err));
    }
    return SS_OK;
}

static enum ss_status put_track(struct writing *writing, uint32_t track, uint32_t ref)
{
    const struct ss_model_track *row = &writing->model->tracks.data[track];
    struct ss_trace_track record = {.ref = ref,
                                    .kind = row->kind,
                                    .process_ref = row->process,
                                    .thread_ref = row->thread,
                                    .device_ref = row->device,
                                    .stream_ref = row->stream,
                                    .parent_ref = row->parent < track ? row->parent : 0,
                                    .name = text_of(writing, row->name),
                                    .unit = text_of(writing, row->unit),
                                    .counter = row->counter,
                                    .rank = row->rank,
                                    .quantity = row->quantity};
    return ss_trace_writer_track(writing->writer, &record, writing->err);
}

static enum ss_status put_tracks(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        SS_TRY(put_track(writing, i, i));
    }
    writing->next_track = (uint32_t)model->tracks.count;
    for (uint32_t i = 1; i < model->names.count; i++) {
        const struct ss_model_name *name = &model->names.data[i];
        struct ss_trace_name row = {.ref = i,
                                    .type = name->type,
                                    .text = text_of(writing, name->text),
                                    .category = text_of(writing, name->category),
                                    .colour = name->colour,
                                    .file = text_of(writing, name->file),
                                    .line = name->line};
        SS_TRY(ss_trace_writer_name(writing->writer, &row, writing->err));
    }
    return SS_OK;
}

/* --- events ----------------------------------------------------------------------------------- */

/* What the payload of an event carries. */
struct carried {
    struct ss_trace_value payload;
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    uint32_t count;
};

static struct ss_trace_value value_of(const struct writing *writing, enum ss_value_type type,
                                      uint64_t natural)
{
    struct ss_trace_value value = {.type = type};
    if (type == SS_VALUE_TEXT) {
        value.text = text_of(writing, (uint32_t)natural);
    } else {
        value.natural = natural; /* the bits of a real, too */
    }
    return value;
}

static void read_payload(const struct writing *writing, uint32_t payload, struct carried *carried)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_payload *row = &model->payloads.data[payload];
    carried->payload = (struct ss_trace_value){SS_VALUE_NONE, {0}};
    carried->count = 0;
    if (payload == 0) {
        return;
    }
    carried->payload =
        value_of(writing, row->type, row->type == SS_VALUE_TEXT ? row->text : row->natural);
    for (uint32_t i = row->first_field;
         i != 0 && model->fields.data[i].field != 0 && carried->count < SS_MAX_EVENT_FIELDS; i++) {
        const struct ss_model_field *field = &model->fields.data[i];
        uint64_t natural = field->type == SS_VALUE_TEXT ? field->text : field->natural;
        carried->fields[carried->count++] = (struct ss_event_value){
            field->field, value_of(writing, (enum ss_value_type)field->type, natural)};
    }
}

static int compare_flows(const void *left, const void *right)
{
    const struct ss_model_flow *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* A point of a flow at the start of the event is a part of it. */
static void add_flow(const struct writing *writing, uint32_t track, struct ss_trace_event *event)
{
    bool is_end = event->kind == SS_EVENT_END; /* the point of a receive lies just before it */
    struct ss_model_flow wanted = {.track = track, .time_ns = event->time_ns - is_end};
    size_t low = ss_search(i, 0, writing->model->flows.count,
                           compare_flows(&writing->flows[i], &wanted) < 0);
    if (low < writing->model->flows.count && compare_flows(&writing->flows[low], &wanted) == 0 &&
        (!is_end || writing->flows[low].is_of_run)) {
        event->flow = writing->flows[low].is_end ? SS_FLOW_END : SS_FLOW_THROUGH;
        event->flow_id = writing->flows[low].id;
    }
}

struct open_ranges ss_vec_of(const struct ss_model_range *);

/* Only ASYNC tracks have lanes, and a trace fewer than a model. */
static uint32_t lane_of(const struct ss_model *model, const struct ss_model_range *range)
{
    bool has_lanes = model->tracks.data[range->track].kind == SS_TRACK_ASYNC && range->lane > 0;
    return has_lanes ? (range->lane - 1U) % SS_MAX_LANES + 1 : 0;
}

static enum ss_status close_before(struct writing *writing, struct open_ranges *open,
                                   uint64_t begin_ns, uint32_t ref)
{
    while (open->count > 0 && open->data[open->count - 1]->end_ns <= begin_ns) {
        const struct ss_model_range *range = open->data[--open->count];
        struct ss_trace_event end = {.time_ns = range->end_ns,
                                     .track_ref = ref,
                                     .lane = lane_of(writing->model, range),
                                     .kind = SS_EVENT_END,
                                     .flags = range->flags & SS_EVENT_END_UNSEEN};
        add_flow(writing, range->track, &end);
        SS_TRY(ss_trace_writer_event(writing->writer, &end, writing->err));
    }
    return SS_OK;
}

static enum ss_status open_range(struct writing *writing, const struct ss_model_range *range,
                                 uint32_t ref)
{
    const struct ss_model *model = writing->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    struct carried carried;
    read_payload(writing, range->payload, &carried);
    struct ss_trace_event begin = {
        .time_ns = range->begin_ns,
        .track_ref = ref,
        .lane = lane_of(model, range),
        .name_ref = track->kind == SS_TRACK_STEPS ? 0 : model->paths.data[range->path].name,
        .flags = range->flags & SS_EVENT_BEGIN_UNSEEN,
        .payload = carried.payload,
        .fields = carried.fields,
        .field_count = carried.count};
    add_flow(writing, range->track, &begin);
    return ss_trace_writer_event(writing->writer, &begin, writing->err);
}

/* The track of a lane: another one of the same name where the first has no room for it. Lanes come
 * in their order. */
static enum ss_status find_track(struct writing *writing, const struct ss_model_range *range,
                                 uint32_t *ref)
{
    bool is_async = writing->model->tracks.data[range->track].kind == SS_TRACK_ASYNC;
    uint32_t part = !is_async && range->lane > 0 ? range->lane
                    : range->lane > 0            ? (range->lane - 1U) / SS_MAX_LANES
                                                 : 0;
    *ref = range->track;
    if (part == 0) {
        return SS_OK;
    }
    if (writing->part_of != range->track || writing->part != part) {
        writing->part_of = range->track;
        writing->part = part;
        writing->part_ref = writing->next_track++;
        SS_TRY(put_track(writing, range->track, writing->part_ref));
    }
    *ref = writing->part_ref;
    return SS_OK;
}

/* The ranges [first, end) of one track and lane. Only ASYNC tracks have lanes: those that overlap
 * on another lie on a track of the same name. */
static enum ss_status put_lane(struct writing *writing, size_t first, size_t end,
                               struct open_ranges *open)
{
    const struct ss_model_range *ranges = writing->model->ranges.data;
    uint32_t ref;
    SS_TRY(find_track(writing, &ranges[first], &ref));
    ss_vec_clear(open);
    for (size_t i = first; i < end; i++) {
        SS_TRY(close_before(writing, open, ranges[i].begin_ns, ref));
        SS_TRY(open_range(writing, &ranges[i], ref));
        ss_vec_push(open, &ranges[i]);
    }
    return close_before(writing, open, UINT64_MAX, ref);
}

static enum ss_status put_ranges(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    struct open_ranges open = {0};
    enum ss_status status = SS_OK;
    for (size_t first = 0, end; first < model->ranges.count && status == SS_OK; first = end) {
        const struct ss_model_range *range = &model->ranges.data[first];
        for (end = first + 1; end < model->ranges.count &&
                              model->ranges.data[end].track == range->track &&
                              model->ranges.data[end].lane == range->lane;) {
            end++;
        }
        status = put_lane(writing, first, end, &open);
    }
    ss_vec_fini(&open);
    return status;
}

static enum ss_status put_marks(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        struct carried carried;
        read_payload(writing, mark->payload, &carried);
        struct ss_trace_event event = {.time_ns = mark->time_ns,
                                       .track_ref = mark->track,
                                       .name_ref = mark->name,
                                       .kind = SS_EVENT_INSTANT,
                                       .payload = carried.payload,
                                       .fields = carried.fields,
                                       .field_count = carried.count};
        add_flow(writing, mark->track, &event);
        SS_TRY(ss_trace_writer_event(writing->writer, &event, writing->err));
    }
    return SS_OK;
}

static enum ss_status put_values(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    for (size_t i = 0; i < model->values.count; i++) {
        const struct ss_model_value *value = &model->values.data[i];
        struct ss_trace_counter row = {
            .time_ns = value->time_ns, .track_ref = value->track, .is_integer = value->is_integer};
        if (value->is_integer) {
            row.integer = value->integer;
        } else {
            row.real = value->real;
        }
        SS_TRY(ss_trace_writer_counter(writing->writer, &row, writing->err));
    }
    return SS_OK;
}

/* --- samples ---------------------------------------------------------------------------------- */

static uint64_t period_of(const struct ss_model *model, uint32_t thread)
{
    uint32_t input = model->processes.data[model->threads.data[thread].process].input;
    double rate_hz = model->inputs.data[input].rate_hz;
    return rate_hz > 0 ? (uint64_t)(1e9 / rate_hz + 0.5) : 0;
}

/* A sample may stand for any number of ticks, which each take bytes of a trace. */
static enum ss_status check_ticks(const struct ss_model *model, struct ss_error *err)
{
    enum { MOST_TICKS = 1 << 26 };
    uint64_t ticks = 0;
    for (size_t i = 0; i < model->samples.count; i++) {
        ticks += model->samples.data[i].weight;
    }
    return ticks <= MOST_TICKS
               ? SS_OK
               : ss_fail(err, SS_E_LIMIT,
                         "%s has %" PRIu64 " samples, of which a trace holds %d at most: export it "
                         "to speedscope",
                         ss_model_text(model, model->inputs.data[0].path), ticks, MOST_TICKS);
}

/* One for each tick: the last is at the sample's time. */
static enum ss_status put_samples(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    SS_TRY(check_ticks(model, writing->err));
    for (size_t i = 0; i < model->samples.count; i++) {
        const struct ss_model_sample *sample = &model->samples.data[i];
        uint64_t period_ns = period_of(model, sample->thread);
        for (uint32_t before = sample->weight; before-- > 0;) {
            uint64_t behind_ns = before * period_ns;
            struct ss_trace_sample row = {
                .time_ns = sample->time_ns > behind_ns ? sample->time_ns - behind_ns : 0,
                .thread_ref = sample->thread,
                .stack_ref = sample->stack,
                .weight = 1,
                .state = (enum ss_thread_state)sample->state,
                .gil = (enum ss_gil_state)sample->gil,
                .partial = sample->partial,
                .step = -1};
            SS_TRY(ss_trace_writer_sample(writing->writer, &row, writing->err));
        }
    }
    return SS_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

/* If a file has times of the wall clock, the axis is the wall clock. */
static enum ss_status put_clock(struct writing *writing)
{
    const struct ss_model *model = writing->model;
    uint64_t first_ns = UINT64_MAX;
    bool is_wall = false;
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        const struct ss_trace_summary *summary = &model->inputs.data[i].summary;
        bool has_samples = summary->last_ns > 0;
        uint64_t events_ns = summary->events > 0 ? summary->first_event_ns : UINT64_MAX;
        uint64_t samples_ns = has_samples ? summary->first_ns : UINT64_MAX;
        uint64_t own_ns = events_ns < samples_ns ? events_ns : samples_ns;
        first_ns = own_ns < first_ns ? own_ns : first_ns;
        is_wall = is_wall || ss_model_is_on_axis(model, i);
    }
    first_ns = first_ns != UINT64_MAX ? first_ns : 0;
    struct ss_trace_clock clock = {.monotonic_ns = first_ns,
                                   .boottime_ns = first_ns,
                                   .monotonic_raw_ns = first_ns,
                                   .realtime_ns = is_wall ? first_ns : 0};
    return ss_trace_writer_clock(writing->writer, &clock, writing->err);
}

static enum ss_status put_all(struct writing *writing)
{
    static enum ss_status (*const parts[])(struct writing *) = {
        put_clock,  put_devices, put_processes, put_threads, put_streams, put_groups,
        put_stacks, put_tracks,  put_ranges,    put_marks,   put_values,  put_samples};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        SS_TRY(parts[i](writing));
    }
    return SS_OK;
}

enum ss_status ss_model_export_compat(const struct ss_model *model, const char *path,
                                      struct ss_error *err)
{
    if (model->samples.count + model->ranges.count + model->marks.count + model->values.count ==
        0) {
        return ss_fail(err, SS_E_EMPTY,
                       "%s has neither samples nor events with times, which a trace needs",
                       model->inputs.count > 0 ? ss_model_text(model, model->inputs.data[0].path)
                                               : "the recording");
    }
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .replay = true, .totals = true, .perf_samples = true};
    struct writing writing = {.model = model, .err = err};
    SS_TRY(ss_trace_writer_open(&options, &writing.writer, err));
    size_t count = model->flows.count;
    writing.flows = ss_alloc((count + 1) * sizeof *writing.flows);
    if (count > 0) {
        memcpy(writing.flows, model->flows.data, count * sizeof *writing.flows);
        qsort(writing.flows, count, sizeof *writing.flows, compare_flows);
    }
    struct ss_error of_close;
    enum ss_status status = put_all(&writing);
    enum ss_status closed = ss_trace_writer_close(writing.writer, &of_close);
    ss_free(writing.flows);
    if (status == SS_OK && closed != SS_OK) {
        status = ss_fail(err, closed, "%s", of_close.message);
    }
    if (status != SS_OK) {
        unlink(path);
    }
    return status;
}
