/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of events (base/event_types.def) and their typed fields (events.def), as data.
 * Immutable.
 */
#ifndef SS_TRACE_EVENT_FIELDS_H
#define SS_TRACE_EVENT_FIELDS_H

#include "base/strview.h"
#include "trace/schema.h"
#include "trace/track_records.h"

/* SS_EVENT_FIELD_bytes, … */
enum ss_event_field_id {
    SS_EVENT_FIELD_NONE,
#define SS_EVENT_FIELD(name, number, type, unit, meaning) SS_EVENT_FIELD_##name = (number),
#include "trace/events.def"
    SS_EVENT_FIELD_COUNT /* above the highest */
};

struct ss_event_field {
    const char *name, *unit, *meaning;
    enum ss_value_type type;  /* UINT also of refs */
    enum ss_schema_id entity; /* of refs; SS_SCHEMA_COUNT: it is none */
    bool is_time;             /* of the recording's clock; 0: unknown */
};

struct ss_event_type_row {
    const char *name, *meaning;
    enum ss_event_field_id payload; /* for which its payload stands; NONE: the program's */
};

/* By number; entries without a name are unused. */
extern const struct ss_event_field ss_event_fields[SS_EVENT_FIELD_COUNT];
extern const struct ss_event_type_row ss_event_types[SS_EVENT_TYPE_COUNT];

/* SS_EVENT_FIELD_NONE: there is none of that name. */
enum ss_event_field_id ss_event_field_named(struct ss_strview name);
/* True when the field exists and the value has its type. */
bool ss_event_field_fits(const struct ss_event_value *value);
/* True when the id of its flow is the same in all files of a run: that of a send between two ranks,
 * and of the end of its receive. Other ids are a file's own. */
bool ss_event_has_flow_of_run(const struct ss_trace_event *event);

#endif
