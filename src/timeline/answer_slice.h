/* SPDX-License-Identifier: Apache-2.0 */
/* Private to answer*.c: how slices are referred to. */
#ifndef SS_TIMELINE_ANSWER_SLICE_H
#define SS_TIMELINE_ANSWER_SLICE_H

#include "timeline/timeline.h"
#include "view/output/sink.h"

/* The members of a reference: "track", "lane" (of the track), "position", "begin_ns",
 * "duration_ns", "name", "where", without braces. */
void ss_answer_write_slice(const struct ss_timeline *timeline, uint32_t lane, uint32_t position,
                           size_t name_bytes, struct ss_sink *sink);
/* The lane of the slices within those of a lane; false: there is none. */
bool ss_answer_inner_lane(const struct ss_timeline *timeline, uint32_t lane, uint32_t *inner);

#endif
