/* SPDX-License-Identifier: Apache-2.0 */
/* Files *.xplane.pb: what the profilers of JAX, TensorFlow and PyTorch/XLA write. A message XSpace
 * has a plane for the host and one for each device, a plane has lines, a line has events, whose
 * names and values are by number in the plane. XProf turns it into Chrome's trace format; so does
 * this, and what reads that format does the rest. A plane's names follow its lines: a file is read
 * whole. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "model/chrome/chrome_events.h"
#include "model/files/importer.h"
#include "model/files/json_window.h"
#include "wire/proto.h"

enum { BLOCK_BYTES = 1 << 20, MOST_ARGUMENT_BYTES = 64, PS_PER_NS = 1000 };

/* Fields of the messages, by tsl/profiler/protobuf/xplane.proto. */
enum { SPACE_PLANE = 1 };
enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAME = 4, PLANE_STAT_NAME = 5, PLANE_STAT = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIME_NS = 3, LINE_EVENT = 4, LINE_SHOWN_NAME = 11 };
enum { EVENT_NAME = 1, EVENT_OFFSET_PS = 2, EVENT_DURATION_PS = 3, EVENT_STAT = 4 };
enum { STAT_NAME = 1, STAT_NATURAL = 3, STAT_INTEGER = 4 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { NAME_ID = 1, NAME_TEXT = 2, NAME_SHOWN = 4 };

struct name {
    uint64_t id;
    struct ss_strview text;
};

struct names ss_vec_of(struct name);

struct plane {
    struct ss_strview name;
    struct names events, stats; /* by id */
    uint64_t pid;               /* 0: unknown */
    struct ss_chrome_id id;     /* its process in Chrome's format */
};

struct loader {
    struct ss_json_window window; /* counts what is skipped */
    struct ss_chrome_loading loading;
    struct ss_wire_buffer bytes; /* of the file */
    uint64_t offset;             /* of the plane that is being read */
    uint32_t planes;
};

static void skip(struct loader *loader, const char *reason)
{
    ss_import_window_count_skipped(&loader->window.bytes, loader->offset, reason);
}

/* --- names ------------------------------------------------------------------------------------ */

static int compare_names(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* An entry of a map: the id, and a message with a name, which may have another one to show. */
static bool add_name(struct ss_wire_cursor entry, struct names *names)
{
    struct ss_wire_field field;
    struct name name = {0};
    struct ss_wire_cursor value = {0};
    enum ss_wire_next next;
    while ((next = ss_wire_next(&entry, &field)) == SS_WIRE_FIELD) {
        if (field.number == ENTRY_KEY && field.type == SS_WIRE_VARINT) {
            name.id = field.value;
        } else if (field.number == ENTRY_VALUE && field.type == SS_WIRE_BYTES) {
            value = field.body;
        }
    }
    while (next == SS_WIRE_END && (next = ss_wire_next(&value, &field)) == SS_WIRE_FIELD) {
        bool is_text = field.type == SS_WIRE_BYTES && field.body.end > field.body.at;
        if (is_text &&
            (field.number == NAME_SHOWN || (field.number == NAME_TEXT && name.text.length == 0))) {
            name.text = ss_wire_view(field.body);
        }
        next = SS_WIRE_END;
    }
    ss_vec_push(names, name);
    return next == SS_WIRE_END;
}

/* Empty: the plane does not have it. */
static struct ss_strview name_of(const struct names *names, uint64_t id)
{
    struct name key = {.id = id};
    const struct name *found = names->count > 0 ? bsearch(&key, names->data, names->count,
                                                          sizeof *names->data, compare_names)
                                                : NULL;
    return found != NULL ? found->text : (struct ss_strview){"", 0};
}

static void sort_names(struct names *names)
{
    if (names->count > 0) {
        qsort(names->data, names->count, sizeof *names->data, compare_names);
    }
}

/* --- values ----------------------------------------------------------------------------------- */

/* Whether the value is a number of this name. */
static bool read_number(const struct plane *plane, struct ss_wire_cursor stat, const char *name,
                        uint64_t *number)
{
    struct ss_wire_field field;
    bool is_it = false, has_number = false;
    while (ss_wire_next(&stat, &field) == SS_WIRE_FIELD) {
        if (field.type != SS_WIRE_VARINT) {
            continue;
        }
        if (field.number == STAT_NAME) {
            is_it = ss_strview_equal(name_of(&plane->stats, field.value), ss_strview_of(name));
        } else if (field.number == STAT_NATURAL || field.number == STAT_INTEGER) {
            *number = field.value;
            has_number = true;
        }
    }
    return is_it && has_number;
}

/* --- events ----------------------------------------------------------------------------------- */

struct line {
    uint64_t id, time_ns;
    struct ss_strview name;
    struct ss_chrome_id tid;
};

/* The event in Chrome's format. Long: one case for each field. */
static bool read_event(const struct plane *plane, const struct line *line,
                       struct ss_wire_cursor body, struct ss_strbuf *arguments,
                       struct ss_chrome_event *event)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    uint64_t number, offset_ps = 0, duration_ps = 0;
    *event = (struct ss_chrome_event){.phase = 'X', .pid = plane->id, .tid = line->tid};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == EVENT_STAT && field.type == SS_WIRE_BYTES) {
            if (read_number(plane, field.body, "step_num", &number)) {
                ss_strbuf_clear(arguments);
                ss_strbuf_append_format(arguments, "{\"step_num\":%" PRIu64 "}", number);
                event->arguments = (struct ss_strview){arguments->data, arguments->length};
            }
        } else if (field.type == SS_WIRE_VARINT) {
            switch (field.number) {
            case EVENT_NAME:
                event->name.raw = name_of(&plane->events, field.value);
                break;
            case EVENT_OFFSET_PS:
                event->has_time = true;
                offset_ps = field.value;
                break;
            case EVENT_DURATION_PS:
                duration_ps = field.value;
                break;
            default:
                break;
            }
        }
    }
    event->has_time = event->has_time || duration_ps > 0; /* an offset of 0 is not written */
    event->has_duration = true;
    event->is_unreadable = offset_ps > INT64_MAX || duration_ps > INT64_MAX;
    event->time_ns = (int64_t)(line->time_ns + offset_ps / PS_PER_NS);
    event->duration_ns = (int64_t)(duration_ps / PS_PER_NS);
    return next == SS_WIRE_END;
}

/* Of the line, all but its events, some of which may come before. */
static bool read_line_head(struct ss_wire_cursor body, struct line *line)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    bool is_shown = false;
    *line = (struct line){0};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        bool is_text = field.type == SS_WIRE_BYTES && field.body.end > field.body.at;
        if (field.type == SS_WIRE_VARINT && field.number == LINE_ID) {
            line->id = field.value;
        } else if (field.type == SS_WIRE_VARINT && field.number == LINE_TIME_NS) {
            line->time_ns = field.value;
        } else if (is_text &&
                   (field.number == LINE_SHOWN_NAME || (field.number == LINE_NAME && !is_shown))) {
            line->name = ss_wire_view(field.body);
            is_shown = field.number == LINE_SHOWN_NAME;
        }
    }
    line->tid = (struct ss_chrome_id){.is_number = true, .number = (int64_t)line->id};
    return next == SS_WIRE_END && line->time_ns <= INT64_MAX / 2;
}

static void name_thread(struct loader *loader, const struct plane *plane, const struct line *line)
{
    struct ss_chrome_rows *rows = &loader->loading.rows;
    uint32_t index = ss_chrome_thread(rows, &plane->id, &line->tid);
    struct ss_chrome_thread *thread = &rows->threads.data[index];
    if (thread->name == NULL && line->name.length > 0) {
        thread->name = ss_strndup(line->name.data, line->name.length);
    }
}

static void read_line(struct loader *loader, const struct plane *plane, struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    struct ss_chrome_event event;
    struct ss_strbuf arguments;
    struct line line;
    if (!read_line_head(body, &line)) {
        skip(loader, "a malformed line");
        return;
    }
    name_thread(loader, plane, &line);
    ss_strbuf_init(&arguments, MOST_ARGUMENT_BYTES);
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number != LINE_EVENT || field.type != SS_WIRE_BYTES) {
            continue;
        }
        if (!read_event(plane, &line, field.body, &arguments, &event)) {
            skip(loader, "a malformed event");
        } else if (event.has_time) { /* else a sum of several */
            ss_chrome_event_add(&loader->loading, &event);
        }
    }
    ss_strbuf_fini(&arguments);
}

/* --- planes ----------------------------------------------------------------------------------- */

static bool read_plane_head(struct ss_wire_cursor body, struct plane *plane)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    bool is_read = true;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.type != SS_WIRE_BYTES) {
            continue;
        }
        if (field.number == PLANE_NAME) {
            plane->name = ss_wire_view(field.body);
        } else if (field.number == PLANE_EVENT_NAME) {
            is_read = add_name(field.body, &plane->events) && is_read;
        } else if (field.number == PLANE_STAT_NAME) {
            is_read = add_name(field.body, &plane->stats) && is_read;
        }
    }
    sort_names(&plane->events);
    sort_names(&plane->stats);
    return is_read && next == SS_WIRE_END;
}

/* The values of a plane: the process of the host, and when the profile began. */
static void read_plane_values(struct loader *loader, struct ss_wire_cursor body,
                              struct plane *plane)
{
    struct ss_wire_field field;
    uint64_t number;
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number != PLANE_STAT || field.type != SS_WIRE_BYTES) {
            continue;
        }
        if (read_number(plane, field.body, "process_id", &number) && number <= INT32_MAX) {
            plane->pid = number;
        } else if (read_number(plane, field.body, "profile_start_time", &number) &&
                   number <= INT64_MAX) {
            loader->loading.base_ns = (int64_t)number;
            loader->loading.has_base = true;
        }
    }
}

/* Devices get numbers that no process has. */
static void name_process(struct loader *loader, struct plane *plane)
{
    struct ss_chrome_rows *rows = &loader->loading.rows;
    bool is_device = ss_chrome_names_device(plane->name);
    int64_t number =
        !is_device && plane->pid > 0 ? (int64_t)plane->pid : INT64_C(1) << 32 | loader->planes;
    plane->id = (struct ss_chrome_id){.is_number = true, .number = number};
    uint32_t index = ss_chrome_process(rows, &plane->id);
    struct ss_chrome_process *process = &rows->processes.data[index];
    if (process->name == NULL) {
        process->name = ss_strndup(plane->name.data, plane->name.length);
        process->is_named_device = is_device;
    }
}

static void read_plane(struct loader *loader, struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    struct plane plane = {.name = {"", 0}};
    loader->planes++;
    if (!read_plane_head(body, &plane)) {
        skip(loader, "a malformed plane");
    }
    read_plane_values(loader, body, &plane);
    bool is_named = false;
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number == PLANE_LINE && field.type == SS_WIRE_BYTES) {
            if (!is_named) { /* planes without lines only describe */
                name_process(loader, &plane);
                is_named = true;
            }
            read_line(loader, &plane, field.body);
        }
    }
    ss_vec_fini(&plane.events);
    ss_vec_fini(&plane.stats);
}

/* --- the file --------------------------------------------------------------------------------- */

static enum ss_status read_bytes(struct loader *loader, const struct ss_import_file *file,
                                 struct ss_error *err)
{
    size_t got = file->head_length;
    ss_wire_put_raw(&loader->bytes, file->head, got);
    do {
        ss_wire_reserve(&loader->bytes, BLOCK_BYTES);
        SS_TRY(ss_import_read(file, (char *)loader->bytes.data + loader->bytes.length, BLOCK_BYTES,
                              &got, err));
        loader->bytes.length += got;
    } while (got > 0);
    return SS_OK;
}

static enum ss_status read_planes(struct loader *loader, const struct ss_import_file *file,
                                  struct ss_error *err)
{
    struct ss_wire_cursor space = ss_wire_cursor_of(loader->bytes.data, loader->bytes.length);
    struct ss_wire_field field;
    enum ss_wire_next next;
    loader->loading.rows.is_xprof = true;
    while ((next = ss_wire_next(&space, &field)) == SS_WIRE_FIELD) {
        if (field.number == SPACE_PLANE && field.type == SS_WIRE_BYTES) {
            loader->offset = (uint64_t)(field.body.at - loader->bytes.data);
            read_plane(loader, field.body);
            SS_TRY(ss_input_budget_check(file->budget, err));
        }
    }
    struct ss_import_window *window = &loader->window.bytes;
    window->offset = loader->bytes.length;
    window->begin = window->end = 0;
    window->is_cut = next == SS_WIRE_MALFORMED;
    if (loader->loading.events > 0) {
        return SS_OK;
    }
    return ss_fail(err, SS_E_FORMAT,
                   "%s is an XSpace without an event that can be read: profile at least one step "
                   "(jax.profiler.trace, tf.profiler.experimental.start)",
                   file->path);
}

static enum ss_status load_xspace(struct ss_model *model, const struct ss_import_file *file,
                                  const struct ss_model_load *load, struct ss_error *err)
{
    struct loader *loader = ss_alloc_zero(1, sizeof *loader);
    struct ss_model_load request = *load;
    uint64_t base_ns = 0;
    ss_json_window_init(&loader->window, file, load);
    ss_chrome_loading_init(&loader->loading, &loader->window,
                           ss_model_builder_new(model, SS_INPUT_IMPORT, file->path, &request,
                                                load->on_axis ? &base_ns : NULL));
    enum ss_status status = read_bytes(loader, file, err);
    status = status == SS_OK ? read_planes(loader, file, err) : status;
    if (status == SS_OK) {
        status = ss_chrome_loading_end(&loader->loading, &request, err);
    }
    if (status == SS_OK && !load->quiet) {
        ss_import_window_report(&loader->window.bytes);
    }
    ss_chrome_loading_fini(&loader->loading);
    ss_json_window_fini(&loader->window);
    ss_wire_fini(&loader->bytes);
    ss_free(loader);
    return status;
}

/* --- the probe -------------------------------------------------------------------------------- */

/* Names of planes that XProf's collectors write. */
static bool is_plane_name(struct ss_strview name)
{
    static const char *const starts[] = {"/host:", "/device:", "Task Environment"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t length = strlen(starts[i]);
        if (name.length >= length && memcmp(name.data, starts[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* A plane begins with its id, if that is not 0, and its name. */
static enum ss_import_match probe_xspace(const char *head, size_t length)
{
    struct ss_wire_cursor bytes = ss_wire_cursor_of(head, length);
    uint64_t tag, size, number = 0;
    if (!ss_wire_get_varint(&bytes, &tag) || tag != (SPACE_PLANE << 3 | SS_WIRE_BYTES) ||
        !ss_wire_get_varint(&bytes, &size)) {
        return SS_IMPORT_NO;
    }
    bool has_tag = ss_wire_get_varint(&bytes, &tag);
    if (has_tag && tag == (1 << 3 | SS_WIRE_VARINT)) {
        has_tag = ss_wire_get_varint(&bytes, &number) && ss_wire_get_varint(&bytes, &tag);
    }
    if (!has_tag || tag != (PLANE_NAME << 3 | SS_WIRE_BYTES) ||
        !ss_wire_get_varint(&bytes, &size) || size > (uint64_t)(bytes.end - bytes.at)) {
        return SS_IMPORT_NO;
    }
    struct ss_strview name = {(const char *)bytes.at, (size_t)size};
    return is_plane_name(name) ? SS_IMPORT_CERTAIN : SS_IMPORT_NO;
}

const struct ss_importer ss_importer_xspace = {
    .name = "xspace",
    .summary = "profiles of JAX, TensorFlow and PyTorch/XLA (*.xplane.pb)",
    .kind = SS_INPUT_IMPORT,
    .memory_per_byte = 24, /* the file itself, and a range for an event of 10 to 30 bytes */
    .probe = probe_xspace,
    .load = load_xspace};
