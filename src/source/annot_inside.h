/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_annot. Private to the implementation of annot.h: annot.c (drains, life,
 * labels), annot_records.c (what the records of a ring mean). */
#ifndef SS_SOURCE_ANNOT_INSIDE_H
#define SS_SOURCE_ANNOT_INSIDE_H

#include "base/vec.h"
#include "source/annot.h"

struct ss_annot_open_range {
    uint32_t depth;
    uint32_t name;
    uint8_t domain;
};

/* One ring and its current thread. */
struct ss_annot_lane {
    struct ss_vec_of(struct ss_annot_open_range) open;
    uint64_t last_ns;
    uint64_t blocked_at;       /* position of an unfinished record at the tail */
    uint64_t blocked_since_ns; /* 0: not blocked */
    uint32_t owner;            /* owner number in the ring */
    uint32_t thread;
    int32_t tid;
};

struct ss_annot_style {
    uint32_t text_at, text_length; /* in `texts` */
    uint32_t argb, category;
    uint32_t file, line; /* of functions */
    enum ss_event_type type;
};

struct ss_annot {
    struct ss_ring_consumer ring;
    const struct ss_stamp_clock *clock;
    struct ss_annot_sink sink;
    uint64_t since_ns, now_ns;
    uint64_t newest_ns; /* upper bound for the stamps of the current batch */
    struct ss_vec_of(struct ss_annot_lane) lanes;
    struct ss_vec_of(struct ss_annot_style) names;
    struct ss_vec_of(char) texts;
    uint64_t begins_lost, ends_lost, bad_names;
    uint32_t threads;
    uint64_t until_ns;   /* deadline of this drain */
    uint32_t first_lane; /* the next drain starts here: after the ring where the last one stopped */
    bool is_behind;      /* the last drain stopped at its deadline */
    uint32_t old_facts;  /* facts set before the recording, not emitted yet */
    uint32_t label_lane; /* lane of the last label: most samples belong to few threads */
    void (*window_hook)(void *context);
    void *hook_context;
};

/* --- annot_records.c ------------------------------------------------------------------------- */

/* For ss_ring_consumer_define; `context` is the struct ss_annot. */
void ss_annot_on_define(void *context, const struct ss_ring_defined *defined);
void ss_annot_emit(struct ss_annot *annot, const struct ss_annot_event *event);
/* One record of lane `number`. */
void ss_annot_on_record(struct ss_annot *annot, uint32_t number, const struct ss_ring_record *raw);
/* Ends the open ranges of lane `number`; their true end is unknown. */
void ss_annot_end_all(struct ss_annot *annot, uint32_t number, uint64_t time_ns);

#endif
