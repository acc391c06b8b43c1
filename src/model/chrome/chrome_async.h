/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Async events of Chrome's trace format: ranges of no thread, such as requests of a server. Events
 * of one category and id are one row of nested ranges; each row has a lane of its own while a range
 * is open on it. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_CHROME_CHROME_ASYNC_H
#define SS_MODEL_CHROME_CHROME_ASYNC_H

#include "model/chrome/chrome_rows.h"

struct ss_chrome_async_track {
    uint32_t row;                         /* of the model */
    struct ss_vec_of(bool) is_lane_taken; /* by lane, from 1 */
    size_t first_free;                    /* all lanes below it are taken; 0: none are */
};

/* The events of one id. */
struct ss_chrome_async_id {
    uint32_t track; /* index into tracks */
    uint32_t lane;  /* while a range is open */
    uint32_t open;  /* ranges */
};

struct ss_chrome_async {
    struct ss_intern keys; /* of both tables */
    struct ss_vec_of(uint32_t) by_key;
    struct ss_vec_of(struct ss_chrome_async_track) tracks;
    struct ss_vec_of(struct ss_chrome_async_id) ids;
};

void ss_chrome_async_init(struct ss_chrome_async *async);
void ss_chrome_async_fini(struct ss_chrome_async *async);

/* Whether the phase is one of an async event that begins or ends a range. */
bool ss_chrome_is_async(char phase);
/* Adds the begin or end of a range. NULL, or why it was not added. */
const char *ss_chrome_async_add(struct ss_chrome_async *async, struct ss_chrome_rows *rows,
                                const struct ss_chrome_event *event);

#endif
