/* SPDX-License-Identifier: Apache-2.0 */
/* Private to answer*.c: the names that an answer mentions, each once. One owner. */
#ifndef SS_TIMELINE_ANSWER_NAMES_H
#define SS_TIMELINE_ANSWER_NAMES_H

#include "timeline/timeline.h"
#include "view/output/pair_ids.h"
#include "view/output/sink.h"

struct ss_answer_name {
    const struct ss_timeline_track *track;
    const struct ss_model_range *slice; /* one of that name */
};

/* A zero-initialised one is empty. */
struct ss_answer_names {
    struct ss_pair_ids ids; /* index + 1, by ss_label_key */
    struct ss_vec_of(struct ss_answer_name) names;
};

/* The index of a slice's name. */
uint32_t ss_answer_names_put(struct ss_answer_names *names, const struct ss_timeline *timeline,
                             const struct ss_timeline_track *track,
                             const struct ss_model_range *slice);
/* The names as strings with commas between them. */
void ss_answer_names_write(const struct ss_answer_names *names, const struct ss_timeline *timeline,
                           struct ss_sink *sink);
/* One name as a string. */
void ss_answer_write_label(const struct ss_timeline *timeline,
                           const struct ss_timeline_track *track,
                           const struct ss_model_range *slice, size_t maximum_bytes,
                           struct ss_sink *sink);
void ss_answer_names_fini(struct ss_answer_names *names);

#endif
