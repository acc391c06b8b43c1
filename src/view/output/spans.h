/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as spans of time, thread by thread, for timelines.
 *
 * A sample covers the time until the thread's next sample if no tick is missing between them, else
 * one period; time without a selected sample is a gap. Spans of a thread do not overlap, are in
 * order and never empty. Immutable after init; borrows the selection.
 */
#ifndef SS_VIEW_OUTPUT_SPANS_H
#define SS_VIEW_OUTPUT_SPANS_H

#include <stdint.h>

#include "analysis/selection/selection.h"
#include "base/vec.h"

struct ss_span {
    uint64_t start_ns, end_ns; /* since the input's base */
    uint32_t stack;
};

typedef struct ss_vec_of(struct ss_span) ss_span_list;

struct ss_spans {
    const struct ss_selection *selection;
    uint32_t *order;   /* indexes of samples, by thread, then by time */
    uint32_t *first;   /* by thread: its first index in `order`; one more at the end */
    bool *is_selected; /* by sample: it is selected */
    /* By input: the time of the first sample or event of all inputs on its time axis. */
    uint64_t *base_ns;
};

/* The model must be loaded with keep_samples. */
void ss_spans_init(struct ss_spans *spans, const struct ss_selection *selection);
void ss_spans_fini(struct ss_spans *spans);
/* Replaces the contents of the list by the spans of a thread. */
void ss_spans_of_thread(const struct ss_spans *spans, uint32_t thread, ss_span_list *list);

/* The index of a thread's input. */
uint32_t ss_thread_input(const struct ss_model *model, uint32_t thread);

#endif
