/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of events as constants: SS_EVENT_TYPE_kernel, … (event_types.def). The kind of an event
 * is that of its name. */
#ifndef SS_BASE_EVENT_TYPES_H
#define SS_BASE_EVENT_TYPES_H

enum ss_event_type {
    SS_EVENT_TYPE_NONE, /* as its track has it */
#define SS_EVENT_TYPE(name, number, meaning) SS_EVENT_TYPE_##name = (number),
#include "base/event_types.def"
#undef SS_EVENT_TYPE
    SS_EVENT_TYPE_COUNT
};

#endif
