/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graphs as one SVG file without outside references: a picture by itself, and with script
 * (an opened file, not an <img>) zoom, search, details, keyboard and links to what is shown.
 */
#ifndef SS_VIEW_FLAME_SVG_H
#define SS_VIEW_FLAME_SVG_H

#include "analysis/selection.h"
#include "base/error.h"
#include "view/flame_color.h"
#include "view/frame_text.h"
#include "view/sink.h"

enum { SS_FLAME_MAX_BYTES = 1000 * 1000 };

struct ss_flame_options {
    size_t size;
    struct ss_frame_style style;
    bool inverted;     /* outermost at the bottom */
    bool reverse;      /* leaves outermost */
    bool threads;      /* boxes for threads */
    bool ranges;       /* boxes for the ranges around the samples (load with sample_ranges) */
    bool no_processes; /* no boxes for processes, also when there are several */
    enum ss_flame_scheme colors;
    bool base_widths;  /* difference: widths of the baseline first */
    bool by_samples;   /* difference: of samples instead of shares */
    double width_px;   /* 0: 1200, and the window's where script runs */
    double minimum_px; /* 0: 0.1; narrower boxes are folded */
    const char *title; /* NULL: the command that was recorded */
};

/* `base` is NULL unless a difference is wanted. SS_E_EMPTY when no samples are left. Errors of
 * the sink come out of ss_sink_close. */
enum ss_status ss_view_flame(const struct ss_selection *now, const struct ss_selection *base,
                             const struct ss_flame_options *options, struct ss_sink *sink,
                             struct ss_error *err);

#endif
