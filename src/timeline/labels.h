/* SPDX-License-Identifier: Apache-2.0 */
/* Names of slices, tracks and groups, as people read them: valid UTF-8 without control characters,
 * of limited length. Pure. */
#ifndef SS_TIMELINE_LABELS_H
#define SS_TIMELINE_LABELS_H

#include "base/strbuf.h"
#include "timeline/timeline.h"

enum { SS_LABEL_BYTES = 160 /* of a slice in a picture */, SS_LABEL_WHOLE_BYTES = 16384 };

/* Slices with the same key have the same label. */
uint64_t ss_label_key(const struct ss_timeline *timeline, const struct ss_timeline_track *track,
                      const struct ss_model_range *slice);
/* Whether the label has the slice's payload: the number of a step. */
bool ss_label_has_number(const struct ss_timeline *timeline, const struct ss_timeline_track *track,
                         const struct ss_model_range *slice);
void ss_label_append(struct ss_strbuf *out, const struct ss_timeline *timeline,
                     const struct ss_timeline_track *track, const struct ss_model_range *slice,
                     size_t maximum_bytes);
/* "main · torch", "stream 7". */
void ss_label_append_track(struct ss_strbuf *out, const struct ss_timeline *timeline,
                           const struct ss_timeline_track *track);
/* "rank 3", "train.py 42", "host"; and what else is known: "python train.py · pid 7". */
void ss_label_append_group(struct ss_strbuf *out, const struct ss_timeline *timeline,
                           const struct ss_timeline_group *group);
void ss_label_append_group_detail(struct ss_strbuf *out, const struct ss_timeline *timeline,
                                  const struct ss_timeline_group *group);

/* "steps", "stacks", "stream", …: what the page knows kinds by. */
const char *ss_timeline_kind_name(enum ss_timeline_kind kind);

#endif
