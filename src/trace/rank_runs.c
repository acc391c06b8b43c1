/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/rank_runs.h"

/* The number of ranks from the first on that have equal, ascending distances. */
static size_t length_of_run(const uint32_t *ranks, size_t count)
{
    if (count < 2 || ranks[1] <= ranks[0]) {
        return 1;
    }
    size_t length = 2;
    uint32_t stride = ranks[1] - ranks[0];
    while (length < count && ranks[length] > ranks[length - 1] &&
           ranks[length] - ranks[length - 1] == stride) {
        length++;
    }
    return length;
}

void ss_rank_run_put(struct ss_wire_buffer *out, const struct ss_rank_run *run)
{
    ss_wire_put_varint(out, run->first);
    ss_wire_put_varint(out, run->count);
    ss_wire_put_varint(out, run->stride);
}

void ss_rank_runs_put(struct ss_wire_buffer *out, const uint32_t *ranks, size_t count)
{
    for (size_t at = 0, length; at < count; at += length) {
        length = length_of_run(ranks + at, count - at);
        ss_rank_run_put(
            out, &(struct ss_rank_run){.first = ranks[at],
                                       .count = (uint32_t)length,
                                       .stride = length > 1 ? ranks[at + 1] - ranks[at] : 1});
    }
}

bool ss_rank_runs_next(struct ss_strview *runs, struct ss_rank_run *run)
{
    struct ss_wire_cursor cursor = ss_wire_cursor_of(runs->data, runs->length);
    uint64_t first, count, stride;
    if (!ss_wire_get_varint(&cursor, &first) || !ss_wire_get_varint(&cursor, &count) ||
        !ss_wire_get_varint(&cursor, &stride) || first > UINT32_MAX || count == 0 ||
        count > UINT32_MAX || stride > UINT32_MAX || (count - 1) * stride > UINT32_MAX - first) {
        runs->length = 0;
        return false;
    }
    *runs = ss_wire_view(cursor);
    *run = (struct ss_rank_run){(uint32_t)first, (uint32_t)count, (uint32_t)stride};
    return true;
}
