/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes that load files of a request (model/load/load_parts.h). Called by the thread that
 * loads. */
#ifndef SS_MODEL_CORE_PART_WORKERS_H
#define SS_MODEL_CORE_PART_WORKERS_H

#include <stddef.h>

#include "base/error.h"
#include "wire/proto.h"

/* Other processes that load files, numbered from 1. They get a request each, and send one message
 * for each file (model/load/part_wire.h), in order; one of a single byte: it could not be loaded
 * there.
 */
struct ss_part_workers {
    unsigned count;
    void *context;
    enum ss_status (*request)(void *context, unsigned worker, const void *bytes, size_t length,
                              struct ss_error *err);
    enum ss_status (*receive)(void *context, unsigned worker, struct ss_wire_buffer *message,
                              struct ss_error *err);
};

#endif
