/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are JSON in the model, and the members of the file around its events. */
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/version.h"
#include "view/export/kineto_inside.h"
#include "view/output/json_text.h"

enum checked { UNCHECKED, NO_LIST, LIST, FRAMES /* a list of strings */ };

enum { MOST_DEVICES = 64 };

void ss_kineto_values_init(struct ss_kineto_values *values, const struct ss_model *model)
{
    size_t count = model->strings.count + 1;
    *values = (struct ss_kineto_values){.model = model, .checked = ss_alloc_zero(count, 1)};
}

void ss_kineto_values_fini(struct ss_kineto_values *values)
{
    ss_free(values->checked);
}

/* --- lists ------------------------------------------------------------------------------------ */

static enum checked check(struct ss_strview text)
{
    json_t *list = json_loadb(text.data, text.length, 0, NULL);
    enum checked checked = json_is_array(list) ? FRAMES : NO_LIST;
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        checked = json_is_string(item) ? checked : LIST;
    }
    json_decref(list);
    return checked;
}

static enum checked checked_of(struct ss_kineto_values *values, uint32_t string)
{
    if (values->checked[string] == UNCHECKED) {
        values->checked[string] = (uint8_t)check(ss_intern_get(&values->model->strings, string));
    }
    return (enum checked)values->checked[string];
}

void ss_kineto_write_list(struct ss_kineto_values *values, struct ss_sink *sink, uint32_t string)
{
    struct ss_strview text = ss_intern_get(&values->model->strings, string);
    if (checked_of(values, string) == NO_LIST) {
        ss_json_write_plain(sink, text);
    } else {
        ss_sink_view(sink, text);
    }
}

/* Of a list that a recording cut: what is there, as a text. */
static void write_cut_frames(struct ss_sink *sink, struct ss_strview list)
{
    static const char between[] = "\",\"";
    struct ss_strbuf text;
    ss_strbuf_init(&text, list.length);
    bool is_list = list.length > 2 && memcmp(list.data, "[\"", 2) == 0;
    const char *at = list.data + (is_list ? 2 : 0), *end = list.data + list.length;
    for (const char *next;
         is_list && (next = memmem(at, (size_t)(end - at), between, 3)) != NULL;) {
        ss_strbuf_append(&text, at, (size_t)(next - at));
        ss_strbuf_append_char(&text, ';');
        at = next + 3;
    }
    ss_strbuf_append(&text, at, (size_t)(end - at));
    ss_json_write_plain(sink, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}

/* The strings of the list keep their escapes. */
void ss_kineto_write_frames(struct ss_kineto_values *values, struct ss_sink *sink, uint32_t string)
{
    struct ss_strview text = ss_intern_get(&values->model->strings, string);
    if (checked_of(values, string) != FRAMES) {
        write_cut_frames(sink, text);
        return;
    }
    const char *at = text.data, *end = at + text.length;
    bool has_any = false;
    ss_sink_text(sink, "\"");
    while ((at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        const char *begin = ++at;
        while (*at != '"') {
            at += *at == '\\' ? 2 : 1;
        }
        ss_sink_text(sink, has_any ? ";" : "");
        ss_sink_write(sink, begin, (size_t)(at - begin));
        has_any = true;
        at++;
    }
    ss_sink_text(sink, "\"");
}

/* --- members of the file ---------------------------------------------------------------------- */

/* The input that the selection is about: that of its first process with a rank, or with any. */
static const struct ss_model_process *subject_of(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    const struct ss_model_process *first = NULL;
    for (uint32_t i = 1; i < model->processes.count; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        if (selection->processes[i] && process->has_rank) {
            return process;
        }
        first = first == NULL && selection->processes[i] ? process : first;
    }
    return first;
}

/* The text of an attribute that an import kept, read as JSON; NULL: there is none, or it is not
 * JSON. */
static json_t *attribute_of(const struct ss_selection *selection, const char *key,
                            struct ss_strview *text)
{
    const struct ss_model *model = selection->model;
    const struct ss_model_process *subject = subject_of(selection);
    for (size_t i = 0; i < model->attributes.count && subject != NULL; i++) {
        const struct ss_model_attribute *attribute = &model->attributes.data[i];
        if (attribute->input == subject->input && !attribute->is_integer &&
            strcmp(ss_model_text(model, attribute->key), key) == 0) {
            *text = ss_intern_get(&model->strings, attribute->text);
            return json_loadb(text->data, text->length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
                              NULL);
        }
    }
    return NULL;
}

static int write_bytes(const char *bytes, size_t length, void *sink)
{
    ss_sink_write(sink, bytes, length);
    return 0;
}

/* As written; false: there is none. */
static bool write_attribute(const struct ss_selection *selection, struct ss_sink *sink,
                            const char *key)
{
    struct ss_strview text;
    json_t *value = attribute_of(selection, key, &text);
    bool is_there = value != NULL;
    if (is_there) {
        ss_sink_format(sink, "\"%s\": ", key);
        ss_sink_view(sink, text);
        ss_sink_text(sink, ",\n");
    }
    json_decref(value);
    return is_there;
}

/* Takes the value. jansson puts a space behind colons, by which HolisticTraceAnalysis finds the
 * rank. */
static void write_value(struct ss_sink *sink, const char *key, json_t *value)
{
    ss_sink_format(sink, "\"%s\": ", key);
    json_dump_callback(value, write_bytes, sink, JSON_ENCODE_ANY);
    ss_sink_text(sink, ",\n");
    json_decref(value);
}

/* First in the file: HolisticTraceAnalysis takes the first rank that it finds in a text. */
static void write_ranks(const struct ss_selection *selection, struct ss_sink *sink)
{
    struct ss_strview text;
    const struct ss_model_process *subject = subject_of(selection);
    json_t *info = attribute_of(selection, "distributedInfo", &text);
    bool has_rank = subject != NULL && subject->has_rank;
    if (!json_is_object(info)) {
        json_decref(info);
        info = has_rank ? json_object() : NULL;
    }
    if (has_rank && !json_is_integer(json_object_get(info, "rank"))) {
        json_object_set_new(info, "rank", json_integer(subject->rank));
    }
    if (has_rank && subject->world_size > 0 &&
        !json_is_integer(json_object_get(info, "world_size"))) {
        json_object_set_new(info, "world_size", json_integer(subject->world_size));
    }
    if (info != NULL) {
        write_value(sink, "distributedInfo", info);
    }
}

/* The devices that the program uses, by number: readers take the place in the list for it. */
static json_t *devices_of(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    const struct ss_model_device *known[MOST_DEVICES] = {NULL};
    json_t *list = json_array();
    int32_t count = 0;
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        const struct ss_model_device *device = &model->devices.data[track->device];
        if (track->device != 0 && selection->processes[track->process] && device->number >= 0 &&
            device->number < MOST_DEVICES) {
            known[device->number] = device;
            count = device->number + 1 > count ? device->number + 1 : count;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "id", json_integer(i));
        if (known[i] != NULL) {
            json_object_set_new(row, "name", json_string(ss_model_text(model, known[i]->model)));
            json_object_set_new(row, "totalGlobalMem",
                                json_integer((json_int_t)known[i]->memory_bytes));
        }
        json_array_append_new(list, row);
    }
    return list;
}

void ss_kineto_write_head(const struct ss_selection *selection, struct ss_sink *sink, bool has_base,
                          uint64_t base_ns)
{
    static const char *const kept[] = {
        "record_shapes",     "with_stack",          "with_flops",           "with_modules",
        "profile_memory",    "cupti_version",       "cuda_runtime_version", "cuda_driver_version",
        "roctracer_version", "hip_runtime_version", "hip_driver_version",   "trace_id",
        "traceName"};
    ss_sink_text(sink, "{\n");
    write_ranks(selection, sink);
    if (!write_attribute(selection, sink, "schemaVersion")) {
        ss_sink_text(sink, "\"schemaVersion\": 1,\n");
    }
    if (!write_attribute(selection, sink, "deviceProperties")) {
        write_value(sink, "deviceProperties", devices_of(selection));
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        write_attribute(selection, sink, kept[i]);
    }
    ss_sink_text(sink, "\"exporter\": \"stepscope " SS_VERSION "\",\n"
                       "\"displayTimeUnit\": \"ms\",\n");
    if (has_base) {
        ss_sink_text(sink, "\"baseTimeNanoseconds\": ");
        ss_json_write_natural(sink, base_ns);
        ss_sink_text(sink, ",\n");
    }
}
