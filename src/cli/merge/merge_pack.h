/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several recordings as one TAR that Perfetto and stepscope open: the files as they are, and a
 * manifest that names the machine of each and relates their clocks. The same recordings yield the
 * same bytes. Stateless.
 */
#ifndef SS_CLI_MERGE_MERGE_PACK_H
#define SS_CLI_MERGE_MERGE_PACK_H

#include "cli/merge/merge_inputs.h"
#include "model/clock/clock_parts.h"

struct ss_merge_packed {
    uint64_t bytes;
    size_t files, repeated;
    uint64_t drift_ns; /* what the constant offsets of the manifest leave out, at most */
    /* Files with long holes that hold no record, which the archive is without. */
    size_t with_holes;
    uint64_t hole_bytes;
    const char *first_with_holes; /* of the inputs */
};

enum ss_status ss_merge_pack(const struct ss_merge_inputs *inputs,
                             const struct ss_clock_parts *clocks, const char *output,
                             struct ss_merge_packed *packed, struct ss_error *err);

#endif
