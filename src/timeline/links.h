/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranges belong together: a launch and the work that it submits; the record of an event and
 * the waits for it; an operator and its backward; the last call of a collective and those of the
 * ranks that waited for it, if the error of their clocks is smaller; the points of a flow that the
 * program recorded (a send and its receive). Pure; immutable once built. Borrows the timeline.
 */
#ifndef SS_TIMELINE_LINKS_H
#define SS_TIMELINE_LINKS_H

#include "timeline/timeline.h"

enum ss_link_kind {
    SS_LINK_LAUNCH,
    SS_LINK_BACKWARD,
    SS_LINK_COLLECTIVE,
    SS_LINK_EVENT,
    SS_LINK_FLOW
};

struct ss_timeline_link {
    uint32_t from, to; /* ranges of the model */
    uint32_t kind;     /* enum ss_link_kind */
};

struct ss_timeline_links {
    struct ss_vec_of(struct ss_timeline_link) forth; /* by from */
    struct ss_vec_of(struct ss_timeline_link) back;  /* by to */
};

void ss_timeline_links_init(struct ss_timeline_links *links, const struct ss_timeline *timeline);
void ss_timeline_links_fini(struct ss_timeline_links *links);

/* The links that leave a range (or, with `back`, arrive at it); `*count`: how many; NULL: none. */
const struct ss_timeline_link *ss_timeline_links_of(const struct ss_timeline_links *links,
                                                    uint32_t range, bool back, size_t *count);

/* Where a range of the model is drawn. False: nowhere. */
bool ss_timeline_place(const struct ss_timeline *timeline, uint32_t range, uint32_t *lane,
                       uint32_t *position);

#endif
