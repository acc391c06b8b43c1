/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that `trigger --steps` names. Pure. */
#ifndef SS_CLI_TRIGGER_TRIGGER_REQUEST_H
#define SS_CLI_TRIGGER_TRIGGER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct ss_trigger_steps {
    bool is_ahead; /* of the furthest rank */
    int64_t first, last;
};

/* "100:110", "100", "+5:+14", "+5". false: none of these. */
bool ss_trigger_steps_parse(const char *text, struct ss_trigger_steps *steps);
/* The window that all ranks can still record: the furthest one is in step `step`, makes
 * `per_second` steps a second, and it takes `delay_s` until each rank has been asked. */
struct ss_trigger_steps ss_trigger_steps_place(const struct ss_trigger_steps *steps, int64_t step,
                                               double per_second, double delay_s);

#endif
