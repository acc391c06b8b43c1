/* SPDX-License-Identifier: Apache-2.0 */
#include "model/chrome/chrome_events.h"

#include <string.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "model/chrome/chrome_steps.h"
#include "model/core/torch_names.h"
#include "trace/event_fields.h"

enum { COARSE_NS = 1000 };

void ss_chrome_loading_init(struct ss_chrome_loading *loading, struct ss_json_window *window,
                            struct ss_model_builder *builder)
{
    *loading = (struct ss_chrome_loading){.window = window, .rank = -1, .world_size = -1};
    ss_chrome_rows_init(&loading->rows, builder);
    ss_chrome_async_init(&loading->async);
}

void ss_chrome_loading_fini(struct ss_chrome_loading *loading)
{
    ss_model_builder_free(loading->rows.builder);
    ss_chrome_async_fini(&loading->async);
    ss_chrome_devices_fini(&loading->devices);
    ss_chrome_rows_fini(&loading->rows);
}

static bool is_text(struct ss_strview text, const char *name)
{
    return ss_strview_equal(text, ss_strview_of(name));
}

static void skip(struct ss_chrome_loading *loading, const char *reason)
{
    ss_import_window_count_skipped(&loading->window->bytes, loading->window->event_offset, reason);
}

static void count(struct ss_chrome_loading *loading, int64_t begin_ns, int64_t end_ns)
{
    loading->first_ns =
        loading->events == 0 || begin_ns < loading->first_ns ? begin_ns : loading->first_ns;
    loading->last_ns =
        loading->events == 0 || end_ns > loading->last_ns ? end_ns : loading->last_ns;
    loading->events++;
}

/* --- work of devices -------------------------------------------------------------------------- */

static void add_memory_names(struct ss_chrome_fields *fields, struct ss_strview name)
{
    struct ss_device_memories memories = ss_device_memories_of(name);
    if (memories.from != NULL) {
        ss_chrome_fields_add(
            fields, SS_EVENT_FIELD_from_memory,
            (struct ss_trace_value){SS_VALUE_TEXT, {.text = ss_strview_of(memories.from)}});
    }
    if (memories.to != NULL) {
        ss_chrome_fields_add(
            fields, SS_EVENT_FIELD_to_memory,
            (struct ss_trace_value){SS_VALUE_TEXT, {.text = ss_strview_of(memories.to)}});
    }
}

/* The number in "stream 7", "CUDA API 7", "Device 0", or of an id. */
static int64_t number_in(const struct ss_chrome_id *id)
{
    struct ss_strview text = id->text.raw;
    size_t at = text.length;
    int64_t number;
    if (id->is_number || text.length == 0) {
        return id->is_number ? id->number : 0;
    }
    while (at > 0 && text.data[at - 1] >= '0' && text.data[at - 1] <= '9') {
        at--;
    }
    struct ss_strview digits = {text.data + at, text.length - at};
    return ss_json_decimal(digits, 0, &number) ? number : 0;
}

static void add_stream(struct ss_chrome_loading *loading, enum ss_event_field_id field,
                       int64_t device, int64_t number)
{
    struct ss_chrome_rows *rows = &loading->rows;
    uint32_t row = rows->streams.data[ss_chrome_stream(rows, device, number)].row;
    ss_chrome_fields_add(&loading->fields, field,
                         (struct ss_trace_value){SS_VALUE_UINT, {.natural = row}});
}

static void add_device_work(struct ss_chrome_loading *loading, enum ss_chrome_kind kind,
                            const struct ss_chrome_event *event, struct ss_builder_range *range)
{
    struct ss_chrome_rows *rows = &loading->rows;
    struct ss_chrome_fields *fields = &loading->fields;
    ss_chrome_fields_read(rows, kind, event->arguments, fields);
    ss_chrome_devices_add_work(&loading->devices, fields->correlation);
    int64_t device = fields->device >= 0 ? fields->device : number_in(&event->pid);
    int64_t number = fields->stream >= 0 ? fields->stream : number_in(&event->tid);
    uint32_t stream = ss_chrome_stream(rows, device, number);
    if (fields->context >= 0) {
        uint32_t context =
            ss_chrome_context_row(rows, rows->streams.data[stream].device, fields->context);
        ss_chrome_fields_add(fields, SS_EVENT_FIELD_context,
                             (struct ss_trace_value){SS_VALUE_UINT, {.natural = context}});
    }
    if (kind == SS_CHROME_COPY || kind == SS_CHROME_MEMSET) {
        add_memory_names(fields, event->name.raw);
    }
    bool is_work = kind != SS_CHROME_DEVICE_ANNOTATION && kind != SS_CHROME_DEVICE_SYNC;
    if (!is_work) { /* work has its stream by its track */
        add_stream(loading, SS_EVENT_FIELD_stream, device, number);
    }
    if (fields->waits_for >= 0) {
        add_stream(loading, SS_EVENT_FIELD_waits_for_stream, device, fields->waits_for);
    }
    range->track = ss_chrome_stream_track(rows, stream, !is_work);
    range->name = ss_chrome_name(rows, kind, event->name, event->category);
    range->payload = fields->payload;
    range->fields = fields->values;
    range->field_count = fields->count;
    ss_model_builder_range(rows->builder, range);
}

/* --- ranges of threads ------------------------------------------------------------------------ */

static bool begins_with(struct ss_strview text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text.length > length && memcmp(text.data, prefix, length) == 0;
}

static enum ss_chrome_track track_of(enum ss_chrome_kind kind, struct ss_strview name)
{
    switch (kind) {
    case SS_CHROME_OPERATOR:
    case SS_CHROME_ANNOTATION:
    case SS_CHROME_API:
        return SS_CHROME_TORCH_TRACK;
    case SS_CHROME_PYTHON:
        return begins_with(name, "nn.Module: ") ? SS_CHROME_MODULE_TRACK : SS_CHROME_PYTHON_TRACK;
    default:
        return SS_CHROME_OWN_TRACK;
    }
}

static struct ss_json_text module_name(struct ss_json_text name)
{
    size_t skip = sizeof "nn.Module: " - 1;
    return (struct ss_json_text){{name.raw.data + skip, name.raw.length - skip}, name.has_escapes};
}

static void add_step(struct ss_chrome_rows *rows, uint32_t thread, int64_t number,
                     struct ss_builder_range *range)
{
    rows->threads.data[thread].has_steps = true;
    range->track = ss_chrome_thread_track(rows, thread, SS_CHROME_STEP_TRACK);
    range->payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = number}};
    ss_model_builder_range(rows->builder, range);
}

static void add_thread_range(struct ss_chrome_loading *loading, enum ss_chrome_kind kind,
                             const struct ss_chrome_event *event, struct ss_builder_range *range)
{
    struct ss_chrome_rows *rows = &loading->rows;
    uint32_t thread = ss_chrome_thread(rows, &event->pid, &event->tid);
    enum ss_chrome_track track = track_of(kind, event->name.raw);
    struct ss_json_text name = event->name;
    int64_t number;
    rows->threads.data[thread].ranges++;
    bool is_mark = kind == SS_CHROME_ANNOTATION || kind == SS_CHROME_OPERATOR; /* before 1.11 */
    if (is_mark && ss_torch_profiler_step(name.raw, &number)) {
        add_step(rows, thread, number, range);
        return;
    }
    if (kind == SS_CHROME_OTHER && ss_chrome_marks_step(rows, thread, event, &number)) {
        ss_chrome_mark_step(rows, thread, number, range);
        return;
    }
    if (track == SS_CHROME_MODULE_TRACK) {
        name = module_name(name);
    }
    if (track == SS_CHROME_TORCH_TRACK) {
        ss_chrome_fields_read(rows, kind, event->arguments, &loading->fields);
        range->payload = loading->fields.payload;
        range->fields = loading->fields.values;
        range->field_count = loading->fields.count;
    }
    range->track = ss_chrome_thread_track(rows, thread, track);
    range->name = ss_chrome_name(rows, track == SS_CHROME_MODULE_TRACK ? SS_CHROME_OTHER : kind,
                                 name, event->category);
    if (kind == SS_CHROME_API) {
        ss_chrome_devices_add_call(&loading->devices, loading->fields.correlation, name.raw,
                                   range->name);
    }
    ss_model_builder_range(rows->builder, range);
}

static void add_overhead(struct ss_chrome_loading *loading, const struct ss_chrome_event *event,
                         struct ss_builder_range *range)
{
    struct ss_chrome_rows *rows = &loading->rows;
    range->track = ss_chrome_overhead_track(rows);
    range->name = ss_chrome_name(rows, SS_CHROME_OVERHEAD, event->name, event->category);
    ss_model_builder_range(rows->builder, range);
}

static uint64_t flow_id_of(const struct ss_chrome_id *id)
{
    return id->is_number ? (uint64_t)id->number
                         : ss_hash_bytes(id->text.raw.data, id->text.raw.length);
}

/* The other way to write a flow: members of the ranges that it joins. */
static void add_bound_flow(struct ss_chrome_loading *loading, const struct ss_chrome_event *event,
                           const struct ss_builder_range *range)
{
    if ((!event->flow_in && !event->flow_out) || range->track == 0) {
        return;
    }
    ss_model_builder_flow(
        loading->rows.builder,
        &(struct ss_trace_event){.time_ns = range->begin_ns,
                                 .track_ref = range->track,
                                 .flow = event->flow_out ? SS_FLOW_THROUGH : SS_FLOW_END,
                                 .flow_id = flow_id_of(&event->bind_id)});
}

static void add_range(struct ss_chrome_loading *loading, enum ss_chrome_kind kind,
                      const struct ss_chrome_event *event)
{
    int64_t begin_ns = event->time_ns;
    if (event->duration_ns < 0 || begin_ns < 0 || event->duration_ns > INT64_MAX - begin_ns) {
        skip(loading, "a time below 0 or beyond 63 bits");
        return;
    }
    struct ss_builder_range range = {.begin_ns = (uint64_t)begin_ns,
                                     .end_ns = (uint64_t)(begin_ns + event->duration_ns),
                                     .resolution_ns = event->is_coarse ? COARSE_NS : 1};
    count(loading, begin_ns, begin_ns + event->duration_ns);
    if (ss_chrome_is_device_work(kind)) {
        add_device_work(loading, kind, event, &range);
    } else if (kind == SS_CHROME_OVERHEAD) {
        add_overhead(loading, event, &range);
    } else {
        add_thread_range(loading, kind, event, &range);
    }
    add_bound_flow(loading, event, &range);
}

/* --- other events ----------------------------------------------------------------------------- */

/* Many writers leave name and category out of an end: it ends what began last on its thread. */
static uint32_t edge_track(struct ss_chrome_rows *rows, uint32_t index, enum ss_chrome_kind kind,
                           const struct ss_chrome_event *event)
{
    bool is_begin = event->phase == 'B';
    bool is_named = event->name.raw.length > 0 && event->category.raw.length > 0;
    uint32_t track = 0;
    if (is_begin || is_named || rows->threads.data[index].open_tracks.count == 0) {
        track = ss_chrome_thread_track(rows, index, track_of(kind, event->name.raw));
    }
    struct ss_chrome_thread *thread = &rows->threads.data[index];
    if (is_begin) {
        ss_vec_push(&thread->open_tracks, track);
    } else if (thread->open_tracks.count > 0) {
        uint32_t last = thread->open_tracks.data[--thread->open_tracks.count];
        track = is_named ? track : last;
    }
    return track;
}

static void add_edge(struct ss_chrome_loading *loading, enum ss_chrome_kind kind,
                     const struct ss_chrome_event *event)
{
    struct ss_chrome_rows *rows = &loading->rows;
    uint32_t index = ss_chrome_thread(rows, &event->pid, &event->tid);
    bool is_begin = event->phase == 'B', has_name = event->name.raw.length > 0;
    uint32_t track = edge_track(rows, index, kind, event);
    struct ss_trace_event edge = {
        .time_ns = (uint64_t)event->time_ns,
        .track_ref = track,
        .name_ref =
            is_begin || has_name ? ss_chrome_name(rows, kind, event->name, event->category) : 0,
        .kind = is_begin ? SS_EVENT_BEGIN : SS_EVENT_END};
    rows->threads.data[index].ranges++;
    count(loading, event->time_ns, event->time_ns);
    ss_model_builder_event(rows->builder, &edge);
}

/* "[memory]": an allocation, or with negative size what it gave back. */
static void add_allocation(struct ss_chrome_loading *loading, const struct ss_chrome_event *event,
                           struct ss_trace_event *mark, uint32_t thread)
{
    struct ss_chrome_rows *rows = &loading->rows;
    struct ss_chrome_fields *fields = &loading->fields;
    ss_chrome_fields_read(rows, SS_CHROME_OTHER, event->arguments, fields);
    if (fields->device >= 0) {
        uint32_t device = ss_chrome_device_row(rows, ss_chrome_device(rows, fields->device));
        ss_chrome_fields_add(fields, SS_EVENT_FIELD_device,
                             (struct ss_trace_value){SS_VALUE_UINT, {.natural = device}});
    }
    mark->track_ref = ss_chrome_thread_track(rows, thread, SS_CHROME_MEMORY_TRACK);
    mark->payload = fields->payload;
    mark->fields = fields->values;
    mark->field_count = fields->count;
}

/* "Record Window End", "Iteration Start: …": where the profile begins and ends. */
static bool is_of_profile(struct ss_strview name)
{
    return is_text(name, "Record Window End") || begins_with(name, "Iteration Start");
}

static void add_instant(struct ss_chrome_loading *loading, const struct ss_chrome_event *event)
{
    struct ss_chrome_rows *rows = &loading->rows;
    if (is_of_profile(event->name.raw)) {
        return;
    }
    struct ss_trace_event mark = {.time_ns = (uint64_t)event->time_ns, .kind = SS_EVENT_INSTANT};
    uint32_t thread = ss_chrome_thread(rows, &event->pid, &event->tid);
    rows->threads.data[thread].ranges++;
    mark.name_ref = ss_chrome_name(rows, SS_CHROME_OTHER, event->name, event->category);
    if (is_text(event->name.raw, "[memory]")) {
        add_allocation(loading, event, &mark, thread);
    } else {
        mark.track_ref = ss_chrome_thread_track(rows, thread, SS_CHROME_OWN_TRACK);
    }
    count(loading, event->time_ns, event->time_ns);
    ss_model_builder_event(rows->builder, &mark);
}

static void add_counter(struct ss_chrome_loading *loading, const struct ss_chrome_event *event)
{
    struct ss_json_text series;
    struct ss_strview value;
    struct ss_chrome_rows *rows = &loading->rows;
    if (event->arguments.length < 2 || event->arguments.data[0] != '{') {
        skip(loading, "a counter without values");
        return;
    }
    struct ss_json_cursor cursor = {event->arguments.data + 1,
                                    event->arguments.data + event->arguments.length};
    uint32_t process = ss_chrome_process(rows, &event->pid);
    count(loading, event->time_ns, event->time_ns);
    while (ss_json_next_member(&cursor, &series, &value)) {
        struct ss_trace_counter counter = {.time_ns = (uint64_t)event->time_ns};
        struct ss_json_text quoted = ss_json_string_in(value);
        value = quoted.raw.length > 0 ? quoted.raw : value;
        counter.is_integer =
            ss_json_is_integer(value) && ss_json_decimal(value, 0, &counter.integer);
        if (counter.is_integer || ss_json_real(value, &counter.real)) {
            counter.track_ref = ss_chrome_counter_track(rows, process, event->name, series);
            ss_model_builder_counter(rows->builder, &counter);
        }
    }
}

/* Flows of PyTorch follow from correlations and sequence numbers; others join any two ranges. */
static void add_flow(struct ss_chrome_loading *loading, const struct ss_chrome_event *event)
{
    static const char *const derived[] = {"ac2g", "async_cpu_to_gpu", "async_gpu", "fwdbwd",
                                          "forward_backward"};
    struct ss_strview category = event->category.raw;
    bool is_launch = is_text(category, "async") && is_text(event->name.raw, "launch");
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++) {
        if (is_launch || is_text(category, derived[i])) {
            return;
        }
    }
    struct ss_chrome_rows *rows = &loading->rows;
    uint32_t thread = ss_chrome_thread(rows, &event->pid, &event->tid);
    struct ss_trace_event flow = {
        .time_ns = (uint64_t)event->time_ns,
        .track_ref = ss_chrome_thread_track(rows, thread, SS_CHROME_OWN_TRACK),
        .name_ref = ss_chrome_name(rows, SS_CHROME_OTHER, event->name, event->category),
        .kind = SS_EVENT_INSTANT,
        .flow = event->phase == 'f' ? SS_FLOW_END : SS_FLOW_THROUGH,
        .flow_id = flow_id_of(&event->id)};
    count(loading, event->time_ns, event->time_ns);
    ss_model_builder_event(rows->builder, &flow);
}

static void add_async(struct ss_chrome_loading *loading, const struct ss_chrome_event *event)
{
    const char *trouble = ss_chrome_async_add(&loading->async, &loading->rows, event);
    if (trouble != NULL) {
        skip(loading, trouble);
        return;
    }
    count(loading, event->time_ns, event->time_ns);
}

/* --- names of processes and threads ----------------------------------------------------------- */

static void set_text(struct ss_chrome_loading *loading, char **text, struct ss_strview value)
{
    struct ss_strview plain = ss_chrome_unescaped(&loading->rows, ss_json_string_in(value));
    ss_free(*text);
    *text = plain.length > 0 ? ss_strndup(plain.data, plain.length) : NULL;
}

static bool has_ending(const char *text, const char *ending)
{
    size_t length = text != NULL ? strlen(text) : 0, size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

static void add_metadata(struct ss_chrome_loading *loading, const struct ss_chrome_event *event)
{
    struct ss_json_text key;
    struct ss_strview value, name = event->name.raw;
    struct ss_chrome_rows *rows = &loading->rows;
    bool is_name = is_text(name, "process_name"), is_label = is_text(name, "process_labels");
    bool is_thread = is_text(name, "thread_name");
    if ((!is_name && !is_label && !is_thread) || event->arguments.length < 2) {
        return;
    }
    struct ss_json_cursor cursor = {event->arguments.data + 1,
                                    event->arguments.data + event->arguments.length};
    while (ss_json_next_member(&cursor, &key, &value)) {
        if (is_thread && is_text(key.raw, "lane_of")) { /* of our export, before the name */
            struct ss_chrome_id of = ss_chrome_id_of_text((struct ss_json_text){.raw = value});
            ss_chrome_lane(rows, &event->pid, &event->tid, &of);
            return;
        }
        if (is_thread && is_text(key.raw, "name")) {
            uint32_t thread = ss_chrome_thread(rows, &event->pid, &event->tid);
            set_text(loading, &rows->threads.data[thread].name, value);
        } else if (is_text(key.raw, is_name ? "name" : "labels") && !is_thread) {
            uint32_t process = ss_chrome_process(rows, &event->pid);
            struct ss_chrome_process *row = &rows->processes.data[process];
            set_text(loading, is_name ? &row->name : &row->labels, value);
            row->is_named_device =
                row->is_named_device ||
                (is_name && ss_chrome_names_device(ss_json_string_in(value).raw));
            rows->is_xprof =
                rows->is_xprof ||
                (is_name && row->name != NULL &&
                 (strncmp(row->name, "/host:", 6) == 0 || strncmp(row->name, "/device:", 8) == 0));
            loading->is_composer =
                loading->is_composer || has_ending(row->name, " training loop process");
        }
    }
}

static bool is_empty(const struct ss_chrome_event *event)
{
    return event->phase == 0 && !event->has_time && event->name.raw.length == 0 &&
           !event->pid.is_number && event->pid.text.raw.length == 0 && event->arguments.length == 0;
}

/* Long: one case for each phase. */
void ss_chrome_event_add(struct ss_chrome_loading *loading, const struct ss_chrome_event *event)
{
    if (event->phase == 'M') {
        add_metadata(loading, event);
        return;
    }
    if (loading->rows.is_xprof && is_empty(event)) {
        return; /* XProf ends its list with one */
    }
    if (!event->has_time || event->is_unreadable || event->time_ns < 0) {
        skip(loading, event->phase == 0 ? "no phase" : "no readable time");
        return;
    }
    if (ss_chrome_is_async(event->phase)) {
        add_async(loading, event);
        return;
    }
    enum ss_chrome_kind kind = ss_chrome_kind_of_event(&loading->rows, event);
    loading->is_kineto = loading->is_kineto || kind == SS_CHROME_SPAN;
    switch (event->phase) {
    case 'X':
        if (kind != SS_CHROME_SPAN) {
            add_range(loading, kind, event);
        }
        break;
    case 'B':
    case 'E':
        add_edge(loading, kind, event);
        break;
    case 'i':
    case 'I':
    case 'R':
    case 'n': /* the last three: within an async range */
    case 'T':
    case 'p':
        add_instant(loading, event);
        break;
    case 'C':
        add_counter(loading, event);
        break;
    case 's':
    case 't':
    case 'f':
        add_flow(loading, event);
        break;
    default:
        skip(loading, "a phase that stepscope does not read");
    }
}
