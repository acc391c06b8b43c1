/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls of two ranks belong together where their numbers were not recorded.
 *
 * Both ranks have the same calls in the same order, but a recording may lack some: one that is lost
 * must not shift all others. The calls are aligned by kind, size and the time of their ends, which
 * lie close together in all ranks of a collective; the clocks may differ by a constant. Pure.
 */
#ifndef SS_ANALYSIS_TABLE_CALL_ALIGNMENT_H
#define SS_ANALYSIS_TABLE_CALL_ALIGNMENT_H

#include <stddef.h>
#include <stdint.h>

struct ss_aligned_call {
    uint64_t end_ns;
    uint64_t kind; /* equal for calls that may belong together: of the kind and the bytes */
};

/* Writes for each call of `b` the index of its partner in `a`, or SIZE_MAX. Both are in the order
 * of time. Where as many calls in the same order fit, they keep their order; where most have no
 * partner, none has. */
void ss_align_calls(const struct ss_aligned_call *a, size_t a_count,
                    const struct ss_aligned_call *b, size_t b_count, size_t *partners);

#endif
