/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ncu/ncu_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/ncu/ncu_units.h"
#include "wire/json_scan.h"

enum { MOST_TEXT_BYTES = 1 << 20, MOST_NUMBER_BYTES = 64 };

static const double longest_ns = 1e15; /* of one kernel */
static const uint64_t latest_ns = UINT64_C(1) << 62;

enum table { OF_PROCESS, OF_DEVICE, OF_GROUP, OF_CONTEXT, OF_STREAM };

void ss_ncu_rows_init(struct ss_ncu_rows *rows, struct ss_model_builder *builder)
{
    *rows = (struct ss_ncu_rows){.builder = builder};
    ss_intern_init(&rows->keys);
    ss_strbuf_init(&rows->unit, MOST_TEXT_BYTES);
}

void ss_ncu_rows_fini(struct ss_ncu_rows *rows)
{
    ss_vec_fini(&rows->kernel.metrics);
    ss_vec_fini(&rows->rows);
    ss_intern_fini(&rows->keys);
    ss_strbuf_fini(&rows->unit);
}

struct ss_strview ss_ncu_keep(struct ss_ncu_rows *rows, struct ss_strview text)
{
    return ss_intern_get(&ss_model_builder_model(rows->builder)->strings,
                         ss_model_builder_text(rows->builder, text));
}

/* --- rows of the model ------------------------------------------------------------------------ */

/* The entry of a row; 0: it is new. Valid until the next call. */
static uint32_t *entry_of(struct ss_ncu_rows *rows, enum table table, int64_t a, int64_t b,
                          int64_t c, int64_t d)
{
    int64_t key[] = {table, a, b, c, d};
    uint32_t id = ss_intern_put(&rows->keys, (const char *)key, sizeof key);
    if (id >= rows->rows.count) {
        ss_vec_resize(&rows->rows, (size_t)id + 1);
    }
    return &rows->rows.data[id];
}

static uint32_t process_of(struct ss_ncu_rows *rows)
{
    const struct ss_ncu_kernel *kernel = &rows->kernel;
    uint32_t *row = entry_of(rows, OF_PROCESS, kernel->pid, 0, 0, 0);
    if (*row == 0) {
        bool is_pid = kernel->pid >= 0 && kernel->pid <= INT32_MAX;
        struct ss_trace_process process = {
            .pid = is_pid ? (int32_t)kernel->pid : -1, .parent_pid = -1, .name = kernel->process};
        *row = ss_model_builder_process(rows->builder, 0, &process);
    }
    return *row;
}

/* `name` of its model; empty: unknown, then its compute capability stands for it. */
static uint32_t device_of(struct ss_ncu_rows *rows, struct ss_strview name)
{
    const struct ss_ncu_kernel *kernel = &rows->kernel;
    uint32_t *row = entry_of(rows, OF_DEVICE, kernel->device, 0, 0, 0);
    if (*row == 0 || name.length > 0) {
        bool is_number = kernel->device >= 0 && kernel->device < INT32_MAX;
        char capability[64] = "";
        if (kernel->capability.length > 0 && kernel->capability.length < 16) {
            snprintf(capability, sizeof capability, "GPU of compute capability %s",
                     kernel->capability.data);
        }
        struct ss_trace_device device = {.kind = SS_DEVICE_GPU,
                                         .number = is_number ? (uint32_t)kernel->device + 1 : 0,
                                         .model =
                                             name.length > 0 ? name : ss_strview_of(capability)};
        *row = ss_model_builder_device(rows->builder, *row, &device);
    }
    return *row;
}

static uint32_t group_of(struct ss_ncu_rows *rows, uint32_t process, uint32_t device)
{
    uint32_t *row = entry_of(rows, OF_GROUP, process, device, 0, 0);
    if (*row == 0) {
        char name[40];
        snprintf(name, sizeof name, "GPU %" PRId64, rows->kernel.device);
        struct ss_trace_track track = {.kind = SS_TRACK_GROUP,
                                       .process_ref = process,
                                       .device_ref = device,
                                       .name = ss_strview_of(name)};
        *row = ss_model_builder_track(rows->builder, 0, &track);
    }
    return *row;
}

static uint32_t context_of(struct ss_ncu_rows *rows, uint32_t process, uint32_t device)
{
    uint32_t *row = entry_of(rows, OF_CONTEXT, process, device, rows->kernel.context, 0);
    if (*row == 0) {
        struct ss_trace_context context = {
            .process_ref = process, .device_ref = device, .number = (uint64_t)rows->kernel.context};
        *row = ss_model_builder_context(rows->builder, 0, &context);
    }
    return *row;
}

/* The track of the open kernel's stream. */
static uint32_t track_of(struct ss_ncu_rows *rows, uint32_t *context)
{
    const struct ss_ncu_kernel *kernel = &rows->kernel;
    uint32_t process = process_of(rows), device = device_of(rows, (struct ss_strview){"", 0});
    uint32_t group = group_of(rows, process, device);
    *context = context_of(rows, process, device);
    uint32_t *row = entry_of(rows, OF_STREAM, process, device, kernel->context, kernel->stream);
    if (*row == 0) {
        char name[40];
        snprintf(name, sizeof name, "stream %" PRId64, kernel->stream);
        struct ss_trace_stream stream = {
            .device_ref = device, .context_ref = *context, .number = (uint64_t)kernel->stream};
        struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                       .process_ref = process,
                                       .device_ref = device,
                                       .stream_ref =
                                           ss_model_builder_stream(rows->builder, 0, &stream),
                                       .parent_ref = group,
                                       .name = ss_strview_of(name)};
        *row = ss_model_builder_track(rows->builder, 0, &track);
    }
    return *row;
}

/* --- kernels ---------------------------------------------------------------------------------- */

void ss_ncu_begin_kernel(struct ss_ncu_rows *rows, int64_t id, int64_t pid)
{
    struct ss_ncu_kernel *kernel = &rows->kernel;
    if (kernel->is_open && kernel->id == id && kernel->pid == pid) {
        return;
    }
    ss_ncu_end_kernel(rows);
    kernel->is_open = true;
    kernel->has_name = false;
    kernel->id = id;
    kernel->pid = pid;
    kernel->duration_ns = 0;
    ss_vec_clear(&kernel->metrics);
}

static void add_field(struct ss_event_value *fields, uint32_t *count, uint32_t field, int64_t value)
{
    if (value >= 0) {
        fields[(*count)++] = (struct ss_event_value){
            .field = field, .value = {SS_VALUE_UINT, {.natural = (uint64_t)value}}};
    }
}

void ss_ncu_end_kernel(struct ss_ncu_rows *rows)
{
    struct ss_ncu_kernel *kernel = &rows->kernel;
    struct ss_event_value fields[7];
    uint32_t count = 0, context;
    if (!kernel->is_open) {
        return;
    }
    struct ss_builder_range range = {.begin_ns = rows->end_ns, .track = track_of(rows, &context)};
    struct ss_trace_name name = {
        .text = kernel->name, .category = ss_strview_of("kernel"), .type = SS_EVENT_TYPE_kernel};
    for (uint32_t i = 0; i < 3; i++) {
        add_field(fields, &count, SS_EVENT_FIELD_grid_x + i, kernel->grid[i]);
    }
    for (uint32_t i = 0; i < 3; i++) {
        add_field(fields, &count, SS_EVENT_FIELD_block_x + i, kernel->block[i]);
    }
    add_field(fields, &count, SS_EVENT_FIELD_context, context);
    uint64_t length_ns = (uint64_t)llround(kernel->duration_ns);
    rows->end_ns += rows->end_ns < latest_ns ? length_ns : 0;
    rows->kernels++;
    range.end_ns = rows->end_ns;
    range.name = ss_model_builder_name(rows->builder, &name);
    range.fields = fields;
    range.field_count = count;
    range.metrics = kernel->metrics.data;
    range.metric_count = (uint32_t)kernel->metrics.count;
    ss_model_builder_range(rows->builder, &range);
    kernel->is_open = false;
}

/* --- metrics ---------------------------------------------------------------------------------- */

static bool is_text(struct ss_strview text, const char *other)
{
    return ss_strview_equal(text, ss_strview_of(other));
}

struct ss_ncu_metric ss_ncu_metric_of(struct ss_ncu_rows *rows, struct ss_strview section,
                                      struct ss_strview name, struct ss_strview unit)
{
    ss_strbuf_clear(&rows->unit);
    double factor = ss_ncu_unit(unit, &rows->unit);
    struct ss_strview plain = {rows->unit.data, rows->unit.length};
    struct ss_builder_metric_kind kind = {.name = name, .unit = plain, .section = section};
    bool is_time = is_text(plain, "ns");
    return (struct ss_ncu_metric){
        .kind = ss_model_builder_metric_kind(rows->builder, &kind),
        .factor = factor,
        .is_duration =
            is_time && (is_text(name, "Duration") || is_text(name, "gpu__time_duration.sum")),
        .is_device_name = is_text(name, "device__attribute_display_name")};
}

bool ss_ncu_number(struct ss_strview text, double *number)
{
    char plain[MOST_NUMBER_BYTES];
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == ',') {
            continue;
        }
        if (length == sizeof plain) {
            return false;
        }
        plain[length++] = text.data[i];
    }
    return ss_json_real((struct ss_strview){plain, length}, number);
}

void ss_ncu_put_metric(struct ss_ncu_rows *rows, const struct ss_ncu_metric *metric,
                       struct ss_strview value)
{
    struct ss_ncu_kernel *kernel = &rows->kernel;
    struct ss_builder_metric row = {.kind = metric->kind, .value = {.type = SS_VALUE_REAL}};
    double number;
    if (value.length == 0) {
        return;
    }
    if (ss_ncu_number(value, &number) && isfinite(number * metric->factor)) {
        row.value.real = number * metric->factor;
        bool is_duration =
            metric->is_duration && row.value.real >= 0 && row.value.real <= longest_ns;
        kernel->duration_ns = is_duration ? row.value.real : kernel->duration_ns;
    } else {
        row.value.type = SS_VALUE_TEXT;
        row.value.text = value;
    }
    if (metric->is_device_name) {
        device_of(rows, value);
    }
    ss_vec_push(&kernel->metrics, row);
}
