/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entities of a recording as one type: what schema.def declares with SS_ENTITY. Values only.
 */
#ifndef SS_TRACE_ENTITIES_H
#define SS_TRACE_ENTITIES_H

#include "trace/records.h"
#include "trace/schema.h"

union ss_trace_entity {
    uint32_t ref; /* the first member of each */
#define SS_ENTITY(name, number, when, meaning) struct ss_trace_##name name;
#include "trace/schema.def"
};

#define SS_ENTITY(name, number, when, meaning)                                                     \
    _Static_assert(offsetof(struct ss_trace_##name, ref) == 0,                                     \
                   #name " does not begin with its ref");
#include "trace/schema.def"

#endif
