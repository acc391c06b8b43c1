/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of an interval belongs to the steady-state steps of a process: no warm-up, outliers or
 * cut steps, nor what lies between steps. For operators and the work of devices, which may be
 * recorded in some steps only (recorded_steps.h, recorded_devices.h), only those steps. Pure;
 * immutable once built.
 */
#ifndef SS_ANALYSIS_STEPS_STEADY_TIME_H
#define SS_ANALYSIS_STEPS_STEADY_TIME_H

#include "analysis/steps/steps.h"

/* Consecutive steady-state steps; adjacent ones are one part. */
struct ss_steady_part {
    uint32_t process;
    uint64_t begin_ns, end_ns;
    uint64_t before_ns; /* steady-state time of this process before it */
};

struct ss_steady_time {
    struct ss_vec_of(struct ss_steady_part) parts; /* by process, then by begin */
    uint64_t steps, total_ns;                      /* of the steady-state steps that count */
    uint64_t recorded, all; /* recorded steps, steady-state or not, and all steps */
};

enum ss_steady_of {
    SS_STEADY_OF_ALL,
    SS_STEADY_OF_MODULES,
    SS_STEADY_OF_OPERATORS,
    SS_STEADY_OF_DEVICES
};
/* Whether what is asked for was recorded of the step. */
bool ss_steady_has(const struct ss_step *step, enum ss_steady_of of);

/* `training` may be NULL: then there are no parts. */
void ss_steady_time_init(struct ss_steady_time *time, const struct ss_step_summary *training,
                         enum ss_steady_of of);
void ss_steady_time_fini(struct ss_steady_time *time);

/* Cursor for queries of one process; fast for ascending times. */
struct ss_steady_cursor {
    const struct ss_steady_part *parts;
    size_t count, at; /* `at`: parts that begin at or before the last time */
};
void ss_steady_cursor_init(struct ss_steady_cursor *cursor, const struct ss_steady_time *time,
                           uint32_t process);
/* Steady-state time in [begin, end); `*is_in`: whether the start is in it. */
uint64_t ss_steady_time_of(struct ss_steady_cursor *cursor, uint64_t begin_ns, uint64_t end_ns,
                           bool *is_in);

#endif
