/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the timeline page asks for, as JSON. Times are integers in ns since time 0; names are cut
 * (labels.h) and made valid UTF-8. A slice is identified by its lane and its position there. Each
 * answer is a pure function of the timeline and the request; the sink is memory of the caller.
 */
#ifndef SS_TIMELINE_ANSWERS_H
#define SS_TIMELINE_ANSWERS_H

#include "analysis/steps/steps.h"
#include "timeline/links.h"
#include "timeline/picture.h"
#include "view/output/sink.h"

/* Everything that answers come from; borrowed. */
struct ss_answering {
    const struct ss_timeline *timeline;
    const struct ss_step_summary *steps;
    const struct ss_timeline_links *links;
};

/* Groups, tracks, files, what is hidden. */
void ss_answer_overview(const struct ss_answering *answering, struct ss_sink *sink);
/* {"rows": [{"track", "lane", "bucket_ns", "rects": [begin, duration, name, count, position
 * of the longest, percent busy, …] or "points": [time, low, high, last, …]}], "names": […]} */
void ss_answer_picture(const struct ss_answering *answering,
                       const struct ss_picture_request *request, struct ss_sink *sink);
/* All that is known of a slice, and the slices that it is joined with. False: there is no such
 * slice, and nothing is written. */
bool ss_answer_slice(const struct ss_answering *answering, uint32_t lane, uint32_t position,
                     struct ss_sink *sink);
/* Time by name and by track within a time range. */
void ss_answer_sums(const struct ss_answering *answering, uint64_t from_ns, uint64_t to_ns,
                    struct ss_sink *sink);
/* Slices whose name contains the text, whatever the case: how many, where they lie (a count for
 * each of 512 parts of the recording), and the next after a place (before it, with `backward`; from
 * the very begin or end where it is NULL) in the order of begins and lanes. */
struct ss_search_place {
    uint64_t begin_ns; /* since time 0 */
    uint32_t lane, position;
};
void ss_answer_search(const struct ss_answering *answering, struct ss_strview text,
                      const struct ss_search_place *after, bool backward, struct ss_sink *sink);

enum ss_step_choice { SS_CHOOSE_NEXT, SS_CHOOSE_PREVIOUS, SS_CHOOSE_OUTLIER };
/* The step of the process (of the first with steps, where it has none) that begins after a time, or
 * before it; with `from_begin` after the start of all. {"step": null}: there is none. */
void ss_answer_step(const struct ss_answering *answering, uint32_t process, bool from_begin,
                    uint64_t at_ns, enum ss_step_choice choice, struct ss_sink *sink);

#endif
