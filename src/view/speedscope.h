/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's JSON (file-format-schema.json of its package): one sampled profile per thread, in
 * true time; what was not seen or not selected is a sample without frames. Raw inputs have no
 * times: their profiles count samples.
 */
#ifndef SS_VIEW_SPEEDSCOPE_H
#define SS_VIEW_SPEEDSCOPE_H

#include "analysis/selection.h"
#include "view/frame_text.h"
#include "view/sink.h"

struct ss_speedscope_options {
    size_t size;
    struct ss_frame_style style;
    const char *name; /* of the whole; NULL: the recorded command */
};

/* Needs a model that was loaded with keep_samples. SS_E_EMPTY when no samples are left. Errors of
 * the sink come out of ss_sink_close. */
enum ss_status ss_view_speedscope(const struct ss_selection *selection,
                                  const struct ss_speedscope_options *options, struct ss_sink *sink,
                                  struct ss_error *err);

#endif
