/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of this process that hold from now on, such as the version of a library: told to the
 * recorder, and kept in the header for one that comes later. Those that find no place there are
 * told all the same. Any thread.
 */
#ifndef SS_ANNOT_FACTS_H
#define SS_ANNOT_FACTS_H

#include "annot/events.h"

/* `key`: a name (annot/define.h). What was told under it before does not hold any more. */
void ss_fact_tell(uint32_t key, struct ss_event_value value);

#endif
