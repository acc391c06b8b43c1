/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of an event as typed fields. Arguments that no field stands for are left out; what
 * follows from other data is, too (ids that only link events). Private to model/.
 */
#ifndef SS_MODEL_CHROME_CHROME_FIELDS_H
#define SS_MODEL_CHROME_CHROME_FIELDS_H

#include "model/chrome/chrome_rows.h"

struct ss_chrome_fields {
    struct ss_event_value values[SS_MAX_EVENT_FIELDS];
    uint32_t count;
    struct ss_trace_value payload; /* of the field that events of this kind have as payload */
    int64_t device, stream;        /* -1: absent */
    int64_t context;               /* -1: absent */
    int64_t waits_for;             /* stream; -1: absent */
    bool has_correlation;
    uint64_t correlation; /* 0: absent */
};

/* Texts in the fields are valid until the next call. */
void ss_chrome_fields_read(struct ss_chrome_rows *rows, enum ss_chrome_kind kind,
                           struct ss_strview arguments, struct ss_chrome_fields *fields);
void ss_chrome_fields_add(struct ss_chrome_fields *fields, uint32_t field,
                          struct ss_trace_value value);

#endif
