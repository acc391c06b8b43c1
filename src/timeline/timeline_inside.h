/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the implementation of timeline.h: tracks before they are sorted into groups. */
#ifndef SS_TIMELINE_TIMELINE_INSIDE_H
#define SS_TIMELINE_TIMELINE_INSIDE_H

#include "timeline/timeline.h"
#include "view/output/spans.h"

struct ss_own_ranges ss_vec_of(struct ss_model_range);

/* Appends the slices of a thread's samples: each call once, for as long as it was seen without
 * interruption. Those that nest in each other follow each other, outer before inner. */
void ss_stack_slices_append(struct ss_own_ranges *ranges, const struct ss_spans *spans,
                            uint32_t thread, ss_span_list *list);

/* Spreads the ranges of a track over lanes, and appends these. */
void ss_lanes_append(struct ss_timeline *timeline, struct ss_timeline_track *track);

/* Finds the track of each lane. */
void ss_timeline_index_lanes(struct ss_timeline *timeline);

/* Sorts the tracks, and makes their groups. */
void ss_timeline_group_tracks(struct ss_timeline *timeline);

#endif
