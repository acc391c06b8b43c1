/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The details of a call or of the work of a device in a file of torch.profiler, as typed fields:
 * from the text of its details (members of a JSON object: those of the hooks, and of Kineto's
 * metadata), from its columns, and from names of copies (base/device_api.h). Input is hostile.
 */
#ifndef SS_RECORD_TRACKS_TORCH_DETAILS_H
#define SS_RECORD_TRACKS_TORCH_DETAILS_H

#include <stdint.h>

#include "source/torch_profile.h"
#include "trace/track_records.h"

struct json_t;

/* Read once for all events with the same text. Zero: not read. */
struct ss_torch_details {
    bool is_read;
    struct json_t *object; /* NULL: none, or not readable */
    char *shapes, *types, *inputs, *stack;
};

void ss_torch_details_read(struct ss_torch_details *details, struct ss_strview members);
void ss_torch_details_fini(struct ss_torch_details *details);

/* The name of the communication group of a kernel, borrowed, and its size (0: unknown); empty: it
 * has none. */
struct ss_strview ss_torch_details_group(const struct ss_torch_details *details, uint32_t *size);
/* `type`: kind of the event. Writes at most SS_MAX_EVENT_FIELDS; returns their number. Texts are
 * borrowed from the details. */
uint32_t ss_torch_details_fields(const struct ss_torch_details *details,
                                 const struct ss_torch_range *range, enum ss_event_type type,
                                 struct ss_strview name, struct ss_event_value *fields);

#endif
