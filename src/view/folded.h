/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks as py-spy's raw format has them: one line per stack, outermost frame first,
 * `name (file:line);… COUNT`. Readers: flamegraph.pl, inferno, speedscope, Perfetto, itwinai, our
 * own. Names cannot break a line: control characters and ';' in them are replaced.
 */
#ifndef SS_VIEW_FOLDED_H
#define SS_VIEW_FOLDED_H

#include "analysis/selection.h"
#include "view/frame_text.h"
#include "view/sink.h"

struct ss_folded_options {
    size_t size;
    struct ss_frame_style style;
    bool processes; /* process labels also when all samples are of one process */
    bool threads;   /* -t: thread labels */
};

/* In order of first appearance. SS_E_EMPTY when no samples are left. Errors of the sink come out
 * of ss_sink_close. */
enum ss_status ss_view_folded(const struct ss_selection *selection,
                              const struct ss_folded_options *options, struct ss_sink *sink,
                              struct ss_error *err);

#endif
