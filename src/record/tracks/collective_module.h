/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks of torch say of the data of a collective, as one text of the ring: the module that
 * it belongs to; of a bucket of gradients also, in lines of their own, the number of the bucket,
 * the number of buckets, and the first and the last parameter; of other parameters, both numbers
 * are empty. Any other text is the name of a module up to its first line end. Pure; borrows the
 * text.
 */
#ifndef SS_RECORD_TRACKS_COLLECTIVE_MODULE_H
#define SS_RECORD_TRACKS_COLLECTIVE_MODULE_H

#include "base/strview.h"
#include "trace/event_fields.h"

enum { SS_COLLECTIVE_MODULE_FIELDS = 5 };

/* Returns how many fields it put; none for an empty text. */
uint32_t ss_collective_module_put(struct ss_strview text,
                                  struct ss_event_value fields[SS_COLLECTIVE_MODULE_FIELDS]);

#endif
