/* SPDX-License-Identifier: Apache-2.0 */
/* stepscope's own traces: passes the reader's records to the builder, their refs as its ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/builder/builder.h"
#include "model/clock/clock_domains.h"
#include "model/files/importer.h"
#include "trace/event_fields.h"

enum {
    MAX_REF = 0x3ffffff0,
    /* The densest recording stores a start or an end in about a byte (trace/reader.c). */
    MEMORY_PER_BYTE = 512
};

struct id_map ss_vec_of(uint32_t);

struct loader {
    struct ss_model_builder *builder;
    const struct ss_model_load *load;
    const char *path;
    /* ref → id; 0: not defined */
    struct id_map processes, threads, frames, stacks, sources, devices, hosts, contexts, streams,
        groups, tracks, names;
    struct ss_input_budget *budget;
    struct ss_error *err; /* why this loader stopped the reader, which cannot know */
};

/* Of records that each become a row. */
static enum ss_status charge(const struct loader *loader)
{
    return ss_input_budget_check(loader->budget, loader->err);
}

static enum ss_status set_id(struct loader *loader, struct id_map *map, uint32_t ref, uint32_t id)
{
    if (ref == 0 || ref > MAX_REF || ref > 2 * map->count + 4096) {
        return ss_fail(loader->err, SS_E_FORMAT, "ref %" PRIu32 " is out of order", ref);
    }
    if (ref >= map->count) {
        ss_vec_resize(map, (size_t)ref + 1);
    }
    map->data[ref] = id;
    return SS_OK;
}

static uint32_t id_of(const struct id_map *map, uint32_t ref)
{
    return ref < map->count ? map->data[ref] : 0;
}

/* Stores what a definition changed or added. */
static enum ss_status define(struct loader *loader, struct id_map *map, uint32_t ref,
                             uint32_t known, uint32_t id)
{
    return known != 0 ? SS_OK : set_id(loader, map, ref, id);
}

static enum ss_status on_clock(void *context, const struct ss_trace_clock *clock)
{
    struct loader *loader = context;
    ss_model_builder_clock(loader->builder, clock);
    return SS_OK;
}

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct loader *loader = context;
    ss_model_builder_attribute(loader->builder, attribute);
    return SS_OK;
}

static enum ss_status on_source(void *context, const struct ss_trace_source *source)
{
    struct loader *loader = context;
    uint32_t known = id_of(&loader->sources, source->ref);
    uint32_t id = ss_model_builder_source(loader->builder, known, source);
    return define(loader, &loader->sources, source->ref, known, id);
}

static enum ss_status on_device(void *context, const struct ss_trace_device *device)
{
    struct loader *loader = context;
    uint32_t known = id_of(&loader->devices, device->ref);
    uint32_t id = ss_model_builder_device(loader->builder, known, device);
    return define(loader, &loader->devices, device->ref, known, id);
}

static enum ss_status on_host(void *context, const struct ss_trace_host *host)
{
    struct loader *loader = context;
    uint32_t known = id_of(&loader->hosts, host->ref);
    uint32_t id = ss_model_builder_host(loader->builder, known, host);
    return define(loader, &loader->hosts, host->ref, known, id);
}

static enum ss_status on_context(void *context, const struct ss_trace_context *record)
{
    struct loader *loader = context;
    struct ss_trace_context row = *record;
    uint32_t known = id_of(&loader->contexts, record->ref);
    row.process_ref = id_of(&loader->processes, record->process_ref);
    row.device_ref = id_of(&loader->devices, record->device_ref);
    uint32_t id = ss_model_builder_context(loader->builder, known, &row);
    return define(loader, &loader->contexts, record->ref, known, id);
}

static enum ss_status on_stream(void *context, const struct ss_trace_stream *stream)
{
    struct loader *loader = context;
    struct ss_trace_stream row = *stream;
    uint32_t known = id_of(&loader->streams, stream->ref);
    row.device_ref = id_of(&loader->devices, stream->device_ref);
    row.context_ref = id_of(&loader->contexts, stream->context_ref);
    uint32_t id = ss_model_builder_stream(loader->builder, known, &row);
    return define(loader, &loader->streams, stream->ref, known, id);
}

static enum ss_status on_group(void *context, const struct ss_trace_group *group)
{
    struct loader *loader = context;
    uint32_t known = id_of(&loader->groups, group->ref);
    uint32_t id = ss_model_builder_group(loader->builder, known, group);
    return define(loader, &loader->groups, group->ref, known, id);
}

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    struct loader *loader = context;
    struct ss_trace_process row = *process;
    uint32_t known = id_of(&loader->processes, process->ref);
    row.parent_ref = id_of(&loader->processes, process->parent_ref);
    row.host_ref = id_of(&loader->hosts, process->host_ref);
    uint32_t id = ss_model_builder_process(loader->builder, known, &row);
    return define(loader, &loader->processes, process->ref, known, id);
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct loader *loader = context;
    struct ss_trace_thread row = *thread;
    uint32_t known = id_of(&loader->threads, thread->ref);
    row.process_ref = id_of(&loader->processes, thread->process_ref);
    uint32_t id = ss_model_builder_thread(loader->builder, known, &row);
    return define(loader, &loader->threads, thread->ref, known, id);
}

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct loader *loader = context;
    return set_id(loader, &loader->frames, frame->ref,
                  ss_model_builder_frame(loader->builder, frame));
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct loader *loader = context;
    SS_TRY(charge(loader));
    uint32_t parent = id_of(&loader->stacks, stack->parent_ref);
    uint32_t frame = id_of(&loader->frames, stack->frame_ref);
    return set_id(loader, &loader->stacks, stack->ref,
                  ss_model_builder_stack(loader->builder, parent, frame));
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct loader *loader = context;
    struct ss_trace_sample row = *sample;
    SS_TRY(charge(loader));
    row.thread_ref = id_of(&loader->threads, sample->thread_ref);
    row.stack_ref = id_of(&loader->stacks, sample->stack_ref);
    row.phase_name = id_of(&loader->names, sample->phase_name);
    row.range_name = id_of(&loader->names, sample->range_name);
    return ss_model_builder_sample(loader->builder, &row, loader->err);
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    struct loader *loader = context;
    struct ss_trace_counts row = *counts;
    row.source_ref = id_of(&loader->sources, counts->source_ref);
    row.process_ref = id_of(&loader->processes, counts->process_ref);
    ss_model_builder_counts(loader->builder, &row);
    return SS_OK;
}

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    struct loader *loader = context;
    struct ss_trace_note row = *note;
    SS_TRY(charge(loader));
    row.process_ref = id_of(&loader->processes, note->process_ref);
    ss_model_builder_note(loader->builder, &row);
    return SS_OK;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct loader *loader = context;
    struct ss_trace_track row = *track;
    uint32_t known = id_of(&loader->tracks, track->ref);
    row.process_ref = id_of(&loader->processes, track->process_ref);
    row.thread_ref = id_of(&loader->threads, track->thread_ref);
    row.device_ref = id_of(&loader->devices, track->device_ref);
    row.stream_ref = id_of(&loader->streams, track->stream_ref);
    row.parent_ref = id_of(&loader->tracks, track->parent_ref);
    uint32_t id = ss_model_builder_track(loader->builder, known, &row);
    return define(loader, &loader->tracks, track->ref, known, id);
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    struct loader *loader = context;
    return set_id(loader, &loader->names, name->ref, ss_model_builder_name(loader->builder, name));
}

static enum ss_status on_line(void *context, const struct ss_trace_line *line)
{
    struct loader *loader = context;
    struct ss_trace_line row = *line;
    SS_TRY(charge(loader));
    row.process_ref = id_of(&loader->processes, line->process_ref);
    row.name_ref = id_of(&loader->names, line->name_ref);
    ss_model_builder_line(loader->builder, &row);
    return SS_OK;
}

/* Refs to entities become ids of the model. */
static void map_fields(const struct loader *loader, const struct ss_trace_event *event,
                       struct ss_event_value *fields)
{
    const struct id_map *maps[SS_SCHEMA_COUNT] = {[SS_SCHEMA_device] = &loader->devices,
                                                  [SS_SCHEMA_context] = &loader->contexts,
                                                  [SS_SCHEMA_stream] = &loader->streams,
                                                  [SS_SCHEMA_group] = &loader->groups};
    for (uint32_t i = 0; i < event->field_count; i++) {
        fields[i] = event->fields[i];
        enum ss_schema_id entity = ss_event_fields[fields[i].field].entity;
        if (entity != SS_SCHEMA_COUNT) {
            fields[i].value.natural = id_of(maps[entity], (uint32_t)fields[i].value.natural);
        }
    }
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct loader *loader = context;
    struct ss_trace_event row = *event;
    SS_TRY(charge(loader));
    row.track_ref = id_of(&loader->tracks, event->track_ref);
    row.name_ref = id_of(&loader->names, event->name_ref);
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    if (event->field_count > 0) {
        row.fields = fields;
        map_fields(loader, event, fields);
    }
    ss_model_builder_event(loader->builder, &row);
    return SS_OK;
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *counter)
{
    struct loader *loader = context;
    struct ss_trace_counter row = *counter;
    SS_TRY(charge(loader));
    row.track_ref = id_of(&loader->tracks, counter->track_ref);
    ss_model_builder_counter(loader->builder, &row);
    return SS_OK;
}

static void on_progress(void *context, uint64_t done_bytes, uint64_t all_bytes)
{
    const struct loader *loader = context;
    if (loader->load->progress != NULL) {
        loader->load->progress(loader->load->progress_context, loader->path, done_bytes, all_bytes);
    }
}

static const struct ss_trace_visitor all_records = {.clock = on_clock,
                                                    .attribute = on_attribute,
                                                    .source = on_source,
                                                    .device = on_device,
                                                    .host = on_host,
                                                    .context = on_context,
                                                    .stream = on_stream,
                                                    .group = on_group,
                                                    .process = on_process,
                                                    .thread = on_thread,
                                                    .frame = on_frame,
                                                    .stack = on_stack,
                                                    .sample = on_sample,
                                                    .counts = on_counts,
                                                    .note = on_note,
                                                    .track = on_track,
                                                    .name = on_name,
                                                    .event = on_event,
                                                    .counter = on_counter,
                                                    .line = on_line,
                                                    .progress = on_progress};

static enum ss_status read_records(struct loader *loader, struct ss_error *err)
{
    struct ss_error own = {0};
    struct ss_trace_summary summary = {0};
    struct ss_trace_visitor visitor = all_records;
    if (loader->load->no_tracks) {
        visitor.track = NULL;
        visitor.name = NULL;
        visitor.event = NULL;
        visitor.counter = NULL;
        visitor.line = NULL;
    }
    loader->err = &own;
    enum ss_status status = ss_trace_read(loader->path, &visitor, loader, &summary, err);
    ss_model_builder_summary(loader->builder, &summary);
    if (status == SS_OK) {
        ss_model_builder_end(loader->builder);
    }
    return status != SS_OK && own.message[0] != '\0'
               ? ss_fail(err, status, "%s: %s", loader->path, own.message)
               : status;
}

static void free_loader(struct loader *loader)
{
    ss_model_builder_free(loader->builder);
    ss_vec_fini(&loader->processes);
    ss_vec_fini(&loader->threads);
    ss_vec_fini(&loader->frames);
    ss_vec_fini(&loader->stacks);
    ss_vec_fini(&loader->sources);
    ss_vec_fini(&loader->devices);
    ss_vec_fini(&loader->hosts);
    ss_vec_fini(&loader->contexts);
    ss_vec_fini(&loader->streams);
    ss_vec_fini(&loader->groups);
    ss_vec_fini(&loader->tracks);
    ss_vec_fini(&loader->names);
}

static enum ss_status load_trace(struct ss_model *model, const struct ss_import_file *file,
                                 const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_model_load request = *load;
    struct ss_step_span span = {0};
    if (load->has_steps) {
        SS_TRY(ss_step_span_find(file->path, load->first_step, load->last_step, &span, err));
        request.has_time_range = true;
        request.from_ns = 0;
        request.to_ns = span.end_ns - span.begin_ns;
    }
    bool has_base = load->has_steps || load->on_axis;
    struct loader loader = {.load = &request, .path = file->path, .budget = file->budget};
    loader.builder = ss_model_builder_new(model, SS_INPUT_TRACE, file->path, &request,
                                          has_base ? &span.begin_ns : NULL);
    enum ss_status status = read_records(&loader, err);
    free_loader(&loader);
    return status;
}

/* --- the first time --------------------------------------------------------------------------- */

/* The content of a file up to its first sample. */
struct head {
    struct ss_model *model; /* its inputs, clocks and strings */
    uint32_t input;
    uint64_t period_ns;
    uint64_t first_ns; /* on the clock of the file */
    bool has_sample;
};

static enum ss_status on_head_clock(void *context, const struct ss_trace_clock *clock)
{
    struct head *head = context;
    ss_clock_domains_reading(head->model, head->input, clock);
    return SS_OK;
}

static enum ss_status on_head_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct head *head = context;
    ss_clock_domains_attribute(head->model, head->input, attribute);
    if (ss_strview_equal(attribute->key, ss_strview_of("rate_hz"))) {
        char text[64] = "";
        if (attribute->text.length < sizeof text) {
            memcpy(text, attribute->text.data, attribute->text.length);
        }
        double rate_hz = attribute->is_integer ? (double)attribute->integer : strtod(text, NULL);
        head->period_ns = rate_hz > 0 && rate_hz <= 1e9 ? (uint64_t)(1e9 / rate_hz) : 0;
    }
    return SS_OK;
}

static enum ss_status on_head_host(void *context, const struct ss_trace_host *host)
{
    struct head *head = context;
    ss_clock_domains_host(head->model, head->input, host);
    return SS_OK;
}

/* Stops the reader: the rest is not needed. */
static enum ss_status on_first_sample(void *context, const struct ss_trace_sample *sample)
{
    struct head *head = context;
    uint64_t before_ns = (uint64_t)(sample->weight - 1) * head->period_ns;
    head->first_ns = sample->time_ns > before_ns ? sample->time_ns - before_ns : 0;
    head->has_sample = true;
    return SS_E_LIMIT;
}

/* Ignores read errors, which the loader reports. */
static bool read_first_time(struct ss_model *model, const char *path, struct ss_first_time *first)
{
    static const struct ss_trace_visitor visitor = {.clock = on_head_clock,
                                                    .attribute = on_head_attribute,
                                                    .host = on_head_host,
                                                    .sample = on_first_sample};
    struct ss_trace_summary summary = {0};
    struct ss_error ignored;
    struct head head = {.model = model, .input = ss_model_new_input(model, SS_INPUT_TRACE, path)};
    enum ss_status status = ss_trace_read(path, &visitor, &head, &summary, &ignored);
    int64_t shift_ns = ss_clock_domains_place(model, head.input);
    uint64_t time_ns = head.has_sample ? head.first_ns : summary.first_event_ns;
    *first = (struct ss_first_time){.time_ns = ss_clock_shifted(time_ns, shift_ns),
                                    .shift_ns = shift_ns,
                                    .has_sample = head.has_sample};
    return head.has_sample || (status == SS_OK && time_ns != 0);
}

static enum ss_import_match probe_trace(const char *head, size_t length)
{
    return ss_trace_is_trace(head, length < 64 ? length : 64) ? SS_IMPORT_CERTAIN : SS_IMPORT_NO;
}

const struct ss_importer ss_importer_trace = {.name = "trace",
                                              .summary = "recordings of stepscope",
                                              .kind = SS_INPUT_TRACE,
                                              .probe = probe_trace,
                                              .needs_file = true,
                                              .memory_per_byte = MEMORY_PER_BYTE,
                                              .load = load_trace,
                                              .read_first_time = read_first_time,
                                              .scan_steps = ss_step_span_scan};
