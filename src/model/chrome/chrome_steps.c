/* SPDX-License-Identifier: Apache-2.0 */
#include "model/chrome/chrome_steps.h"

#include <string.h>

static const char key_text[] = "\"step_num\"";

static bool read_number(struct ss_strview object, int64_t *number)
{
    struct ss_json_cursor cursor = {object.data + 1, object.data + object.length};
    struct ss_json_text key;
    struct ss_strview value;
    while (ss_json_next_member(&cursor, &key, &value)) {
        if (ss_strview_equal(key.raw, ss_strview_of("step_num"))) {
            return ss_json_integer_in(value, number) ||
                   ss_json_decimal(ss_json_string_in(value).raw, 0, number);
        }
    }
    return false;
}

bool ss_chrome_marks_step(struct ss_chrome_rows *rows, uint32_t thread,
                          const struct ss_chrome_event *event, int64_t *number)
{
    struct ss_strview object = event->arguments, name = event->name.raw;
    if (object.length < 2 ||
        memmem(object.data, object.length, key_text, sizeof key_text - 1) == NULL ||
        !read_number(object, number)) {
        return false;
    }
    uint32_t text = ss_intern_put(&rows->texts, name.data, name.length);
    uint32_t *loop = &rows->threads.data[thread].step_text;
    *loop = *loop == 0 ? text : *loop;
    return *loop == text;
}

static void put_step(struct ss_chrome_rows *rows, uint32_t thread, uint64_t end_ns, uint8_t flags)
{
    const struct ss_chrome_marked_step step = rows->threads.data[thread].marked;
    struct ss_builder_range range = {.begin_ns = step.begin_ns,
                                     .end_ns = end_ns,
                                     .resolution_ns = 1,
                                     .flags = flags,
                                     .payload = {SS_VALUE_INT, {.integer = step.number}}};
    range.track = ss_chrome_thread_track(rows, thread, SS_CHROME_STEP_TRACK);
    ss_model_builder_range(rows->builder, &range);
}

/* Marks that are not in order of time end where they say. */
void ss_chrome_mark_step(struct ss_chrome_rows *rows, uint32_t thread, int64_t number,
                         const struct ss_builder_range *mark)
{
    struct ss_chrome_marked_step *last = &rows->threads.data[thread].marked;
    rows->threads.data[thread].has_steps = true;
    if (last->marks > 0) {
        bool is_next = mark->begin_ns >= last->end_ns;
        put_step(rows, thread, is_next ? mark->begin_ns : last->end_ns, 0);
    }
    *last = (struct ss_chrome_marked_step){mark->begin_ns, mark->end_ns, number, last->marks + 1};
}

void ss_chrome_steps_end(struct ss_chrome_rows *rows)
{
    for (uint32_t i = 0; i < rows->threads.count; i++) {
        const struct ss_chrome_marked_step *last = &rows->threads.data[i].marked;
        if (last->marks > 0) { /* the only one is better than none */
            put_step(rows, i, last->end_ns, last->marks > 1 ? SS_EVENT_END_UNSEEN : 0);
        }
    }
}
