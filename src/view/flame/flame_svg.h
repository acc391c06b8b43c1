/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graphs as one SVG file without external references: a static picture; where scripts run
 * (in an opened file, not an <img>), with zoom, search, details, keyboard and links to the view.
 */
#ifndef SS_VIEW_FLAME_FLAME_SVG_H
#define SS_VIEW_FLAME_FLAME_SVG_H

#include "analysis/selection/selection.h"
#include "base/error.h"
#include "view/flame/flame_color.h"
#include "view/output/frame_text.h"
#include "view/output/sink.h"

enum { SS_FLAME_MAX_BYTES = 1000 * 1000 };

struct ss_flame_options {
    size_t size;
    struct ss_frame_style style;
    bool inverted;     /* outermost at the bottom */
    bool reverse;      /* leaves outermost */
    bool threads;      /* rectangles for threads */
    bool ranges;       /* rectangles for the enclosing ranges (load with sample_ranges) */
    bool no_processes; /* no rectangles for processes, even if there are several */
    enum ss_flame_scheme colors;
    bool base_widths;  /* difference: initial widths are the baseline's */
    bool by_samples;   /* difference: compares samples instead of shares */
    double width_px;   /* 0: 1200, or the window's width where the script runs */
    double minimum_px; /* 0: 0.1; narrower rectangles are folded */
    const char *title; /* NULL: the command that was recorded */
};

/* `base`: the baseline of a difference; NULL: no difference. SS_E_EMPTY: no samples are selected.
 * ss_sink_close returns errors of the sink. */
enum ss_status ss_view_flame(const struct ss_selection *now, const struct ss_selection *base,
                             const struct ss_flame_options *options, struct ss_sink *sink,
                             struct ss_error *err);

#endif
