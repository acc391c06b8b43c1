/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's JSON (file-format-schema.json of its package): one sampled profile per thread, in
 * nanoseconds; time without a selected sample is a sample without frames. Raw inputs have no times:
 * their profiles count samples.
 */
#ifndef SS_VIEW_EXPORT_SPEEDSCOPE_H
#define SS_VIEW_EXPORT_SPEEDSCOPE_H

#include "analysis/selection/selection.h"
#include "view/output/frame_text.h"
#include "view/output/sink.h"

struct ss_speedscope_options {
    size_t size;
    struct ss_frame_style style;
    const char *name; /* of the file; NULL: the recorded command */
};

/* The model must be loaded with keep_samples. SS_E_EMPTY: neither samples nor ranges are selected.
 * ss_sink_close returns errors of the sink. */
enum ss_status ss_view_speedscope(const struct ss_selection *selection,
                                  const struct ss_speedscope_options *options, struct ss_sink *sink,
                                  struct ss_error *err);

#endif
