/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/json_window.h"

#include <string.h>

void ss_json_window_init(struct ss_json_window *window, const struct ss_import_file *file,
                         const struct ss_model_load *load)
{
    *window = (struct ss_json_window){0};
    ss_import_window_init(&window->bytes, file, load);
}

void ss_json_window_fini(struct ss_json_window *window)
{
    ss_import_window_fini(&window->bytes);
}

static struct ss_json_cursor cursor_of(const struct ss_json_window *window)
{
    return (struct ss_json_cursor){window->bytes.data + window->bytes.begin,
                                   window->bytes.data + window->bytes.end};
}

static void set_begin(struct ss_json_window *window, const char *at)
{
    window->bytes.begin = (size_t)(at - window->bytes.data);
}

/* The kind of what follows white space and commas, with at least a byte in the window. */
static enum ss_json_kind peek(struct ss_json_window *window)
{
    for (;;) {
        struct ss_json_cursor cursor = cursor_of(window);
        enum ss_json_kind kind = ss_json_peek(&cursor);
        set_begin(window, cursor.at);
        if (window->bytes.begin < window->bytes.end || !ss_import_window_refill(&window->bytes)) {
            return kind;
        }
    }
}

char ss_json_window_first(struct ss_json_window *window)
{
    peek(window);
    return window->bytes.begin < window->bytes.end ? window->bytes.data[window->bytes.begin] : 0;
}

bool ss_json_window_begin_array(struct ss_json_window *window)
{
    bool is_array = peek(window) == SS_JSON_ARRAY;
    window->bytes.begin += is_array;
    return is_array;
}

bool ss_json_window_begin_object(struct ss_json_window *window)
{
    bool is_object = peek(window) == SS_JSON_OBJECT;
    window->bytes.begin += is_object;
    return is_object;
}

/* The file ends here, although its events do not. */
static bool end_cut(struct ss_json_window *window)
{
    window->is_over = true;
    window->bytes.is_cut = true;
    return false;
}

/* After something that is not JSON: continues at the next brace. */
static void resync(struct ss_json_window *window, const char *at)
{
    const char *end = window->bytes.data + window->bytes.end;
    const char *brace = at < end ? memchr(at, '{', (size_t)(end - at)) : NULL;
    if (!window->is_resyncing) {
        ss_import_window_count_skipped(
            &window->bytes, window->bytes.offset + (uint64_t)(at - window->bytes.data), "not JSON");
    }
    window->is_resyncing = true;
    set_begin(window, brace != NULL ? brace : end);
}

/* An object of the array; `*is_read`: it is an event. False: the file ends in it. */
static bool read_object(struct ss_json_window *window, struct ss_chrome_event *event, bool *is_read)
{
    struct ss_json_cursor cursor = cursor_of(window);
    enum ss_json_result result = ss_chrome_event_read(&cursor, event);
    *is_read = result == SS_JSON_OK;
    if (result == SS_JSON_CUT) {
        if (ss_import_window_refill(&window->bytes)) {
            return true;
        }
        if (window->bytes.at_end) {
            return end_cut(window);
        }
        /* An event of this size is none. To search in it for others costs the square of its size.
         */
        ss_import_window_count_skipped(&window->bytes, ss_import_window_offset(&window->bytes),
                                       "an event of more than 64 MiB");
        return ss_json_window_skip(window);
    }
    if (result == SS_JSON_BAD) {
        resync(window, cursor.at + 1);
        return true;
    }
    window->event_offset = ss_import_window_offset(&window->bytes);
    set_begin(window, cursor.at);
    if (event->phase == 0 && window->is_resyncing) {
        *is_read = false; /* an inner object of what was no JSON */
    }
    window->is_resyncing = window->is_resyncing && !*is_read;
    return true;
}

bool ss_json_window_event(struct ss_json_window *window, struct ss_chrome_event *event)
{
    bool is_read = false;
    for (;;) {
        enum ss_json_kind kind = peek(window);
        if (window->bytes.begin == window->bytes.end) {
            return end_cut(window);
        }
        if (kind == SS_JSON_CLOSE && window->bytes.data[window->bytes.begin] == ']' &&
            !window->is_resyncing) {
            window->bytes.begin++;
            return false;
        }
        if (kind != SS_JSON_OBJECT) {
            resync(window, window->bytes.data + window->bytes.begin);
            continue;
        }
        if (!read_object(window, event, &is_read)) {
            return false;
        }
        if (is_read) {
            return true;
        }
    }
}

bool ss_json_window_key(struct ss_json_window *window, char *name, size_t size)
{
    for (;;) {
        struct ss_json_cursor cursor = cursor_of(window);
        struct ss_json_text key;
        bool is_end;
        enum ss_json_result result = ss_json_read_key(&cursor, &key, &is_end);
        if (result == SS_JSON_CUT && ss_import_window_refill(&window->bytes)) {
            continue;
        }
        if (result != SS_JSON_OK) {
            return end_cut(window);
        }
        if (is_end) {
            set_begin(window, cursor.at);
            return false;
        }
        size_t length = key.raw.length < size ? key.raw.length : size - 1;
        memcpy(name, key.raw.data, length);
        name[length] = '\0';
        set_begin(window, cursor.at);
        return true;
    }
}

enum ss_json_result ss_json_window_value(struct ss_json_window *window, struct ss_strview *value)
{
    for (;;) {
        struct ss_json_cursor cursor = cursor_of(window);
        enum ss_json_result result = ss_json_skip(&cursor, value);
        if (result == SS_JSON_CUT && ss_import_window_refill(&window->bytes)) {
            continue;
        }
        if (result == SS_JSON_OK) {
            set_begin(window, cursor.at);
        } else {
            end_cut(window);
        }
        return result;
    }
}

bool ss_json_window_has_element(struct ss_json_window *window)
{
    enum ss_json_kind kind = peek(window);
    if (window->is_over) {
        return false;
    }
    if (kind == SS_JSON_CLOSE && window->bytes.data[window->bytes.begin] == ']') {
        window->bytes.begin++;
        return false;
    }
    return kind == SS_JSON_NOTHING || kind == SS_JSON_CLOSE ? end_cut(window) : true;
}

bool ss_json_window_element(struct ss_json_window *window, struct ss_strview *value)
{
    return ss_json_window_has_element(window) && ss_json_window_value(window, value) == SS_JSON_OK;
}

/* --- values of any size ----------------------------------------------------------------------- */

struct skipping {
    uint64_t depth;
    bool in_string, in_escape, is_done;
};

static size_t skip_bytes(struct skipping *skipping, const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = data[i];
        if (skipping->in_string) {
            skipping->in_string = skipping->in_escape || c != '"';
            skipping->in_escape = !skipping->in_escape && c == '\\';
        } else if (c == '"') {
            skipping->in_string = true;
        } else if (c == '{' || c == '[') {
            skipping->depth++;
        } else if ((c == '}' || c == ']') && skipping->depth > 0) {
            skipping->depth--;
        }
        if (skipping->depth == 0 && !skipping->in_string) {
            skipping->is_done = true;
            return i + 1;
        }
    }
    return length;
}

bool ss_json_window_skip(struct ss_json_window *window)
{
    struct ss_strview value;
    enum ss_json_kind kind = peek(window);
    if (kind == SS_JSON_NUMBER || kind == SS_JSON_WORD || kind == SS_JSON_NOTHING) {
        return ss_json_window_value(window, &value) == SS_JSON_OK;
    }
    struct skipping skipping = {0};
    for (;;) {
        value = (struct ss_strview){window->bytes.data + window->bytes.begin,
                                    window->bytes.end - window->bytes.begin};
        window->bytes.begin += skip_bytes(&skipping, value.data, value.length);
        if (skipping.is_done) {
            return true;
        }
        if (memchr(value.data, '\0', value.length) != NULL) { /* no JSON: a hole in the file */
            return end_cut(window);
        }
        if (!ss_import_window_refill(&window->bytes)) {
            return end_cut(window);
        }
    }
}
