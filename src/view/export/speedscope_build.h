/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the writers of speedscope's JSON (samples, ranges). Private to speedscope*.c. */
#ifndef SS_VIEW_EXPORT_SPEEDSCOPE_BUILD_H
#define SS_VIEW_EXPORT_SPEEDSCOPE_BUILD_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "view/export/speedscope.h"
#include "view/output/spans.h"

struct ss_speedscope_writing {
    const struct ss_selection *selection;
    const struct ss_speedscope_options *options;
    struct ss_sink *sink;
    struct ss_spans spans;
    ss_span_list list;
    uint32_t *number_of_frame; /* by model frame: number in "frames" + 1 */
    uint32_t *number_of_name;  /* by model name: the same */
    uint32_t frame_count;      /* written so far */
    struct ss_vec_of(uint32_t) path;
    bool any_profile;
};

/* Writes "{"name": …", after a comma unless it is the first; the caller closes it. */
void ss_speedscope_begin_frame(struct ss_speedscope_writing *writing, struct ss_strview name);
/* "Process 12 (rank 3) Thread 13 "loader"". */
void ss_speedscope_append_owner(const struct ss_model *model, uint32_t process, uint32_t thread,
                                struct ss_strbuf *name);
/* Writes a profile up to its member of samples or events. */
void ss_speedscope_begin_profile(struct ss_speedscope_writing *writing, const char *type,
                                 struct ss_strview name, const char *unit, uint64_t start,
                                 uint64_t end);

/* speedscope_ranges.c: an evented profile for each lane of ranges. */
bool ss_speedscope_has_ranges(const struct ss_selection *selection);
/* Writes their names as frames. */
void ss_speedscope_range_frames(struct ss_speedscope_writing *writing);
void ss_speedscope_write_ranges(struct ss_speedscope_writing *writing);

#endif
