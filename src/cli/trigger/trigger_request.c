/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trigger/trigger_request.h"

#include <ctype.h>
#include <math.h>

#include "annot/schedule.h"

/* Digits, perhaps after a plus. */
static const char *read_number(const char *text, bool *is_ahead, int64_t *number)
{
    *is_ahead = *text == '+';
    text += *is_ahead;
    if (!isdigit((unsigned char)*text)) {
        return NULL;
    }
    for (*number = 0; isdigit((unsigned char)*text) && *number < SS_SCHEDULE_MAX; text++) {
        *number = *number * 10 + (*text - '0');
    }
    return *number < SS_SCHEDULE_MAX ? text : NULL;
}

bool ss_trigger_steps_parse(const char *text, struct ss_trigger_steps *steps)
{
    bool is_last_ahead;
    const char *end = read_number(text, &steps->is_ahead, &steps->first);
    steps->last = steps->first;
    is_last_ahead = steps->is_ahead;
    if (end != NULL && *end == ':') {
        end = read_number(end + 1, &is_last_ahead, &steps->last);
    }
    return end != NULL && *end == '\0' && is_last_ahead == steps->is_ahead &&
           steps->last >= steps->first && (!steps->is_ahead || steps->first > 0);
}

struct ss_trigger_steps ss_trigger_steps_place(const struct ss_trigger_steps *steps, int64_t step,
                                               double per_second, double delay_s)
{
    struct ss_trigger_steps placed = *steps;
    if (steps->is_ahead) {
        double passed = ceil(per_second * delay_s) + 1;
        int64_t least = passed < 1e12 ? (int64_t)passed : SS_SCHEDULE_MAX / 2;
        int64_t ahead = steps->first > least ? steps->first : least;
        placed.first = step + ahead;
        placed.last = placed.first + (steps->last - steps->first);
        placed.is_ahead = false;
    }
    return placed;
}
