/* SPDX-License-Identifier: Apache-2.0 */
/* Files of Chrome's trace format: an array of events, or an object that has one. Streamed: of the
 * file, one block is in memory. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "model/chrome/chrome_events.h"
#include "model/files/importer.h"
#include "model/files/json_window.h"

struct loader {
    struct ss_json_window window;
    struct ss_chrome_loading loading;
};

/* --- members of the object -------------------------------------------------------------------- */

/* The value behind a key that matters. */
static bool take_value(struct loader *loader, struct ss_strview *value)
{
    return ss_json_window_value(&loader->window, value) == SS_JSON_OK;
}

/* Values of other keys become attributes: exports write them again. */
static bool is_attribute(struct ss_strview key)
{
    static const char *const keys[] = {
        "deviceProperties",    "distributedInfo",   "record_shapes",
        "with_stack",          "with_flops",        "with_modules",
        "profile_memory",      "cupti_version",     "cuda_runtime_version",
        "cuda_driver_version", "roctracer_version", "hip_runtime_version",
        "hip_driver_version",  "trace_id",          "traceName",
        "schemaVersion"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (ss_strview_equal(key, ss_strview_of(keys[i]))) {
            return true;
        }
    }
    return false;
}

static void read_events(struct loader *loader)
{
    struct ss_chrome_event event;
    while (ss_json_window_event(&loader->window, &event)) {
        ss_chrome_event_add(&loader->loading, &event);
    }
}

/* False: the object ended, or nothing more of it is readable. */
static bool read_member(struct loader *loader)
{
    char name[64];
    struct ss_strview key, value;
    if (!ss_json_window_key(&loader->window, name, sizeof name)) {
        return false;
    }
    key = ss_strview_of(name);
    if (ss_strview_equal(key, ss_strview_of("traceEvents"))) {
        if (!ss_json_window_begin_array(&loader->window)) {
            return false;
        }
        read_events(loader);
        return !loader->window.is_over;
    }
    if (ss_strview_equal(key, ss_strview_of("baseTimeNanoseconds"))) {
        return take_value(loader, &value) && ss_chrome_base_time(&loader->loading, value);
    }
    if (ss_strview_equal(key, ss_strview_of("otherData"))) {
        bool is_read = take_value(loader, &value);
        const char *exporter = "\"exporter\":\"stepscope ";
        loader->loading.rows.is_ours =
            is_read && memmem(value.data, value.length, exporter, strlen(exporter)) != NULL;
        return is_read;
    }
    if (is_attribute(key)) {
        return take_value(loader, &value) && ss_chrome_property(&loader->loading, key, value);
    }
    return ss_json_window_skip(&loader->window);
}

/* Files that were written one after the other, or appended to, hold several documents. */
static void read_documents(struct loader *loader)
{
    struct ss_json_window *window = &loader->window;
    for (;;) {
        char first = window->is_over ? 0 : ss_json_window_first(window);
        if (first == '[') {
            ss_json_window_begin_array(window);
            read_events(loader);
        } else if (first == '{') {
            ss_json_window_begin_object(window);
            while (read_member(loader)) {
            }
        } else {
            if (first != 0) {
                ss_import_window_count_skipped(&window->bytes,
                                               ss_import_window_offset(&window->bytes),
                                               "not JSON, after the end of the trace");
            }
            return;
        }
    }
}

static enum ss_status read_file(struct loader *loader, const struct ss_import_file *file,
                                struct ss_error *err)
{
    const struct ss_import_window *bytes = &loader->window.bytes;
    read_documents(loader);
    SS_TRY(ss_import_window_refused(bytes, err));
    if (loader->loading.events > 0 || loader->loading.has_properties) {
        return SS_OK;
    }
    if (bytes->status != SS_OK) {
        return ss_fail(err, bytes->status, "%s", bytes->err.message);
    }
    if (bytes->skipped > 0) {
        return ss_fail(err, SS_E_FORMAT,
                       "%s has no event that can be read: %" PRIu64
                       " skipped, the first at byte %" PRIu64 ": %s",
                       file->path, bytes->skipped, bytes->first_skipped, bytes->skip_reason);
    }
    return ss_fail(err, SS_E_FORMAT, "%s is JSON without an event of a trace, up to byte %" PRIu64,
                   file->path, ss_import_window_offset(bytes));
}

/* --- the row ---------------------------------------------------------------------------------- */

static enum ss_status load_chrome(struct ss_model *model, const struct ss_import_file *file,
                                  const struct ss_model_load *load, struct ss_error *err)
{
    struct loader *loader = ss_alloc_zero(1, sizeof *loader);
    struct ss_model_load request = *load;
    uint64_t base_ns = 0;
    ss_json_window_init(&loader->window, file, load);
    ss_chrome_loading_init(&loader->loading, &loader->window,
                           ss_model_builder_new(model, SS_INPUT_IMPORT, file->path, &request,
                                                load->on_axis ? &base_ns : NULL));
    enum ss_status status = read_file(loader, file, err);
    if (status == SS_OK) {
        status = ss_chrome_loading_end(&loader->loading, &request, err);
    }
    if (status == SS_OK && !load->quiet) {
        ss_import_window_report(&loader->window.bytes);
    }
    ss_chrome_loading_fini(&loader->loading);
    ss_json_window_fini(&loader->window);
    ss_free(loader);
    return status;
}

static bool has_text(const char *head, size_t length, const char *text)
{
    return memmem(head, length, text, strlen(text)) != NULL;
}

static enum ss_import_match probe_chrome(const char *head, size_t length)
{
    struct ss_json_cursor cursor = {head, head + length};
    enum ss_json_kind kind = ss_json_peek(&cursor);
    if (kind == SS_JSON_ARRAY) {
        cursor.at++;
        bool is_list = ss_json_peek(&cursor) == SS_JSON_OBJECT;
        return is_list && has_text(head, length, "\"ph\"") ? SS_IMPORT_CERTAIN : SS_IMPORT_NO;
    }
    if (kind != SS_JSON_OBJECT) {
        return SS_IMPORT_NO;
    }
    return has_text(head, length, "\"traceEvents\"") ? SS_IMPORT_CERTAIN
           : has_text(head, length, "\"deviceProperties\"") ||
                   has_text(head, length, "\"schemaVersion\"")
               ? SS_IMPORT_LIKELY
               : SS_IMPORT_NO;
}

const struct ss_importer ss_importer_chrome = {
    .name = "chrome",
    .summary = "traces of PyTorch, Composer and other tools in Chrome's JSON format",
    .kind = SS_INPUT_IMPORT,
    .memory_per_byte = 24, /* while it is read: 30 bytes of an event that has 100, packed 15 to 40
                              times */
    .probe = probe_chrome,
    .load = load_chrome};
