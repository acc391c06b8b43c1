/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of any time belongs to the usual steps of a process: neither warm-up nor outlier nor
 * cut, nor what lies between steps. Of operators, which may be recorded in some steps only (the
 * counter "operators recorded" says 1 or 0 as a step begins), those steps alone. Pure; immutable
 * once built.
 */
#ifndef SS_ANALYSIS_USUAL_TIME_H
#define SS_ANALYSIS_USUAL_TIME_H

#include "analysis/steps.h"

/* Usual steps in a row; those that touch are one. */
struct ss_usual_part {
    uint32_t process;
    uint64_t begin_ns, end_ns;
    uint64_t before_ns; /* usual time of this process until it begins */
};

struct ss_usual_time {
    struct ss_vec_of(struct ss_usual_part) parts; /* by process, then by begin */
    uint64_t steps, total_ns;                     /* of the usual steps that count */
    uint64_t recorded, all; /* steps that were recorded, usual or not, and all there are */
};

/* `training` may be NULL: then there is none. */
void ss_usual_time_init(struct ss_usual_time *time, const struct ss_selection *selection,
                        const struct ss_step_summary *training, bool of_operators);
void ss_usual_time_fini(struct ss_usual_time *time);

/* Asks for times of one process; fast while they go on. */
struct ss_usual_cursor {
    const struct ss_usual_part *parts;
    size_t count, at; /* `at`: parts that begin before or at the last time */
};
void ss_usual_cursor_init(struct ss_usual_cursor *cursor, const struct ss_usual_time *time,
                          uint32_t process);
/* Usual time in [begin, end); `*is_in`: the begin is in it. */
uint64_t ss_usual_time_of(struct ss_usual_cursor *cursor, uint64_t begin_ns, uint64_t end_ns,
                          bool *is_in);

#endif
