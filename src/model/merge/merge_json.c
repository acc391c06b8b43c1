/* SPDX-License-Identifier: Apache-2.0 */
#include "model/merge/merge_json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/files/archive.h"
#include "model/files/importer.h"
#include "model/merge/merge_event.h"
#include "trace/merge.h"
#include "wire/json_scan.h"

enum {
    BLOCK_BYTES = 1 << 18,
    MOST_EVENT_BYTES = 16 << 20,   /* the longest value in memory */
    MOST_METADATA_BYTES = 1 << 20, /* of all members of a file but its events */
    MOST_KEY_BYTES = 256
};

/* --- the part of a file that is in memory ------------------------------------------------------
 */

struct window {
    const char *path;
    int fd;
    struct ss_archive *archive;
    char *data;
    size_t at, end, capacity;
    uint64_t offset; /* of data[0] */
    bool is_over;
};

static enum ss_status open_window(const char *path, struct window *window, struct ss_error *err)
{
    const char *name = NULL;
    *window = (struct window){.path = path, .fd = -1, .capacity = BLOCK_BYTES};
    window->data = ss_alloc(window->capacity);
    if (ss_import_is_archive(path)) {
        SS_TRY(ss_archive_open(path, &window->archive, err));
        return ss_archive_next(window->archive, &name, err);
    }
    window->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (window->fd < 0) {
        return ss_fail_errno(err, errno, "cannot open %s", path);
    }
    posix_fadvise(window->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return SS_OK;
}

static void close_window(struct window *window)
{
    if (window->fd >= 0) {
        close(window->fd);
    }
    if (window->archive != NULL) {
        ss_archive_close(window->archive);
    }
    ss_free(window->data);
}

/* Reads a block more; `is_over` at the end of the file. */
static enum ss_status refill(struct window *window, struct ss_error *err)
{
    const struct ss_import_file file = {
        .path = window->path, .fd = window->fd, .archive = window->archive};
    size_t got = 0;
    window->end -= window->at;
    memmove(window->data, window->data + window->at, window->end);
    window->offset += window->at;
    window->at = 0;
    if (window->capacity - window->end < BLOCK_BYTES / 2) {
        if (window->capacity >= MOST_EVENT_BYTES) {
            return ss_fail(err, SS_E_LIMIT,
                           "%s: the value at byte %" PRIu64 " has more than %d MiB", window->path,
                           window->offset, MOST_EVENT_BYTES >> 20);
        }
        window->capacity *= 2;
        window->data = ss_realloc(window->data, window->capacity, 1);
    }
    SS_TRY(ss_import_read(&file, window->data + window->end, window->capacity - window->end, &got,
                          err));
    window->end += got;
    window->is_over = got == 0;
    return SS_OK;
}

static enum ss_status fail_at(const struct window *window, struct ss_error *err)
{
    return ss_fail(err, SS_E_FORMAT, "%s is not trace-event JSON: byte %" PRIu64, window->path,
                   window->offset + window->at);
}

/* Skips white space and commas; '\0': the file ends. */
static enum ss_status peek(struct window *window, char *first, struct ss_error *err)
{
    for (;;) {
        while (window->at < window->end && strchr(" \t\r\n,", window->data[window->at]) != NULL &&
               window->data[window->at] != '\0') {
            window->at++;
        }
        *first = window->at < window->end ? window->data[window->at] : '\0';
        if (window->at < window->end || window->is_over) {
            return SS_OK;
        }
        SS_TRY(refill(window, err));
    }
}

/* The value at which the window is, whole; empty: the file ends within it. */
static enum ss_status read_value(struct window *window, struct ss_strview *value,
                                 struct ss_error *err)
{
    for (;;) {
        struct ss_json_cursor cursor = {window->data + window->at, window->data + window->end};
        enum ss_json_result result = ss_json_skip(&cursor, value);
        if (result == SS_JSON_OK) {
            window->at += (size_t)(cursor.at - (window->data + window->at));
            return SS_OK;
        }
        if (result == SS_JSON_BAD) {
            return fail_at(window, err);
        }
        if (window->is_over) {
            *value = (struct ss_strview){"", 0};
            return SS_OK;
        }
        SS_TRY(refill(window, err));
    }
}

/* --- what a file says of itself -----------------------------------------------------------------
 */

struct source {
    const char *path;
    uint64_t identity;
    struct ss_vec_of(uint64_t) merged; /* identities of the files that it was merged from */
    int64_t base_ns, rank;
    bool has_base, is_merged, is_repeated;
    struct ss_strbuf metadata; /* "key":value,… of the members beside the events */
};

static int64_t rank_in(struct ss_strview object)
{
    struct ss_json_cursor cursor = {object.data + 1, object.data + object.length};
    struct ss_json_text key;
    struct ss_strview value;
    int64_t rank = -1;
    while (object.length > 0 && object.data[0] == '{' &&
           ss_json_next_member(&cursor, &key, &value)) {
        if (ss_json_is_key(key, "rank") && !ss_json_integer_in(value, &rank)) {
            rank = -1;
        }
    }
    return rank;
}

static void read_merged(struct source *source, struct ss_strview list)
{
    struct ss_json_cursor cursor = {list.data + 1, list.data + list.length};
    struct ss_json_text text;
    source->is_merged = true;
    ss_strbuf_clear(&source->metadata); /* of the merged file itself */
    while (list.length > 0 && list.data[0] == '[' && ss_json_peek(&cursor) == SS_JSON_STRING &&
           ss_json_read_string(&cursor, &text) == SS_JSON_OK &&
           source->merged.count < SS_MERGE_MOST_PARTS) {
        char digits[17] = "";
        memcpy(digits, text.raw.data, text.raw.length < 16 ? text.raw.length : 16);
        ss_vec_push(&source->merged, strtoull(digits, NULL, 16));
    }
}

static void read_member(struct source *source, const char *key, struct ss_strview value)
{
    int64_t base_ns;
    if (strcmp(key, "baseTimeNanoseconds") == 0 && ss_json_integer_in(value, &base_ns)) {
        source->base_ns = base_ns;
        source->has_base = true;
        return;
    }
    if (strcmp(key, "mergedFiles") == 0) {
        read_merged(source, value);
        return;
    }
    if (strcmp(key, "distributedInfo") == 0) {
        source->rank = rank_in(value);
    }
    if (source->metadata.length + value.length >= MOST_METADATA_BYTES) {
        return;
    }
    if (source->is_merged) { /* only the members of its list are of files */
        if (strcmp(key, "filesMetadata") == 0 && value.data[0] == '[') {
            ss_strbuf_clear(&source->metadata);
            ss_strbuf_append(&source->metadata, value.data + 1, value.length - 2);
        }
        return;
    }
    ss_strbuf_append_format(&source->metadata, "%s\"%s\":", source->metadata.length > 0 ? "," : "",
                            key);
    ss_strbuf_append(&source->metadata, value.data, value.length);
}

/* Reads members up to the events, of which the window is then at the bracket; false: there are no
 * more. */
static enum ss_status read_members(struct window *window, struct source *source, bool *has_events,
                                   struct ss_error *err)
{
    *has_events = false;
    for (;;) {
        char first;
        struct ss_strview text, value;
        SS_TRY(peek(window, &first, err));
        if (first != '"') {
            return first == '}' || first == '\0' ? SS_OK : fail_at(window, err);
        }
        SS_TRY(read_value(window, &text, err));
        if (text.length == 0) {
            return SS_OK; /* the file is cut */
        }
        char key[MOST_KEY_BYTES] = "";
        size_t length = text.length > 2 ? text.length - 2 : 0;
        memcpy(key, text.data + 1, length < sizeof key ? length : sizeof key - 1);
        SS_TRY(peek(window, &first, err));
        if (first != ':') {
            return first == '\0' ? SS_OK : fail_at(window, err);
        }
        window->at++;
        SS_TRY(peek(window, &first, err));
        if (strcmp(key, "traceEvents") == 0 && first == '[') {
            window->at++;
            *has_events = true;
            return SS_OK;
        }
        SS_TRY(read_value(window, &value, err));
        if (value.length == 0) {
            return SS_OK;
        }
        if (source != NULL && length < sizeof key) {
            read_member(source, key, value);
        }
    }
}

/* Skips to the events of a file; in an array they begin at once. */
static enum ss_status begin(struct window *window, struct source *source, bool *has_events,
                            struct ss_error *err)
{
    char first;
    SS_TRY(peek(window, &first, err));
    window->at += first == '[' || first == '{';
    *has_events = first == '[';
    if (first == '[') {
        return SS_OK;
    }
    return first == '{' ? read_members(window, source, has_events, err) : fail_at(window, err);
}

static enum ss_status read_head(struct source *source, const char *path, struct ss_error *err)
{
    struct window window;
    bool has_events;
    *source = (struct source){.path = path, .rank = -1, .identity = ss_merge_identity(path)};
    ss_strbuf_init(&source->metadata, MOST_METADATA_BYTES + MOST_KEY_BYTES);
    enum ss_status status = open_window(path, &window, err);
    status = status == SS_OK ? begin(&window, source, &has_events, err) : status;
    close_window(&window);
    return status;
}

/* --- merging -----------------------------------------------------------------------------------
 */

struct merging {
    struct ss_merge_events events;
    struct ss_vec_of(struct source) sources;
    struct ss_vec_of(uint64_t) identities;
    int64_t base_ns;
    bool has_base;
    struct ss_merge_json_result *result;
};

static bool has_identity(const struct merging *merging, uint64_t identity)
{
    for (size_t i = 0; i < merging->identities.count; i++) {
        if (merging->identities.data[i] == identity) {
            return true;
        }
    }
    return false;
}

static bool is_in_merged(const struct merging *merging, uint64_t identity)
{
    for (size_t i = 0; i < merging->sources.count; i++) {
        const struct source *source = &merging->sources.data[i];
        for (size_t k = 0; k < source->merged.count; k++) {
            if (source->merged.data[k] == identity) {
                return true;
            }
        }
    }
    return false;
}

static enum ss_status find_repeated(struct merging *merging, struct ss_error *err)
{
    for (size_t i = 0; i < merging->sources.count; i++) {
        struct source *source = &merging->sources.data[i];
        size_t count = source->merged.count, known = 0;
        for (size_t k = 0; k < count; k++) {
            known += has_identity(merging, source->merged.data[k]);
        }
        source->is_repeated = count > 0 ? known == count
                                        : has_identity(merging, source->identity) ||
                                              is_in_merged(merging, source->identity);
        if (source->is_repeated) {
            merging->result->repeated++;
            continue;
        }
        if (known > 0) {
            return ss_fail(err, SS_E_USAGE,
                           "%s has %zu of its %zu files in common with an earlier input; merge the "
                           "files that they were made from",
                           source->path, known, count);
        }
        for (size_t k = 0; k < count; k++) {
            ss_vec_push(&merging->identities, source->merged.data[k]);
        }
        if (count == 0) {
            ss_vec_push(&merging->identities, source->identity);
        }
        merging->result->files++;
        merging->result->without_base += !source->has_base;
        if (source->has_base && (!merging->has_base || source->base_ns < merging->base_ns)) {
            merging->base_ns = source->base_ns;
            merging->has_base = true;
        }
    }
    return SS_OK;
}

/* Events up to the bracket that ends them; a file that is cut ends there, too. */
static enum ss_status copy_events(struct merging *merging, struct window *window, bool *is_cut,
                                  struct ss_error *err)
{
    char first;
    struct ss_event_scan event;
    struct ss_strview other;
    for (*is_cut = false;;) {
        SS_TRY(peek(window, &first, err));
        if (first == ']' || first == '\0') {
            window->at += first == ']';
            *is_cut = first == '\0';
            return SS_OK;
        }
        if (first != '{') { /* what is not an event, such as null */
            SS_TRY(read_value(window, &other, err));
            *is_cut = other.length == 0;
            if (*is_cut) {
                return SS_OK;
            }
            continue;
        }
        enum ss_event_scanned scanned =
            ss_event_scan(window->data + window->at, window->data + window->end, &event);
        if (scanned == SS_EVENT_SCAN_BAD) {
            return fail_at(window, err);
        }
        if (scanned == SS_EVENT_SCANNED) {
            if (event.all.length > 2) {
                ss_merge_events_put(&merging->events, &event);
            }
            window->at += event.all.length;
            continue;
        }
        if (window->is_over) {
            *is_cut = true;
            return SS_OK;
        }
        SS_TRY(refill(window, err));
    }
}

static enum ss_status copy_file(struct merging *merging, struct source *source,
                                struct ss_error *err)
{
    struct window window;
    bool has_events = false, is_cut = false, is_only = merging->identities.count < 2;
    uint32_t parts =
        source->is_merged && source->merged.count > 0 ? (uint32_t)source->merged.count : 1;
    int64_t shift_ns = source->has_base ? source->base_ns - merging->base_ns : 0;
    ss_merge_events_next(&merging->events, parts, is_only || source->is_merged ? -1 : source->rank,
                         shift_ns);
    enum ss_status status = open_window(source->path, &window, err);
    status = status == SS_OK ? begin(&window, NULL, &has_events, err) : status;
    if (status == SS_OK && has_events) {
        status = copy_events(merging, &window, &is_cut, err);
    }
    if (status == SS_OK && !is_cut) { /* members behind the events */
        status = read_members(&window, source, &has_events, err);
    }
    merging->result->cut += is_cut;
    close_window(&window);
    return status;
}

static void put_text(struct merging *merging, const char *text)
{
    ss_merge_events_text(&merging->events, text, strlen(text));
}

static void put_head(struct merging *merging)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, SIZE_MAX / 2);
    ss_strbuf_append_text(&text, "{\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n");
    if (merging->has_base) {
        ss_strbuf_append_format(&text, "\"baseTimeNanoseconds\": %" PRId64 ",\n", merging->base_ns);
    }
    ss_strbuf_append_text(&text, "\"mergedFiles\": [");
    for (size_t i = 0; i < merging->identities.count; i++) {
        ss_strbuf_append_format(&text, "%s\"%016" PRIx64 "\"", i > 0 ? ", " : "",
                                merging->identities.data[i]);
    }
    ss_strbuf_append_text(&text, "],\n\"traceEvents\": [");
    ss_merge_events_text(&merging->events, text.data, text.length);
    ss_strbuf_fini(&text);
}

static void put_end(struct merging *merging)
{
    bool has_any = false;
    put_text(merging, "\n],\n\"filesMetadata\": [");
    for (size_t i = 0; i < merging->sources.count; i++) {
        const struct source *source = &merging->sources.data[i];
        if (!source->is_repeated) {
            put_text(merging, has_any ? ",\n" : "");
            put_text(merging, source->is_merged ? "" : "{");
            ss_merge_events_text(&merging->events, source->metadata.data, source->metadata.length);
            put_text(merging, source->is_merged ? "" : "}");
            has_any = true;
        }
    }
    put_text(merging, "]}\n");
    ss_merge_events_flush(&merging->events);
}

static enum ss_status merge_sources(struct merging *merging, struct ss_error *err)
{
    SS_TRY(find_repeated(merging, err));
    put_head(merging);
    for (size_t i = 0; i < merging->sources.count && !merging->events.has_failed; i++) {
        if (!merging->sources.data[i].is_repeated) {
            SS_TRY(copy_file(merging, &merging->sources.data[i], err));
        }
    }
    put_end(merging);
    merging->result->events = merging->events.events;
    return SS_OK;
}

enum ss_status ss_merge_json(const char *const *paths, size_t count,
                             const struct ss_merge_json_output *output,
                             struct ss_merge_json_result *result, struct ss_error *err)
{
    struct merging merging = {.result = result};
    enum ss_status status = SS_OK;
    *result = (struct ss_merge_json_result){0};
    ss_merge_events_init(&merging.events, output);
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        struct source source;
        status = read_head(&source, paths[i], err);
        ss_vec_push(&merging.sources, source);
    }
    status = status == SS_OK ? merge_sources(&merging, err) : status;
    for (size_t i = 0; i < merging.sources.count; i++) {
        ss_vec_fini(&merging.sources.data[i].merged);
        ss_strbuf_fini(&merging.sources.data[i].metadata);
    }
    ss_vec_fini(&merging.sources);
    ss_vec_fini(&merging.identities);
    ss_merge_events_fini(&merging.events);
    return status;
}
