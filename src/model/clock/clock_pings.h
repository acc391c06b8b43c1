/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The marks of pings between machines: on a track that names the other clock, "clock of
 * BOOT/NAMESPACE", a mark says that the other clock showed its payload later ("at most") or earlier
 * ("at least"). Private to model/. Pure.
 */
#ifndef SS_MODEL_CLOCK_CLOCK_PINGS_H
#define SS_MODEL_CLOCK_CLOCK_PINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"

/* Whether a track with this name has them; of which clock (may be NULL). */
bool ss_clock_ping_track(struct ss_strview name, struct ss_strview *boot, uint64_t *time_namespace);

#endif
