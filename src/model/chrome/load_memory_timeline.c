/* SPDX-License-Identifier: Apache-2.0 */
/* Memory timelines of torch.profiler's export_memory_timeline, of which there are two: events
 * [[ns, action, bytes, category], …] (.raw.json.gz), and [[µs, …], [[bytes of each category], …]].
 * Both have the category that PyTorch found, and no addresses. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model/builder/builder.h"
#include "model/core/domains.h"
#include "model/files/importer.h"
#include "model/files/json_window.h"
#include "trace/event_fields.h"

enum { CATEGORIES = 8, EVENT_NUMBERS = 4, ROW_NUMBERS = 1 + CATEGORIES };
enum action { PREEXISTING = 1, CREATE, INCREMENT_VERSION, DESTROY };
static const int64_t first_wall_ns =
    INT64_C(1000000000000000000); /* 2001: an earlier one is none */

/* In PyTorch's order; the words are those of analysis/memory/allocations.h. */
static const char *const categories[CATEGORIES] = {"parameters",  "optimizer state", "input",
                                                   "temporaries", "activations",     "gradients",
                                                   "autograd",    "unknown"};

struct loader {
    struct ss_json_window window;
    struct ss_model_builder *builder;
    uint32_t device, track;
    uint32_t names[CATEGORIES], names_before[CATEGORIES]; /* 0: not used yet */
    int64_t before[CATEGORIES];                           /* bytes that the history begins with */
    int64_t first_ns, last_ns;
    uint64_t events;
};

/* --- rows ------------------------------------------------------------------------------------- */

static void add_rows(struct loader *loader)
{
    struct ss_model_builder *builder = loader->builder;
    struct ss_trace_device device = {.kind = SS_DEVICE_GPU}; /* the file does not say which */
    struct ss_trace_process process = {.pid = -1, .parent_pid = -1};
    uint32_t owner = ss_model_builder_process(builder, 0, &process);
    struct ss_trace_thread thread = {.process_ref = owner, .tid = -1, .is_main = true};
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES,
                                   .process_ref = owner,
                                   .thread_ref = ss_model_builder_thread(builder, 0, &thread),
                                   .name = ss_strview_of(SS_DOMAIN_MEMORY)};
    loader->device = ss_model_builder_device(builder, 0, &device);
    loader->track = ss_model_builder_track(builder, 0, &track);
}

static uint32_t name_row(struct loader *loader, size_t category, bool is_before)
{
    uint32_t *known = is_before ? &loader->names_before[category] : &loader->names[category];
    if (*known == 0) {
        struct ss_trace_name name = {
            .text = ss_strview_of(is_before ? SS_MARK_ALLOCATED_BEFORE : "[memory]"),
            .category = ss_strview_of(categories[category]),
            .type = is_before ? SS_EVENT_TYPE_instant : SS_EVENT_TYPE_allocation};
        *known = ss_model_builder_name(loader->builder, &name);
    }
    return *known;
}

static void add_mark(struct loader *loader, int64_t time_ns, size_t category, int64_t bytes,
                     bool is_before)
{
    struct ss_event_value device = {SS_EVENT_FIELD_device,
                                    {SS_VALUE_UINT, {.natural = loader->device}}};
    struct ss_trace_event mark = {.time_ns = (uint64_t)time_ns,
                                  .track_ref = loader->track,
                                  .name_ref = name_row(loader, category, is_before),
                                  .kind = SS_EVENT_INSTANT,
                                  .payload = {SS_VALUE_INT, {.integer = bytes}},
                                  .fields = &device,
                                  .field_count = 1};
    loader->first_ns =
        loader->events == 0 || time_ns < loader->first_ns ? time_ns : loader->first_ns;
    loader->last_ns = loader->events == 0 || time_ns > loader->last_ns ? time_ns : loader->last_ns;
    loader->events++;
    ss_model_builder_event(loader->builder, &mark);
}

static void add_before(struct loader *loader)
{
    int64_t time_ns = loader->events > 0 ? loader->first_ns : 1;
    for (size_t i = 0; i < CATEGORIES; i++) {
        if (loader->before[i] > 0) {
            add_mark(loader, time_ns, i, loader->before[i], true);
        }
    }
}

/* --- lists of numbers ------------------------------------------------------------------------- */

/* A list of whole numbers: how many there are, of which at most `most` are stored; -1: it is
 * none. */
static int numbers_in(struct ss_strview list, int64_t *numbers, int most)
{
    struct ss_json_cursor cursor = {list.data, list.data + list.length};
    struct ss_strview token;
    int count = 0;
    if (ss_json_peek(&cursor) != SS_JSON_ARRAY) {
        return -1;
    }
    cursor.at++;
    for (; ss_json_peek(&cursor) == SS_JSON_NUMBER; count++) {
        int64_t number;
        if (ss_json_read_token(&cursor, &token) != SS_JSON_OK ||
            !ss_json_decimal(token, 0, &number) || number == INT64_MIN || count == INT32_MAX) {
            return -1;
        }
        if (count < most) {
            numbers[count] = number;
        }
    }
    return ss_json_peek(&cursor) == SS_JSON_CLOSE ? count : -1;
}

/* The next value of the array; false: it ended. */
static bool next_value(struct loader *loader, struct ss_strview *value)
{
    char first = ss_json_window_first(&loader->window);
    if (first == ']') {
        loader->window.bytes.begin++;
        return false;
    }
    return first != 0 && ss_json_window_value(&loader->window, value) == SS_JSON_OK;
}

static void skip(struct loader *loader, const char *reason)
{
    struct ss_import_window *bytes = &loader->window.bytes;
    ss_import_window_count_skipped(bytes, ss_import_window_offset(bytes), reason);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_event(const int64_t *numbers, int count)
{
    return count == EVENT_NUMBERS && numbers[1] >= PREEXISTING && numbers[1] <= DESTROY &&
           numbers[3] >= 0 && numbers[3] < CATEGORIES;
}

static void add_event(struct loader *loader, const int64_t *numbers)
{
    size_t category = (size_t)numbers[3];
    if (numbers[1] == PREEXISTING) {
        __builtin_add_overflow(loader->before[category], numbers[2], &loader->before[category]);
    } else if (numbers[0] >= 0) {
        add_mark(loader, numbers[0], category, numbers[2], false);
    } else {
        skip(loader, "an event without a time");
    }
}

static void read_events(struct loader *loader)
{
    struct ss_strview value;
    int64_t numbers[EVENT_NUMBERS];
    while (next_value(loader, &value)) {
        if (is_event(numbers, numbers_in(value, numbers, EVENT_NUMBERS))) {
            add_event(loader, numbers);
        } else {
            skip(loader, "no event of a memory timeline");
        }
    }
    add_before(loader);
}

/* --- sizes over time -------------------------------------------------------------------------- */

/* What is less comes first: at no moment is there more than the rows say. */
static void add_changes(struct loader *loader, int64_t time_ns, const int64_t *row, int64_t *sizes)
{
    for (int is_more = 0; is_more < 2; is_more++) {
        for (size_t i = 0; i < CATEGORIES; i++) {
            int64_t change = row[1 + i] - sizes[i];
            if (change != 0 && (change > 0) == is_more) {
                add_mark(loader, time_ns, i, change, false);
                sizes[i] = row[1 + i];
            }
        }
    }
}

static bool is_row(const int64_t *row, int count)
{
    bool is_sound = count == ROW_NUMBERS;
    for (int i = 0; i < ROW_NUMBERS && is_sound; i++) {
        is_sound = row[i] >= 0;
    }
    return is_sound;
}

struct times ss_vec_of(int64_t);

static void read_times(struct loader *loader, struct times *times)
{
    struct ss_strview value;
    int64_t us;
    while (next_value(loader, &value)) {
        bool is_time = ss_json_decimal(value, 0, &us) && us >= 0 && us <= INT64_MAX / 1000;
        ss_vec_push(times, is_time ? us * 1000 : -1);
    }
}

static void read_sizes(struct loader *loader)
{
    struct times times = {0};
    struct ss_strview value;
    int64_t row[ROW_NUMBERS], sizes[CATEGORIES] = {0};
    ss_json_window_begin_array(&loader->window);
    read_times(loader, &times);
    if (ss_json_window_begin_array(&loader->window)) {
        for (size_t i = 0; i < times.count && next_value(loader, &value); i++) {
            if (times.data[i] < 0 || !is_row(row, numbers_in(value, row, ROW_NUMBERS))) {
                skip(loader, "no row of a memory timeline");
                continue;
            }
            if (loader->events == 0) { /* the history begins with it */
                for (size_t c = 0; c < CATEGORIES; c++) {
                    sizes[c] = row[1 + c];
                    add_mark(loader, times.data[i], c, row[1 + c], true);
                }
            }
            add_changes(loader, times.data[i], row, sizes);
        }
    }
    ss_vec_fini(&times);
}

/* --- the row ---------------------------------------------------------------------------------- */

/* Of the first inner list. */
static bool has_events(const struct ss_import_file *file)
{
    const char *list = memchr(file->head, '[', file->head_length), *end;
    int64_t numbers[EVENT_NUMBERS];
    const char *stop = file->head + file->head_length;
    list = list != NULL ? memchr(list + 1, '[', (size_t)(stop - list - 1)) : NULL;
    end = list != NULL ? memchr(list, ']', (size_t)(stop - list)) : NULL;
    return end != NULL &&
           is_event(numbers, numbers_in((struct ss_strview){list, (size_t)(end + 1 - list)},
                                        numbers, EVENT_NUMBERS));
}

static void end_rows(struct loader *loader)
{
    struct ss_model_builder *builder = loader->builder;
    struct ss_import_window *bytes = &loader->window.bytes;
    struct ss_builder_skipped skipped = ss_import_window_skipped(bytes);
    struct ss_trace_summary summary = {.file_bytes = ss_import_window_offset(bytes),
                                       .events = loader->events,
                                       .first_event_ns = (uint64_t)loader->first_ns,
                                       .last_event_ns = (uint64_t)loader->last_ns,
                                       .sealed = !bytes->is_cut};
    if (loader->first_ns >= first_wall_ns) {
        ss_model_builder_wall_clock(builder, 0);
    }
    ss_model_builder_import(builder, ss_strview_of("the PyTorch profiler's memory timeline"),
                            &skipped);
    ss_model_builder_summary(builder, &summary);
    ss_model_builder_end(builder);
}

static enum ss_status load_timeline(struct ss_model *model, const struct ss_import_file *file,
                                    const struct ss_model_load *load, struct ss_error *err)
{
    struct loader *loader = ss_alloc_zero(1, sizeof *loader);
    enum ss_status status = SS_OK;
    uint64_t base_ns = 0;
    ss_json_window_init(&loader->window, file, load);
    loader->builder = ss_model_builder_new(model, SS_INPUT_IMPORT, file->path, load,
                                           load->on_axis ? &base_ns : NULL);
    add_rows(loader);
    ss_json_window_begin_array(&loader->window);
    if (has_events(file)) {
        read_events(loader);
    } else {
        read_sizes(loader);
    }
    if (loader->window.bytes.status != SS_OK) {
        status = ss_fail(err, loader->window.bytes.status, "%s", loader->window.bytes.err.message);
    } else if (loader->events == 0) {
        status = ss_fail(err, SS_E_FORMAT, "%s is a JSON list, but no memory timeline of PyTorch",
                         file->path);
    } else {
        end_rows(loader);
        if (!load->quiet) {
            ss_import_window_report(&loader->window.bytes);
        }
    }
    ss_model_builder_free(loader->builder);
    ss_json_window_fini(&loader->window);
    ss_free(loader);
    return status;
}

/* A list of lists of numbers. */
static enum ss_import_match probe_timeline(const char *head, size_t length)
{
    struct ss_json_cursor cursor = {head, head + length};
    for (int depth = 0; depth < 2; depth++) {
        if (ss_json_peek(&cursor) != SS_JSON_ARRAY) {
            return SS_IMPORT_NO;
        }
        cursor.at++;
    }
    return ss_json_peek(&cursor) == SS_JSON_NUMBER ? SS_IMPORT_LIKELY : SS_IMPORT_NO;
}

const struct ss_importer ss_importer_memory_timeline = {
    .name = "memory-timeline",
    .summary = "memory timelines of torch.profiler (export_memory_timeline, .json or .raw.json.gz)",
    .kind = SS_INPUT_IMPORT,
    .probe = probe_timeline,
    .load = load_timeline};
