/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX: ranges, marks, domains and categories; among them PyTorch's operators and NCCL's calls. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/device_api.h"
#include "base/shared_names.h"
#include "base/strbuf.h"
#include "model/core/torch_names.h"
#include "model/nsys/nsys_loading.h"
#include "model/nsys/nsys_payloads.h"

enum {
    END = 1,
    TYPE,
    CATEGORY,
    COLOUR,
    TEXT,
    THREAD,
    TEXT_NUMBER,
    DOMAIN,
    UNSIGNED_64,
    SIGNED_64,
    DOUBLE,
    UNSIGNED_32,
    SIGNED_32,
    FLOAT,
    JSON_NUMBER,
    JSON,
    BYTES
};

static const char *const columns[] = {
    "start",       "end",        "eventType",  "category",    "color",      "text",
    "globalTid",   "textId",     "domainId",   "uint64Value", "int64Value", "doubleValue",
    "uint32Value", "int32Value", "floatValue", "jsonTextId",  "jsonText",   "binaryData"};

/* Of ENUM_NSYS_EVENT_TYPE; the second of a pair is of NVTX's text files. */
enum event_type {
    CATEGORY_NAME = 33,
    MARK = 34,
    PUSH_POP = 59,
    START_END = 60,
    TEXT_FILE_MARK = 65,
    TEXT_FILE_PUSH_POP = 70,
    TEXT_FILE_START_END = 71,
    DOMAIN_NAME = 75
};

/* A track whose domain had no name yet. */
struct unnamed {
    uint32_t track, thread; /* index plus one; 0: of the process */
    int64_t process_key, domain;
};

struct nvtx {
    struct ss_nsys_loading *loading;
    struct ss_sqlite_rows rows;
    struct ss_nsys_payloads payloads;
    struct ss_vec_of(struct unnamed) unnamed;
    /* Of the row that is being read: */
    int64_t global_tid, domain;
    struct ss_strview text;
    struct ss_nsys_fields fields;
};

static const struct ss_model *model_of(const struct nvtx *nvtx)
{
    return ss_model_builder_model(nvtx->loading->builder);
}

/* --- domains ---------------------------------------------------------------------------------- */

static struct ss_strview domain_name(struct nvtx *nvtx, int64_t process_key, int64_t domain,
                                     char *space, size_t size)
{
    uint32_t name = *ss_nsys_entry(&nvtx->loading->rows, SS_NSYS_DOMAIN, process_key, domain, 0);
    if (domain == 0) {
        return (struct ss_strview){"", 0};
    }
    if (name != 0) {
        return ss_intern_get(&model_of(nvtx)->strings, name);
    }
    snprintf(space, size, "NVTX domain %" PRId64, domain);
    return ss_strview_of(space);
}

/* The track of ranges that one thread pushes and pops, or of those that any thread may end. */
static uint32_t domain_track(struct nvtx *nvtx, uint32_t thread, bool is_of_thread)
{
    struct ss_nsys_rows *rows = &nvtx->loading->rows;
    char space[48];
    int64_t key = ss_nsys_process_key(nvtx->global_tid);
    size_t tracks = model_of(nvtx)->tracks.count;
    struct ss_strview name = domain_name(nvtx, key, nvtx->domain, space, sizeof space);
    if (!is_of_thread && name.length == 0) {
        name = ss_strview_of("NVTX");
    }
    uint32_t track = is_of_thread
                         ? ss_nsys_thread_track(rows, thread, SS_TRACK_RANGES, name)
                         : ss_nsys_process_track(rows, rows->threads.data[thread].process, name);
    if (name.data == space && model_of(nvtx)->tracks.count > tracks) {
        ss_vec_push(&nvtx->unnamed,
                    (struct unnamed){track, is_of_thread ? thread + 1 : 0, key, nvtx->domain});
    }
    return track;
}

/* Domains are named before they are used, but not always before in the file. */
static void name_domains(struct nvtx *nvtx)
{
    struct ss_nsys_rows *rows = &nvtx->loading->rows;
    for (size_t i = 0; i < nvtx->unnamed.count; i++) {
        const struct unnamed *unnamed = &nvtx->unnamed.data[i];
        char space[48];
        struct ss_strview name =
            domain_name(nvtx, unnamed->process_key, unnamed->domain, space, sizeof space);
        const struct ss_nsys_thread *thread =
            unnamed->thread != 0 ? &rows->threads.data[unnamed->thread - 1] : NULL;
        struct ss_trace_track row = {.kind = SS_TRACK_RANGES,
                                     .process_ref =
                                         model_of(nvtx)->tracks.data[unnamed->track].process,
                                     .thread_ref = thread != NULL ? thread->row : 0,
                                     .name = name};
        ss_model_builder_track(nvtx->loading->builder, unnamed->track, &row);
    }
}

static void read_domain(struct nvtx *nvtx)
{
    int64_t key = ss_nsys_process_key(nvtx->global_tid);
    uint32_t name = ss_model_builder_text(nvtx->loading->builder, nvtx->text);
    *ss_nsys_entry(&nvtx->loading->rows, SS_NSYS_DOMAIN, key, nvtx->domain, 0) = name;
}

static void read_category(struct nvtx *nvtx)
{
    int64_t number, key = ss_nsys_process_key(nvtx->global_tid);
    if (ss_sqlite_integer(&nvtx->rows, CATEGORY, &number)) {
        uint32_t name = ss_model_builder_text(nvtx->loading->builder, nvtx->text);
        *ss_nsys_entry(&nvtx->loading->rows, SS_NSYS_CATEGORY, key, nvtx->domain, number) = name;
    }
}

/* --- names and payloads ----------------------------------------------------------------------- */

/* A category without a name has its number as name. */
static struct ss_strview category_name(struct nvtx *nvtx, char *space, size_t size)
{
    int64_t number, key = ss_nsys_process_key(nvtx->global_tid);
    if (!ss_sqlite_integer(&nvtx->rows, CATEGORY, &number) || number == 0) {
        return (struct ss_strview){"", 0};
    }
    uint32_t name =
        *ss_nsys_entry(&nvtx->loading->rows, SS_NSYS_CATEGORY, key, nvtx->domain, number);
    if (name != 0) {
        return ss_intern_get(&model_of(nvtx)->strings, name);
    }
    snprintf(space, size, "%" PRId64, number);
    return ss_strview_of(space);
}

/* Colours without opacity are opaque. */
static uint32_t colour_of(const struct nvtx *nvtx)
{
    int64_t colour;
    if (!ss_sqlite_integer(&nvtx->rows, COLOUR, &colour) || (colour & 0xffffff) == 0) {
        return 0;
    }
    uint32_t argb = (uint32_t)colour;
    return argb >> 24 == 0 ? argb | 0xff000000 : argb;
}

static uint32_t name_row(struct nvtx *nvtx, enum ss_event_type type)
{
    char space[32];
    struct ss_trace_name name = {.text = nvtx->text,
                                 .category = category_name(nvtx, space, sizeof space),
                                 .colour = colour_of(nvtx)};
    name.type = ss_nccl_collective(nvtx->text).length > 0 ? SS_EVENT_TYPE_collective : type;
    return ss_nsys_put_name(&nvtx->loading->rows, &name);
}

static bool read_integer_payload(struct nvtx *nvtx, struct ss_trace_value *value)
{
    int64_t number;
    if (ss_sqlite_integer(&nvtx->rows, UNSIGNED_64, &number) ||
        ss_sqlite_integer(&nvtx->rows, UNSIGNED_32, &number)) {
        *value = number >= 0
                     ? (struct ss_trace_value){SS_VALUE_INT, {.integer = number}}
                     : (struct ss_trace_value){SS_VALUE_UINT, {.natural = (uint64_t)number}};
        return true;
    }
    if (ss_sqlite_integer(&nvtx->rows, SIGNED_64, &number) ||
        ss_sqlite_integer(&nvtx->rows, SIGNED_32, &number)) {
        *value = (struct ss_trace_value){SS_VALUE_INT, {.integer = number}};
        return true;
    }
    return false;
}

static void read_nccl(struct nvtx *nvtx, struct ss_builder_range *range)
{
    struct ss_nccl_payload payload = {.has = {false}};
    struct ss_strview collective = ss_nccl_collective(nvtx->text);
    struct ss_strview bytes = ss_sqlite_text(&nvtx->rows, BYTES);
    int64_t number;
    if (bytes.length > 0) {
        ss_nsys_payload_read(&nvtx->payloads, bytes, &payload);
    } else {
        struct ss_strview json = ss_sqlite_text(&nvtx->rows, JSON);
        if (json.length == 0 && ss_sqlite_integer(&nvtx->rows, JSON_NUMBER, &number)) {
            json = ss_nsys_string(&nvtx->loading->names, number);
        }
        ss_nsys_payload_read_json(json, &payload);
    }
    ss_nsys_add_text(&nvtx->fields, SS_EVENT_FIELD_collective, collective);
    ss_nsys_payload_put(&payload, &nvtx->loading->rows, &nvtx->fields, range);
}

/* A number that the program attached, or what NCCL did. */
static void read_payload(struct nvtx *nvtx, struct ss_builder_range *range)
{
    double real;
    if (nvtx->text.length > 4 && memcmp(nvtx->text.data, "nccl", 4) == 0) {
        read_nccl(nvtx, range);
    } else if (!read_integer_payload(nvtx, &range->payload) &&
               (ss_sqlite_real(&nvtx->rows, DOUBLE, &real) ||
                ss_sqlite_real(&nvtx->rows, FLOAT, &real))) {
        range->payload = (struct ss_trace_value){SS_VALUE_REAL, {.real = real}};
    }
    range->fields = nvtx->fields.values;
    range->field_count = nvtx->fields.count;
}

/* --- events ----------------------------------------------------------------------------------- */

static void add_operator(struct nvtx *nvtx, uint32_t thread, const struct ss_torch_nvtx *operator,
                         struct ss_builder_range * range)
{
    struct ss_nsys_rows *rows = &nvtx->loading->rows;
    bool is_backward = ss_torch_is_backward(operator->name);
    struct ss_trace_name name = {.text = operator->name,
                                 .category = ss_strview_of(is_backward ? "backward" : "operator"),
                                 .type = SS_EVENT_TYPE_operator};
    if (operator->has_sequence) {
        range->payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = operator->sequence } };
    }
    ss_nsys_add_text(&nvtx->fields, SS_EVENT_FIELD_shapes, operator->sizes);
    rows->threads.data[thread].has_operators = true;
    range->fields = nvtx->fields.values;
    range->field_count = nvtx->fields.count;
    range->name = ss_nsys_put_name(&nvtx->loading->rows, &name);
    range->track =
        ss_nsys_thread_track(rows, thread, SS_TRACK_RANGES, ss_strview_of(ss_domain_torch));
    ss_model_builder_range(nvtx->loading->builder, range);
}

static void add_range(struct nvtx *nvtx, uint32_t thread, bool is_of_thread)
{
    struct ss_nsys_loading *loading = nvtx->loading;
    struct ss_builder_range range;
    struct ss_torch_nvtx operator;
    struct ss_nsys_step_name step;
    bool has_end;
    if (!ss_nsys_span(loading, &nvtx->rows, &range, &has_end)) {
        return;
    }
    if (is_of_thread && ss_torch_nvtx_read(nvtx->text, &operator)) {
        add_operator(nvtx, thread, &operator, & range);
        return;
    }
    range.name = name_row(nvtx, SS_EVENT_TYPE_range);
    range.track = domain_track(nvtx, thread, is_of_thread);
    bool is_step = has_end && ss_nsys_step_name_read(nvtx->text, &step);
    read_payload(nvtx, &range);
    if (is_step) {
        ss_nsys_steps_add(&loading->steps, &loading->rows, thread, &step, &range);
    } else {
        ss_model_builder_range(loading->builder, &range);
    }
}

static void add_mark(struct nvtx *nvtx, uint32_t thread)
{
    struct ss_builder_range range = {.begin_ns = 0};
    struct ss_trace_event mark = {.kind = SS_EVENT_INSTANT};
    if (!ss_nsys_time(nvtx->loading, &nvtx->rows, 0, &mark.time_ns)) {
        return;
    }
    ss_nsys_count(nvtx->loading, mark.time_ns);
    mark.name_ref = name_row(nvtx, SS_EVENT_TYPE_instant);
    mark.track_ref = domain_track(nvtx, thread, true);
    read_payload(nvtx, &range);
    mark.payload = range.payload;
    mark.fields = range.fields;
    mark.field_count = range.field_count;
    ss_model_builder_event(nvtx->loading->builder, &mark);
}

/* A text of the table is copied: the next lookup replaces it. */
static void read_text(struct nvtx *nvtx, struct ss_strbuf *space)
{
    int64_t number;
    nvtx->text = ss_sqlite_text(&nvtx->rows, TEXT);
    if (nvtx->text.length == 0 && ss_sqlite_integer(&nvtx->rows, TEXT_NUMBER, &number)) {
        ss_strbuf_clear(space);
        ss_strbuf_append_view(space, ss_nsys_string(&nvtx->loading->names, number));
        nvtx->text = (struct ss_strview){space->data, space->length};
    }
}

static void read_event(struct nvtx *nvtx)
{
    struct ss_nsys_loading *loading = nvtx->loading;
    int64_t type = 0;
    nvtx->domain = 0;
    nvtx->fields.count = 0;
    ss_sqlite_integer(&nvtx->rows, TYPE, &type);
    ss_sqlite_integer(&nvtx->rows, DOMAIN, &nvtx->domain);
    if (!ss_sqlite_integer(&nvtx->rows, THREAD, &nvtx->global_tid)) {
        ss_nsys_skip(loading, "an NVTX event without a thread");
        return;
    }
    switch (type) {
    case DOMAIN_NAME:
        read_domain(nvtx);
        break;
    case CATEGORY_NAME:
        read_category(nvtx);
        break;
    case MARK:
    case TEXT_FILE_MARK:
        add_mark(nvtx, ss_nsys_thread(&loading->rows, nvtx->global_tid));
        break;
    case PUSH_POP:
    case TEXT_FILE_PUSH_POP:
        add_range(nvtx, ss_nsys_thread(&loading->rows, nvtx->global_tid), true);
        break;
    case START_END:
    case TEXT_FILE_START_END:
        add_range(nvtx, ss_nsys_thread(&loading->rows, nvtx->global_tid), false);
        break;
    default: /* names of threads, ends of domains */
        break;
    }
}

void ss_nsys_load_nvtx(struct ss_nsys_loading *loading)
{
    struct nvtx nvtx = {.loading = loading};
    struct ss_strbuf space;
    ss_strbuf_init(&space, 1 << 20);
    ss_nsys_payloads_init(&nvtx.payloads, loading);
    ss_sqlite_begin(&nvtx.rows, loading->file, "NVTX_EVENTS", columns,
                    sizeof columns / sizeof *columns);
    while (ss_nsys_next(loading, &nvtx.rows)) {
        read_text(&nvtx, &space);
        read_event(&nvtx);
    }
    ss_sqlite_end(&nvtx.rows);
    name_domains(&nvtx);
    ss_nsys_steps_put(&loading->steps, &loading->rows);
    ss_nsys_payloads_fini(&nvtx.payloads);
    ss_vec_fini(&nvtx.unnamed);
    ss_strbuf_fini(&space);
}
