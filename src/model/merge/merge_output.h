/* SPDX-License-Identifier: Apache-2.0 */
/* Where merged trace events go. Owned by the caller. */
#ifndef SS_MODEL_MERGE_MERGE_OUTPUT_H
#define SS_MODEL_MERGE_MERGE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct ss_merge_json_output {
    /* Returns false once a write has failed. */
    bool (*write)(void *context, const void *bytes, size_t length);
    void *context;
};

#endif
