/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a communication group as runs of equal distance: a group of every eighth rank of
 * 8,192 takes a few bytes. Pure.
 */
#ifndef SS_TRACE_RANK_RUNS_H
#define SS_TRACE_RANK_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strview.h"
#include "wire/proto.h"

struct ss_rank_run {
    uint32_t first, count, stride;
};

/* Appends the ranks, in their order, as runs. */
void ss_rank_runs_put(struct ss_wire_buffer *out, const uint32_t *ranks, size_t count);
void ss_rank_run_put(struct ss_wire_buffer *out, const struct ss_rank_run *run);
/* Removes the next run from the front of `runs`. false: there is none, or the rest is malformed.
 * All ranks of a run are at most UINT32_MAX. */
bool ss_rank_runs_next(struct ss_strview *runs, struct ss_rank_run *run);

#endif
