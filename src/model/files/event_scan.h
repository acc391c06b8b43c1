/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the members of one trace event that a merge changes, in one pass over its bytes and without
 * a copy. Pure.
 */
#ifndef SS_MODEL_FILES_EVENT_SCAN_H
#define SS_MODEL_FILES_EVENT_SCAN_H

#include <stdbool.h>

#include "base/strview.h"

/* Values as written, texts with their quotes; data NULL: absent. */
struct ss_event_scan {
    struct ss_strview all; /* from brace to brace */
    struct ss_strview pid, ts, id, bind_id, id2, phase, name, args;
};

enum ss_event_scanned {
    SS_EVENT_SCANNED,
    SS_EVENT_SCAN_CUT, /* the bytes end within the event */
    SS_EVENT_SCAN_BAD
};

/* `at` is at the brace that begins the event. */
enum ss_event_scanned ss_event_scan(const char *at, const char *end, struct ss_event_scan *event);

#endif
