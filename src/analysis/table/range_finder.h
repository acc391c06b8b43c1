/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges by time and by nesting: which range encloses another on its track, and which was the
 * innermost at a time. Pure; immutable once built. Borrows the model.
 */
#ifndef SS_ANALYSIS_TABLE_RANGE_FINDER_H
#define SS_ANALYSIS_TABLE_RANGE_FINDER_H

#include "model/core/model.h"

/* The tracks of a thread that code is attributed by; 0: none. */
struct ss_thread_tracks {
    uint32_t torch, python, module;
};

struct ss_range_finder {
    const struct ss_model *model;
    uint32_t *parents; /* by range: index of the enclosing range plus one; 0: none */
    struct {
        size_t first, end;
    } * spans;                        /* by track: its ranges of lane 0 */
    struct ss_thread_tracks *threads; /* by thread */
};

void ss_range_finder_init(struct ss_range_finder *finder, const struct ss_model *model);
void ss_range_finder_fini(struct ss_range_finder *finder);

/* The innermost range of the track at the time, plus one; 0: none. Of lane 0. */
uint32_t ss_range_at(const struct ss_range_finder *finder, uint32_t track, uint64_t time_ns);

/* By thread, its track of nested ranges of the domain; 0: none. The caller frees it. */
uint32_t *ss_tracks_of_domain(const struct ss_model *model, const char *domain);
/* Of each place (a range plus one; 0: none), the innermost range of the track of its thread at its
 * begin, plus one; 0: none. Takes time for the places and the ranges, however they nest. */
void ss_ranges_around(const struct ss_range_finder *finder, const uint32_t *track_of_thread,
                      const uint32_t *places, size_t count, uint32_t *found);

#endif
