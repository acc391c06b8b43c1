/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a trace file that a copy must have: all but long holes that belong to no unit. A
 * crash of the machine can leave such holes, and a sparse file of any length costs nothing to
 * create. One owner.
 */
#ifndef SS_TRACE_HOLES_H
#define SS_TRACE_HOLES_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

struct ss_trace_part {
    uint64_t offset, length;
};

struct ss_trace_parts {
    struct ss_vec_of(struct ss_trace_part) rows; /* in the order of the file */
    uint64_t bytes, left_out_bytes;
};

/* A file without long holes is one part, and is not read. So is one on a file system that does not
 * list holes. */
enum ss_status ss_trace_parts_init(struct ss_trace_parts *parts, const char *path,
                                   struct ss_error *err);
void ss_trace_parts_fini(struct ss_trace_parts *parts);

#endif
