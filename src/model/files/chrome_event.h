/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of Chrome's trace format, as PyTorch, Composer and others write it: its members by
 * name, its arguments unread. Texts are borrowed from the file's bytes. Pure. Private to model/.
 */
#ifndef SS_MODEL_FILES_CHROME_EVENT_H
#define SS_MODEL_FILES_CHROME_EVENT_H

#include "wire/json_scan.h"

/* A process, thread or device: writers use numbers, texts of digits, and names. */
struct ss_chrome_id {
    bool is_number;
    int64_t number;
    struct ss_json_text text; /* unless it is a number; empty: absent */
};

struct ss_chrome_event {
    char phase; /* 'X', 'B', 'E', …; 0: none */
    struct ss_json_text category, name;
    struct ss_chrome_id pid, tid;
    struct ss_chrome_id id;      /* of flows and async ranges */
    struct ss_chrome_id bind_id; /* of the flow that begins or passes at this event */
    bool flow_in, flow_out;
    bool has_time, has_duration;
    bool is_coarse;               /* written in whole microseconds */
    bool is_unreadable;           /* a time that is not a number, or beyond 63 bits */
    int64_t time_ns, duration_ns; /* as written: without the file's base */
    struct ss_strview arguments;  /* the object; empty: none */
};

/* The cursor is at the event's brace. Unknown members are ignored. */
enum ss_json_result ss_chrome_event_read(struct ss_json_cursor *cursor,
                                         struct ss_chrome_event *event);

/* A number, or a text of digits, as an id. */
struct ss_chrome_id ss_chrome_id_of_text(struct ss_json_text text);

#endif
