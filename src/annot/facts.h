/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about this process that hold from now on, such as the version of a library: written to the
 * ring, and stored in the header for a recorder that attaches later. Facts beyond the capacity of
 * the header are only written to the ring. Any thread.
 */
#ifndef SS_ANNOT_FACTS_H
#define SS_ANNOT_FACTS_H

#include "annot/events.h"

/* `key`: a name (annot/define.h). Replaces the previous value of the key. */
void ss_fact_set(uint32_t key, struct ss_event_value value);

#endif
