/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as spans of true time, one thread after the other: what timelines are made of.
 *
 * A sample stands for the time up to the thread's next one when no tick is missing between them,
 * else for one period; what nothing was seen of, or is not selected, stays a gap. Spans of a
 * thread do not overlap, are in order and never empty. Immutable once made; borrows the selection.
 */
#ifndef SS_VIEW_SPANS_H
#define SS_VIEW_SPANS_H

#include <stdint.h>

#include "analysis/selection.h"
#include "base/vec.h"

struct ss_span {
    uint64_t start_ns, end_ns; /* since the input's base */
    uint32_t stack;
};

typedef struct ss_vec_of(struct ss_span) ss_span_list;

struct ss_spans {
    const struct ss_selection *selection;
    uint32_t *order; /* indexes of samples, by thread, then by time */
    uint32_t *first; /* by thread: where its samples begin in `order`; one more at the end */
    bool *kept;      /* by sample */
    /* By input: the first sample, or what of the tracks is earlier, of all on its time axis. */
    uint64_t *base_ns;
};

/* Needs a model that was loaded with keep_samples. */
void ss_spans_init(struct ss_spans *spans, const struct ss_selection *selection);
void ss_spans_fini(struct ss_spans *spans);
/* The spans of a thread, replacing what was in the list. */
void ss_spans_of_thread(const struct ss_spans *spans, uint32_t thread, ss_span_list *list);

/* The index of the input that a thread comes from. */
uint32_t ss_thread_input(const struct ss_model *model, uint32_t thread);

#endif
