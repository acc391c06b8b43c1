/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace events (JSON object format), for Perfetto and chrome://tracing: begin and end
 * events per thread, in microseconds with three decimals since the first event, so that every
 * edge is exact to the nanosecond. A call continues across two samples only if no time is missing
 * between them. Ranges, marks, flows and counters of the tracks are written too.
 */
#ifndef SS_VIEW_EXPORT_CHROME_H
#define SS_VIEW_EXPORT_CHROME_H

#include "analysis/selection/selection.h"
#include "view/output/frame_text.h"
#include "view/output/sink.h"

struct ss_chrome_options {
    size_t size;
    struct ss_frame_style style;
};

/* The model must be loaded with keep_samples. SS_E_EMPTY: nothing is selected. SS_E_UNSUPPORTED:
 * a raw input, which has no times. ss_sink_close returns errors of the sink. */
enum ss_status ss_view_chrome(const struct ss_selection *selection,
                              const struct ss_chrome_options *options, struct ss_sink *sink,
                              struct ss_error *err);

#endif
