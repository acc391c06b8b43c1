/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a JSON file piece by piece. Values are read whole, up to a limit. What cannot be read is
 * skipped and counted; a file that is cut, or whose archive is damaged, ends there. One owner.
 * Private to model/.
 */
#ifndef SS_MODEL_FILES_JSON_WINDOW_H
#define SS_MODEL_FILES_JSON_WINDOW_H

#include "model/files/chrome_event.h"
#include "model/files/import_window.h"

struct ss_json_window {
    struct ss_import_window bytes;
    bool is_over;          /* nothing more is readable */
    bool is_resyncing;     /* after something that is not an event */
    uint64_t event_offset; /* in the file, of the last event */
};

void ss_json_window_init(struct ss_json_window *window, const struct ss_import_file *file,
                         const struct ss_model_load *load);
void ss_json_window_fini(struct ss_json_window *window);

/* The first byte behind white space; 0: there is none. */
char ss_json_window_first(struct ss_json_window *window);
/* Reads the bracket of an array, or the brace of an object; false: there is none. */
bool ss_json_window_begin_array(struct ss_json_window *window);
bool ss_json_window_begin_object(struct ss_json_window *window);
/* The next element of the array, valid until the next call; false: it ended. An element that is no
 * JSON ends everything. */
bool ss_json_window_element(struct ss_json_window *window, struct ss_strview *value);
/* Whether the array has another element, which is unread. */
bool ss_json_window_has_element(struct ss_json_window *window);
/* The next event of the array; false: it ended. Texts are valid until the next call. */
bool ss_json_window_event(struct ss_json_window *window, struct ss_chrome_event *event);
/* The next key of the object, at most `size` - 1 bytes of it; false: it ended. */
bool ss_json_window_key(struct ss_json_window *window, char *name, size_t size);
/* The value, valid until the next call. Not OK: the file ends in it, or it is too large. */
enum ss_json_result ss_json_window_value(struct ss_json_window *window, struct ss_strview *value);
/* Skips a value of any size; false: the file ends in it. */
bool ss_json_window_skip(struct ss_json_window *window);

#endif
