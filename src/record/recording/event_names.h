/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a recording's ranges and instants: one for each (text, category, colour, source
 * location, kind), defined in the trace on first use, whichever source emits them. Owned by the
 * recorder's thread.
 */
#ifndef SS_RECORD_RECORDING_EVENT_NAMES_H
#define SS_RECORD_RECORDING_EVENT_NAMES_H

#include <stdint.h>

#include "base/error.h"
#include "base/event_types.h"
#include "base/intern.h"
#include "record/recording/recording.h"

struct ss_event_names {
    struct ss_intern texts;
    struct ss_intern keys; /* the ids are the refs of names */
};

/* Texts are ids of `texts`; 0: none. */
struct ss_event_name {
    uint32_t text, category, argb, file, line;
    enum ss_event_type type;
};

void ss_event_names_init(struct ss_event_names *names);
void ss_event_names_fini(struct ss_event_names *names);
/* The ref of a name. `err` is set when the trace cannot be written. */
uint32_t ss_event_names_put(struct ss_event_names *names, struct ss_recording *recording,
                            const struct ss_event_name *name, struct ss_error *err);

#endif
