/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks in py-spy's raw format: one line per stack, outermost frame first,
 * `name (file:line);… COUNT`. Readers: flamegraph.pl, inferno, speedscope, Perfetto, itwinai,
 * stepscope. Names cannot break a line: control characters and ';' in them are replaced.
 */
#ifndef SS_VIEW_EXPORT_FOLDED_H
#define SS_VIEW_EXPORT_FOLDED_H

#include "analysis/selection/selection.h"
#include "view/output/frame_text.h"
#include "view/output/sink.h"

struct ss_folded_options {
    size_t size;
    struct ss_frame_style style;
    bool processes; /* process labels even if all samples are of one process */
    bool threads;   /* -t: thread labels */
};

/* Lines are in order of first appearance. SS_E_EMPTY: no samples are selected. ss_sink_close
 * returns errors of the sink. */
enum ss_status ss_view_folded(const struct ss_selection *selection,
                              const struct ss_folded_options *options, struct ss_sink *sink,
                              struct ss_error *err);

#endif
