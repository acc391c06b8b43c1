/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the clocks of several traces relate, and whose they are: what a merge needs before it reads
 * them. Traces of one machine and boot share a clock, which their heads say. Others are loaded as a
 * model, without their samples, and aligned as every model is (model/clock/clock_align.h). The axis
 * is the clock of the first trace.
 */
#ifndef SS_MODEL_CLOCK_CLOCK_PARTS_H
#define SS_MODEL_CLOCK_CLOCK_PARTS_H

#include "model/core/clock_fit.h"
#include "model/core/model.h"

struct ss_clock_part {
    char host[256], run_id[128]; /* "": unknown */
    int64_t rank;                /* -1: unknown */
    bool is_on_axis, is_mapped;  /* not mapped: its boot or its clock is not known */
    bool is_by_wall;             /* only by the wall clocks of the machines */
    int64_t shift_ns;            /* to the axis, before the segments */
    struct ss_clock_segments segments;
    uint64_t error_ns;
    uint64_t start_ns; /* of its first event */
    uint64_t wall_ns;  /* of its first reading of clocks */
};

struct ss_clock_parts {
    struct ss_vec_of(struct ss_clock_part) rows; /* by path */
    uint64_t error_ns;                           /* the largest */
    bool is_contradictory;
};

enum ss_status ss_clock_parts_init(struct ss_clock_parts *parts, const char *const *paths,
                                   size_t count, struct ss_error *err);
void ss_clock_parts_fini(struct ss_clock_parts *parts);
uint64_t ss_clock_part_on_axis(const struct ss_clock_part *part, uint64_t time_ns);

#endif
