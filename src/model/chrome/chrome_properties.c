/* SPDX-License-Identifier: Apache-2.0 */
/* What a file says besides its events: clock, devices, ranks; and the end of loading. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/chrome/chrome_events.h"
#include "model/chrome/chrome_steps.h"
#include "trace/rank_runs.h"

/* A time in ns later than 2001 is of the wall clock; a smaller one may count from anywhere. */
static const int64_t first_wall_ns = INT64_C(1000000000000000000);

enum { MOST_RANKS = 1 << 20, MOST_PROPERTY_BYTES = 1 << 20 };

bool ss_chrome_base_time(struct ss_chrome_loading *loading, struct ss_strview value)
{
    loading->has_base = ss_json_integer_in(value, &loading->base_ns) && loading->base_ns >= 0;
    if (loading->has_base) { /* an export counts from it, too */
        struct ss_trace_attribute base = {.key = ss_strview_of("baseTimeNanoseconds"),
                                          .is_integer = true,
                                          .integer = loading->base_ns};
        ss_model_builder_attribute(loading->rows.builder, &base);
    }
    return true;
}

static bool is_key(struct ss_json_text key, const char *name)
{
    return ss_strview_equal(key.raw, ss_strview_of(name));
}

/* The next object of a list, without its braces' meaning: false at the end. */
static bool next_object(struct ss_json_cursor *list, struct ss_json_cursor *object)
{
    struct ss_strview value;
    while (ss_json_peek(list) != SS_JSON_NOTHING && *list->at != ']') {
        if (ss_json_skip(list, &value) != SS_JSON_OK) {
            return false;
        }
        if (value.data[0] == '{') {
            *object = (struct ss_json_cursor){value.data + 1, value.data + value.length};
            return true;
        }
    }
    return false;
}

static struct ss_json_cursor cursor_in(struct ss_strview value)
{
    return (struct ss_json_cursor){value.data + (value.length > 0), value.data + value.length};
}

/* --- devices ---------------------------------------------------------------------------------- */

static void read_device(struct ss_chrome_loading *loading, struct ss_json_cursor object)
{
    struct ss_json_text key;
    struct ss_strview value, model = {"", 0};
    int64_t number = -1, bytes = 0;
    while (ss_json_next_member(&object, &key, &value)) {
        if (is_key(key, "id")) {
            number = ss_json_integer_in(value, &number) ? number : -1;
        } else if (is_key(key, "name")) {
            model = value;
        } else if (is_key(key, "totalGlobalMem")) {
            bytes = ss_json_integer_in(value, &bytes) ? bytes : 0;
        }
    }
    if (number < 0 || number > INT32_MAX) {
        return;
    }
    struct ss_chrome_rows *rows = &loading->rows;
    uint32_t index = ss_chrome_device(rows, number);
    struct ss_strview plain = ss_chrome_unescaped(rows, ss_json_string_in(model));
    struct ss_chrome_device *device = &rows->devices.data[index];
    ss_free(device->model);
    device->model = ss_strndup(plain.data != NULL ? plain.data : "", plain.length);
    device->memory_bytes = bytes > 0 ? (uint64_t)bytes : 0;
}

/* --- ranks ------------------------------------------------------------------------------------ */

static void put_group(struct ss_chrome_loading *loading, struct ss_trace_group *group,
                      struct ss_strview ranks)
{
    struct ss_json_cursor cursor = cursor_in(ranks);
    struct ss_strview token;
    struct ss_wire_buffer runs = {0};
    uint32_t *numbers = NULL;
    size_t count = 0, capacity = 0;
    int64_t rank;
    while (ss_json_peek(&cursor) == SS_JSON_NUMBER && count < MOST_RANKS &&
           ss_json_read_token(&cursor, &token) == SS_JSON_OK && ss_json_decimal(token, 0, &rank) &&
           rank >= 0 && rank <= INT32_MAX) {
        if (count == capacity) {
            capacity = capacity * 2 + 64;
            numbers = ss_realloc(numbers, capacity, sizeof *numbers);
        }
        numbers[count++] = (uint32_t)rank;
    }
    ss_rank_runs_put(&runs, numbers, count);
    group->ranks = runs.length > 0 ? (struct ss_strview){(const char *)runs.data, runs.length}
                                   : (struct ss_strview){"", 0};
    ss_chrome_define_group(&loading->rows, group);
    ss_wire_fini(&runs);
    ss_free(numbers);
}

static enum ss_group_kind kind_of_backend(struct ss_strview backend)
{
    return memmem(backend.data, backend.length, "nccl", 4) != NULL   ? SS_GROUP_NCCL
           : memmem(backend.data, backend.length, "gloo", 4) != NULL ? SS_GROUP_GLOO
           : memmem(backend.data, backend.length, "mpi", 3) != NULL  ? SS_GROUP_MPI
                                                                     : SS_GROUP_OTHER;
}

static void read_group(struct ss_chrome_loading *loading, struct ss_json_cursor object)
{
    struct ss_json_text key;
    struct ss_strview value, ranks = {"", 0};
    struct ss_trace_group group = {.name = {"", 0}};
    int64_t number;
    while (ss_json_next_member(&object, &key, &value)) {
        if (is_key(key, "pg_name")) {
            group.name = ss_json_string_in(value).raw;
        } else if (is_key(key, "backend_config")) {
            group.kind = kind_of_backend(value);
        } else if (is_key(key, "pg_size") && ss_json_integer_in(value, &number) && number > 0 &&
                   number <= INT32_MAX) {
            group.size = (uint32_t)number;
        } else if (is_key(key, "ranks") && value.data[0] == '[') {
            ranks = value;
        }
    }
    put_group(loading, &group, ranks);
}

static void read_distributed(struct ss_chrome_loading *loading, struct ss_json_cursor object)
{
    struct ss_json_text key;
    struct ss_strview value;
    int64_t number;
    while (ss_json_next_member(&object, &key, &value)) {
        if (is_key(key, "rank") && ss_json_integer_in(value, &number) && number >= 0 &&
            number <= INT32_MAX) {
            loading->rank = number;
        } else if (is_key(key, "world_size") && ss_json_integer_in(value, &number) && number > 0 &&
                   number <= INT32_MAX) {
            loading->world_size = number;
        } else if (is_key(key, "pg_config") && value.data[0] == '[') {
            struct ss_json_cursor list = cursor_in(value), group;
            while (next_object(&list, &group)) {
                read_group(loading, group);
            }
        }
    }
}

bool ss_chrome_property(struct ss_chrome_loading *loading, struct ss_strview key,
                        struct ss_strview value)
{
    loading->has_properties = true;
    if (value.length > MOST_PROPERTY_BYTES || value.length == 0) {
        return true;
    }
    if (ss_strview_equal(key, ss_strview_of("deviceProperties"))) {
        struct ss_json_cursor list = cursor_in(value), device;
        loading->is_kineto = true;
        while (next_object(&list, &device)) {
            read_device(loading, device);
        }
    } else if (ss_strview_equal(key, ss_strview_of("distributedInfo")) && value.data[0] == '{') {
        read_distributed(loading, cursor_in(value));
    }
    struct ss_trace_attribute attribute = {.key = key, .text = value};
    ss_model_builder_attribute(loading->rows.builder, &attribute);
    return true;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void set_clock(struct ss_chrome_loading *loading)
{
    struct ss_model_builder *builder = loading->rows.builder;
    bool is_wall = loading->events > 0 && loading->first_ns >= first_wall_ns;
    if (!loading->has_base && !is_wall) {
        return;
    }
    uint64_t base_ns = loading->has_base && !is_wall ? (uint64_t)loading->base_ns : 0;
    ss_model_builder_wall_clock(builder, base_ns);
    struct ss_trace_attribute start = {.key = ss_strview_of("start_realtime_ns"),
                                       .is_integer = true,
                                       .integer = loading->first_ns + (int64_t)base_ns};
    ss_model_builder_attribute(builder, &start);
}

static void set_tool(struct ss_chrome_loading *loading)
{
    struct ss_model_builder *builder = loading->rows.builder;
    const char *tool = loading->is_kineto       ? "the PyTorch profiler"
                       : loading->is_composer   ? "Composer"
                       : loading->rows.is_xprof ? "XProf (JAX, TensorFlow)"
                                                : "a tool that writes Chrome's trace format";
    struct ss_builder_skipped skipped = ss_import_window_skipped(&loading->window->bytes);
    ss_model_builder_import(builder, ss_strview_of(tool), &skipped);
}

enum ss_status ss_chrome_loading_end(struct ss_chrome_loading *loading,
                                     struct ss_model_load *request, struct ss_error *err)
{
    struct ss_model_builder *builder = loading->rows.builder;
    struct ss_trace_summary summary = {
        .file_bytes = ss_import_window_offset(&loading->window->bytes),
        .events = loading->events,
        .first_event_ns = loading->events > 0 ? (uint64_t)loading->first_ns : 0,
        .last_event_ns = loading->events > 0 ? (uint64_t)loading->last_ns : 0,
        .sealed = !loading->window->bytes.is_cut};
    set_clock(loading);
    ss_chrome_devices_end(&loading->devices, builder);
    ss_chrome_steps_end(&loading->rows);
    ss_chrome_rows_finish(&loading->rows, loading->rank, loading->world_size);
    set_tool(loading);
    ss_model_builder_summary(builder, &summary);
    if (request->has_steps) {
        SS_TRY(ss_model_builder_select_steps(builder, request, err));
    }
    ss_model_builder_end(builder);
    return SS_OK;
}
