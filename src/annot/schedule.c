/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/schedule.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

const char *ss_schedule_action_name(enum ss_schedule_action action)
{
    static const char *const names[SS_SCHEDULE_ACTION_COUNT] = {[SS_SCHEDULE_SKIP] = "skip",
                                                                [SS_SCHEDULE_WARMUP] = "warmup",
                                                                [SS_SCHEDULE_RECORD] = "record",
                                                                [SS_SCHEDULE_RECORD_AND_SAVE] =
                                                                    "record_and_save"};
    return (unsigned)action < SS_SCHEDULE_ACTION_COUNT ? names[action] : "?";
}

struct ss_schedule ss_schedule_defaults(bool per_epoch)
{
    if (per_epoch) {
        return (struct ss_schedule){.per_epoch = true, .warmup = 1, .active = 4, .repeat = 1};
    }
    return (struct ss_schedule){.per_epoch = false};
}

enum ss_status ss_schedule_check(const struct ss_schedule *schedule, struct ss_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } arguments[] = {{"skip_first", schedule->skip_first},
                     {"wait", schedule->wait},
                     {"warmup", schedule->warmup},
                     {"active", schedule->active},
                     {"repeat", schedule->repeat}};
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        if (arguments[i].value < 0 || arguments[i].value > SS_SCHEDULE_MAX) {
            return ss_fail(err, SS_E_USAGE,
                           "%s is %" PRId64 ": it must be a whole number from %d to %" PRId64,
                           arguments[i].name, arguments[i].value,
                           strcmp(arguments[i].name, "active") == 0, SS_SCHEDULE_MAX);
        }
    }
    if (schedule->active == 0) {
        return ss_fail(err, SS_E_USAGE,
                       "active is 0: a cycle without active steps records nothing; "
                       "give active=1 or more");
    }
    return SS_OK;
}

/* Steps since the start of the first cycle, with its wait even if skipped; negative before it. */
static int64_t steps_in_cycles(const struct ss_schedule *schedule,
                               const struct ss_schedule_position *position)
{
    int64_t since = position->step - position->resumed_at - schedule->skip_first;
    return since >= 0 && schedule->skip_first_wait != 0 ? since + schedule->wait : since;
}

static int64_t cycle_length(const struct ss_schedule *schedule)
{
    return schedule->wait + schedule->warmup + schedule->active;
}

enum ss_schedule_action ss_schedule_at(const struct ss_schedule *schedule,
                                       const struct ss_schedule_position *position)
{
    int64_t since = steps_in_cycles(schedule, position);
    int64_t length = cycle_length(schedule);
    if (since < 0 || (schedule->repeat > 0 && since / length >= schedule->repeat)) {
        return SS_SCHEDULE_SKIP;
    }
    int64_t in_cycle = since % length;
    if (in_cycle < schedule->wait) {
        return SS_SCHEDULE_SKIP;
    }
    if (in_cycle < schedule->wait + schedule->warmup) {
        return SS_SCHEDULE_WARMUP;
    }
    bool last_of_epoch =
        schedule->per_epoch && position->length >= 0 && position->step == position->length - 1;
    return in_cycle == length - 1 || last_of_epoch ? SS_SCHEDULE_RECORD_AND_SAVE
                                                   : SS_SCHEDULE_RECORD;
}

int64_t ss_schedule_lead(const struct ss_schedule *schedule)
{
    int64_t wait = schedule->skip_first_wait != 0 ? 0 : schedule->wait;
    return schedule->skip_first + wait + schedule->warmup;
}

bool ss_schedule_ends_cycle(const struct ss_schedule *schedule,
                            const struct ss_schedule_position *position)
{
    int64_t since = steps_in_cycles(schedule, position);
    return since >= 0 && since % cycle_length(schedule) == cycle_length(schedule) - 1;
}
