/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the details of a call or of the work of a device: fields of the right types, or
 * none. */
#include <stdio.h>
#include <stdlib.h>

#include "record/tracks/torch_details.h"
#include "trace/event_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ss_strview text = {size > 0 ? (const char *)data : "", size};
    static const enum ss_torch_kind kinds[] = {SS_TORCH_OPERATOR, SS_TORCH_RUNTIME,
                                               SS_TORCH_DEVICE};
    struct ss_torch_details details = {0};
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    ss_torch_details_read(&details, text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ss_torch_range range = {.kind = kinds[i], .correlation = size};
        uint32_t count =
            ss_torch_details_fields(&details, &range, SS_EVENT_TYPE_copy, text, fields);
        for (uint32_t k = 0; k < count; k++) {
            if (count > SS_MAX_EVENT_FIELDS || !ss_event_field_fits(&fields[k])) {
                fprintf(stderr, "broken: a field has its type\n");
                abort();
            }
        }
    }
    ss_torch_details_fini(&details);
    return 0;
}
