/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces as PyTorch's profiler (Kineto) writes them, for HolisticTraceAnalysis, TensorBoard's
 * profiler plugin and Perfetto: the ranges, marks and counters of one program, without samples.
 * What only links events is made anew: flows from launches to work and from forward to backward,
 * external ids, ids of Python's calls. Ranges of one pid and tid nest: what would overlap lies on a
 * tid of its own. An import of the file has the same rows as the model.
 */
#ifndef SS_VIEW_EXPORT_KINETO_H
#define SS_VIEW_EXPORT_KINETO_H

#include "analysis/selection/selection.h"
#include "view/output/sink.h"

struct ss_kineto_options {
    size_t size;
    /* For torch_tb_profiler, which joins calls, work and operators only when they are written as
     * Kineto did when it was released: the category Runtime, scopes of collectives and loaders as
     * operators, external id 0 for none, and times in eighths of a microsecond. Annotations of
     * devices, which it takes for ones of the host, are left out. */
    bool for_tensorboard;
    /* Only what begins in this time; work of devices, whose launch does. On the time axis. */
    bool has_span;
    uint64_t from_ns, to_ns;
    uint64_t most_bytes; /* more are SS_E_LIMIT; 0: no limit */
};

/* The processes of the selection must be those of one program. SS_E_EMPTY: nothing is selected.
 * SS_E_UNSUPPORTED: a raw input, which has no times. ss_sink_close returns errors of the sink. */
enum ss_status ss_view_kineto(const struct ss_selection *selection,
                              const struct ss_kineto_options *options, struct ss_sink *sink,
                              struct ss_error *err);

/* The wall clock at the first event of the selection, in ns since 1970; 0: unknown, or no event. */
uint64_t ss_kineto_begin_ns(const struct ss_selection *selection);

#endif
