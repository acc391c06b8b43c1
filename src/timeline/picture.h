/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a viewer draws of some tracks in a time range: at most as many rectangles as it asks for,
 * whatever the zoom. Where the tracks have more, slices that are too short to be seen are joined.
 * Pure.
 */
#ifndef SS_TIMELINE_PICTURE_H
#define SS_TIMELINE_PICTURE_H

#include "timeline/timeline.h"

enum { SS_PICTURE_MAX_RECTS = 4096, SS_PICTURE_MAX_TRACKS = 64, SS_PICTURE_MAX_PX = 16384 };

struct ss_picture_request {
    uint64_t from_ns, to_ns; /* since time 0 */
    uint32_t px;             /* width of the time range; 1 to SS_PICTURE_MAX_PX */
    uint32_t tracks[SS_PICTURE_MAX_TRACKS];
    uint32_t track_count;
    uint32_t first_lane, lanes; /* of each track; 0: all */
};

/* The rectangles of one lane, or the points of a counter. */
struct ss_picture_row {
    uint32_t track, lane; /* lane: of the timeline */
    uint64_t bucket_ns;
    size_t first, end; /* rects or points */
};

struct ss_picture {
    struct ss_vec_of(struct ss_picture_row) rows;
    struct ss_vec_of(struct ss_lane_rect) rects;
    struct ss_vec_of(struct ss_series_point) points;
};

void ss_picture_init(struct ss_picture *picture, const struct ss_timeline *timeline,
                     const struct ss_picture_request *request);
void ss_picture_fini(struct ss_picture *picture);

#endif
