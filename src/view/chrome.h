/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace events (JSON object format), for Perfetto and chrome://tracing: begin and end
 * events per thread, in microseconds with three decimals since the first event, so that every
 * edge is exact to the nanosecond. A call goes on from one sample to the next only when no time is
 * missing between them. Ranges, marks, flows and counters of the tracks come too.
 */
#ifndef SS_VIEW_CHROME_H
#define SS_VIEW_CHROME_H

#include "analysis/selection.h"
#include "view/frame_text.h"
#include "view/sink.h"

struct ss_chrome_options {
    size_t size;
    struct ss_frame_style style;
};

/* Needs a model that was loaded with keep_samples. SS_E_EMPTY when nothing is left,
 * SS_E_UNSUPPORTED for raw inputs, which have no times. Errors of the sink come out of
 * ss_sink_close. */
enum ss_status ss_view_chrome(const struct ss_selection *selection,
                              const struct ss_chrome_options *options, struct ss_sink *sink,
                              struct ss_error *err);

#endif
