/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording schedule: cycles of wait, warm-up and active (recorded) steps, as in torch.profiler
 * and Composer.
 *
 * Pure integer arithmetic: no state, no allocation, safe anywhere. Counting starts with the run
 * (torch: the steps of the whole run) or restarts with each epoch (Composer: the batches of the
 * epoch). annot/schedule_run.h applies a schedule to a running program.
 */
#ifndef SS_ANNOT_SCHEDULE_H
#define SS_ANNOT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum ss_schedule_action {
    SS_SCHEDULE_SKIP,
    SS_SCHEDULE_WARMUP,
    SS_SCHEDULE_RECORD,
    SS_SCHEDULE_RECORD_AND_SAVE, /* record; the window ends with this step */
    SS_SCHEDULE_ACTION_COUNT
};

/* "skip", "warmup", "record", "record_and_save". */
const char *ss_schedule_action_name(enum ss_schedule_action action);

struct ss_schedule {
    bool per_epoch;          /* false: count the steps of the run; true: the batches of an epoch */
    int64_t skip_first;      /* once, before the first cycle */
    int64_t skip_first_wait; /* not 0: the first cycle does not wait */
    int64_t wait, warmup, active; /* one cycle */
    int64_t repeat;               /* cycles; 0: no end */
};

/* Maximum of each number in a schedule, so that no sum overflows. */
#define SS_SCHEDULE_MAX INT64_C(1000000000000)

/* The default of each argument. torch has no default for `active`: it is 0 there, so that
 * ss_schedule_check requires it. */
struct ss_schedule ss_schedule_defaults(bool per_epoch);

/* SS_OK, or SS_E_USAGE with the name of the argument and the reason: a value below 0 or above
 * SS_SCHEDULE_MAX, or a cycle without active steps. The functions below need a valid schedule. */
enum ss_status ss_schedule_check(const struct ss_schedule *schedule, struct ss_error *err);

/* The position of a step. */
struct ss_schedule_position {
    int64_t step;       /* of the run, or batch of the epoch; from 0 */
    int64_t resumed_at; /* batch at which this epoch was resumed; else 0 */
    int64_t length;     /* batches of this epoch; -1: unknown, or no epochs */
};

enum ss_schedule_action ss_schedule_at(const struct ss_schedule *schedule,
                                       const struct ss_schedule_position *position);

/* Steps before the first recorded one: skip_first + wait + warmup, or without the wait. */
int64_t ss_schedule_lead(const struct ss_schedule *schedule);

/* True for the last step of a cycle: a window that ends at another step was cut. */
bool ss_schedule_ends_cycle(const struct ss_schedule *schedule,
                            const struct ss_schedule_position *position);

static inline bool ss_schedule_records(enum ss_schedule_action action)
{
    return action >= SS_SCHEDULE_RECORD;
}

#endif
