/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the events of one file after another with pids and ids of their own. Private to model/.
 * One owner.
 */
#ifndef SS_MODEL_MERGE_MERGE_EVENT_H
#define SS_MODEL_MERGE_MERGE_EVENT_H

#include "base/intern.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "model/files/event_scan.h"
#include "model/merge/merge_output.h"

struct ss_merge_events {
    const struct ss_merge_json_output *output;
    struct ss_strbuf buffer; /* of what is not written yet */
    bool has_failed;
    bool has_events;                     /* the next one needs a comma */
    struct ss_intern pids;               /* of all files, as written */
    struct ss_vec_of(bool) is_used;      /* by pid */
    struct ss_intern own;                /* pids of the current file */
    struct ss_vec_of(uint32_t) new_pids; /* by own pid: id of pids */
    struct ss_strview last_pid; /* interned: most events have the same pid as the event before */
    uint32_t last_new;
    uint64_t next_pid;
    /* Of the current file. */
    uint32_t part, parts; /* of the output; how many it stands for */
    int64_t rank;         /* -1: unknown, or the only file */
    int64_t shift_ns;
    uint64_t events;
};

void ss_merge_events_init(struct ss_merge_events *events,
                          const struct ss_merge_json_output *output);
void ss_merge_events_fini(struct ss_merge_events *events);
/* Begins the next file, which stands for `parts` files. */
void ss_merge_events_next(struct ss_merge_events *events, uint32_t parts, int64_t rank,
                          int64_t shift_ns);
void ss_merge_events_put(struct ss_merge_events *events, const struct ss_event_scan *event);
void ss_merge_events_text(struct ss_merge_events *events, const char *bytes, size_t length);
/* Writes what is buffered. */
void ss_merge_events_flush(struct ss_merge_events *events);

#endif
