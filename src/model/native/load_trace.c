/* SPDX-License-Identifier: Apache-2.0 */
/* stepscope's own traces: passes the reader's records to the builder, their refs as its ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/builder/builder.h"
#include "model/clock/clock_domains.h"
#include "model/files/importer.h"
#include "trace/ref_maps.h"

enum {
    MAX_REF = 0x3ffffff0,
    /* The densest recording stores a start or an end in about a byte (trace/reader.c). */
    MEMORY_PER_BYTE = 512
};

struct loader {
    struct ss_model_builder *builder;
    const struct ss_model_load *load;
    const char *path;
    struct ss_ref_maps ids; /* of the model */
    struct ss_input_budget *budget;
    struct ss_error *err; /* why this loader stopped the reader, which cannot know */
};

/* Of records that each become a row. */
static enum ss_status charge(const struct loader *loader)
{
    return ss_input_budget_check(loader->budget, loader->err);
}

static enum ss_status set_id(struct loader *loader, enum ss_schema_id kind, uint32_t ref,
                             uint32_t id)
{
    if (ref == 0 || ref > MAX_REF || ref > 2 * loader->ids.of[kind].count + 4096) {
        return ss_fail(loader->err, SS_E_FORMAT, "ref %" PRIu32 " is out of order", ref);
    }
    ss_ref_maps_put(&loader->ids, kind, ref, id);
    return SS_OK;
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

/* A record that may be repeated when more becomes known. */
#define REPEATED(name)                                                                             \
    static enum ss_status on_##name(void *context, const struct ss_trace_##name *record)           \
    {                                                                                              \
        struct loader *loader = context;                                                           \
        struct ss_trace_##name row = *record;                                                      \
        ss_ref_maps_move(&loader->ids, SS_SCHEMA_##name, &row);                                    \
        uint32_t known = ss_ref_maps_get(&loader->ids, SS_SCHEMA_##name, record->ref);             \
        uint32_t id = ss_model_builder_##name(loader->builder, known, &row);                       \
        return known != 0 ? SS_OK : set_id(loader, SS_SCHEMA_##name, record->ref, id);             \
    }
#define SS_ENTITY(name, number, when, meaning) REPEATED(name)
#include "trace/schema.def"
REPEATED(process)
REPEATED(thread)
REPEATED(track)

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct loader *loader = context;
    return set_id(loader, SS_SCHEMA_frame, frame->ref,
                  ss_model_builder_frame(loader->builder, frame));
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct loader *loader = context;
    struct ss_trace_stack row = *stack;
    SS_TRY(charge(loader));
    ss_ref_maps_move(&loader->ids, SS_SCHEMA_stack, &row);
    return set_id(loader, SS_SCHEMA_stack, stack->ref,
                  ss_model_builder_stack(loader->builder, row.parent_ref, row.frame_ref));
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    struct loader *loader = context;
    return set_id(loader, SS_SCHEMA_name, name->ref, ss_model_builder_name(loader->builder, name));
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct loader *loader = context;
    struct ss_trace_sample row = *sample;
    SS_TRY(charge(loader));
    ss_ref_maps_move(&loader->ids, SS_SCHEMA_sample, &row);
    return ss_model_builder_sample(loader->builder, &row, loader->err);
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    struct loader *loader = context;
    struct ss_trace_counts row = *counts;
    ss_ref_maps_move(&loader->ids, SS_SCHEMA_counts, &row);
    ss_model_builder_counts(loader->builder, &row);
    return SS_OK;
}

#define EACH(name)                                                                                 \
    static enum ss_status on_##name(void *context, const struct ss_trace_##name *record)           \
    {                                                                                              \
        struct loader *loader = context;                                                           \
        struct ss_trace_##name row = *record;                                                      \
        SS_TRY(charge(loader));                                                                    \
        ss_ref_maps_move(&loader->ids, SS_SCHEMA_##name, &row);                                    \
        ss_model_builder_##name(loader->builder, &row);                                            \
        return SS_OK;                                                                              \
    }
EACH(note)
EACH(counter)
EACH(line)

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct loader *loader = context;
    struct ss_trace_event row = *event;
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    SS_TRY(charge(loader));
    ss_ref_maps_move(&loader->ids, SS_SCHEMA_event, &row);
    for (uint32_t i = 0; i < event->field_count; i++) {
        fields[i] = event->fields[i];
        ss_ref_maps_move_field(&loader->ids, &fields[i]);
        row.fields = fields;
    }
    ss_model_builder_event(loader->builder, &row);
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
#define SS_ENTITY(name, number, when, meaning) .name = on_##name,
#include "trace/schema.def"
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
    ss_model_builder_free(loader.builder);
    ss_ref_maps_fini(&loader.ids);
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
