/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/view_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "view/output/json_text.h"

enum { MOST_NOTES = 1000, MOST_TEXT_BYTES = 8000, MOST_FILE_BYTES = 16 << 20, PATH_BYTES = 65536 };

static const char format_name[] = "stepscope notes";

/* --- what notes are --------------------------------------------------------------------------- */

static bool is_note(const json_t *note)
{
    const json_t *from = json_object_get(note, "from_ns"), *to = json_object_get(note, "to_ns");
    const json_t *text = json_object_get(note, "text");
    return json_object_size(note) == 3 && json_is_integer(from) && json_is_integer(to) &&
           json_is_string(text) && json_integer_value(from) <= json_integer_value(to) &&
           json_string_length(text) <= MOST_TEXT_BYTES;
}

/* A time of a note on another axis. */
static json_int_t shifted(const json_t *note, const char *key, int64_t by_ns)
{
    uint64_t time_ns = (uint64_t)json_integer_value(json_object_get(note, key));
    return (json_int_t)(time_ns + (uint64_t)by_ns);
}

static bool are_notes(const json_t *notes)
{
    if (!json_is_array(notes) || json_array_size(notes) > MOST_NOTES) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(notes); i++) {
        if (!is_note(json_array_get(notes, i))) {
            return false;
        }
    }
    return true;
}

/* --- the file --------------------------------------------------------------------------------- */

static enum ss_status read_file(const char *path, struct ss_strbuf *text, bool *exists,
                                struct ss_error *err)
{
    char buffer[16384];
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    *exists = fd >= 0 || errno != ENOENT;
    if (fd < 0) {
        return *exists ? ss_fail_errno(err, errno, "cannot read the notes in %s", path) : SS_OK;
    }
    /* A file that exceeds the limit holds no notes, however long it is. */
    while (!text->overflow && (got = read(fd, buffer, sizeof buffer)) > 0) {
        ss_strbuf_append(text, buffer, (size_t)got);
    }
    int failed = got < 0 ? errno : 0;
    close(fd);
    return failed != 0 ? ss_fail_errno(err, failed, "cannot read the notes in %s", path) : SS_OK;
}

static enum ss_status load(struct ss_view_notes *notes, struct ss_error *err)
{
    struct ss_strbuf text;
    bool exists;
    ss_strbuf_init(&text, MOST_FILE_BYTES);
    enum ss_status status = read_file(notes->path, &text, &exists, err);
    if (status == SS_OK && exists) {
        json_t *root =
            text.overflow ? NULL : json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, NULL);
        const char *format = json_string_value(json_object_get(root, "format"));
        json_t *list = json_object_get(root, "notes");
        if (format != NULL && strcmp(format, format_name) == 0 && are_notes(list)) {
            json_decref(notes->notes);
            notes->notes = json_incref(list);
        } else {
            status =
                ss_fail(err, SS_E_FORMAT,
                        "%s is not a file of notes: move it away to keep notes there", notes->path);
        }
        json_decref(root);
    }
    ss_strbuf_fini(&text);
    return status;
}

void ss_view_notes_init(struct ss_view_notes *notes, const char *input, mode_t mode,
                        int64_t base_ns)
{
    size_t length = strlen(input);
    while (length > 1 && input[length - 1] == '/') {
        length--;
    }
    struct ss_strbuf path;
    ss_strbuf_init(&path, PATH_BYTES);
    ss_strbuf_append(&path, input, length);
    ss_strbuf_append_text(&path, ".notes.json");
    *notes = (struct ss_view_notes){
        .path = ss_strbuf_take(&path), .mode = mode, .base_ns = base_ns, .notes = json_array()};
    pthread_mutex_init(&notes->lock, NULL);
    load(notes, &notes->problem);
    ss_strbuf_fini(&path);
}

void ss_view_notes_fini(struct ss_view_notes *notes)
{
    json_decref(notes->notes);
    ss_free(notes->path);
    pthread_mutex_destroy(&notes->lock);
}

static enum ss_status store(const struct ss_view_notes *notes, json_t *list, struct ss_error *err)
{
    struct ss_sink sink;
    json_t *root = json_pack("{s:s, s:i, s:O}", "format", format_name, "version", 1, "notes", list);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (text == NULL) {
        return ss_fail(err, SS_E_NOMEM, "no memory for the notes");
    }
    enum ss_status status = ss_sink_open(&sink, notes->path, notes->mode, err);
    if (status == SS_OK) {
        ss_sink_text(&sink, text);
        ss_sink_text(&sink, "\n");
        status = ss_sink_close(&sink, err);
    }
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    release(text);
    return status;
}

/* --- requests --------------------------------------------------------------------------------- */

void ss_view_notes_write(struct ss_view_notes *notes, struct ss_sink *sink)
{
    pthread_mutex_lock(&notes->lock);
    ss_sink_text(sink, "{\"revision\":");
    ss_json_write_integer(sink, notes->revision);
    ss_sink_text(sink, ",\"file\":");
    ss_json_write_plain(sink, ss_strview_of(notes->path));
    ss_sink_text(sink, ",\"problem\":");
    ss_json_write_plain(sink, ss_strview_of(notes->problem.message));
    ss_sink_text(sink, ",\"notes\":[");
    for (size_t i = 0; i < json_array_size(notes->notes); i++) {
        const json_t *note = json_array_get(notes->notes, i);
        const json_t *text = json_object_get(note, "text");
        ss_sink_text(sink, i > 0 ? ",\n{\"from_ns\":" : "\n{\"from_ns\":");
        ss_json_write_integer(sink, shifted(note, "from_ns", -notes->base_ns));
        ss_sink_text(sink, ",\"to_ns\":");
        ss_json_write_integer(sink, shifted(note, "to_ns", -notes->base_ns));
        ss_sink_text(sink, ",\"text\":");
        ss_json_write_plain(sink,
                            (struct ss_strview){json_string_value(text), json_string_length(text)});
        ss_sink_text(sink, "}");
    }
    ss_sink_text(sink, "]}\n");
    pthread_mutex_unlock(&notes->lock);
}

static enum ss_status replace(struct ss_view_notes *notes, json_t *list, json_int_t revision,
                              struct ss_error *err)
{
    if (notes->problem.status != SS_OK) {
        return ss_fail(err, SS_E_PERMISSION, "%s", notes->problem.message);
    }
    if (revision != notes->revision) {
        return ss_fail(err, SS_E_AGAIN, "another window changed the notes: add yours again");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *note = json_array_get(list, i);
        json_object_set_new(note, "from_ns",
                            json_integer(shifted(note, "from_ns", notes->base_ns)));
        json_object_set_new(note, "to_ns", json_integer(shifted(note, "to_ns", notes->base_ns)));
    }
    SS_TRY(store(notes, list, err));
    json_decref(notes->notes);
    notes->notes = json_incref(list);
    notes->revision++;
    return SS_OK;
}

enum ss_status ss_view_notes_put(struct ss_view_notes *notes, struct ss_strview text,
                                 struct ss_error *err)
{
    json_t *root = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, NULL);
    json_t *list = json_object_get(root, "notes"), *revision = json_object_get(root, "revision");
    enum ss_status status;
    if (!are_notes(list) || !json_is_integer(revision)) {
        status = ss_fail(err, SS_E_FORMAT,
                         "these are not notes: at most %d of them, each of at most %d bytes",
                         MOST_NOTES, MOST_TEXT_BYTES);
    } else {
        pthread_mutex_lock(&notes->lock);
        status = replace(notes, list, json_integer_value(revision), err);
        pthread_mutex_unlock(&notes->lock);
    }
    json_decref(root);
    return status;
}
