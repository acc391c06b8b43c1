/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules as text: "wait=5,warmup=1,active=3,repeat=2", "per_epoch,active=4". The names are the
 * arguments of torch.profiler.schedule and cyclic_schedule; `-` may replace `_`. "per_epoch" counts
 * the batches of each epoch, with the defaults of cyclic_schedule. Pure; no allocation.
 */
#ifndef SS_ANNOT_SCHEDULE_TEXT_H
#define SS_ANNOT_SCHEDULE_TEXT_H

#include <stddef.h>

#include "annot/schedule.h"

enum { SS_SCHEDULE_TEXT_BYTES = 192 }; /* holds every schedule that ss_schedule_put writes */

/* The result is valid (ss_schedule_check); on failure *schedule is unchanged. */
enum ss_status ss_schedule_parse(const char *text, struct ss_schedule *schedule,
                                 struct ss_error *err);
/* Formats every argument that is not the default; parsing the text gives the same schedule. */
void ss_schedule_put(const struct ss_schedule *schedule, char *text, size_t size);

#endif
