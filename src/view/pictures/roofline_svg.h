/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline as an SVG picture without script: FLOPs per second over FLOPs per byte, both axes
 * logarithmic; the roofs of the devices; kernels as dots, and what they compute as larger ones,
 * areas by time.
 */
#ifndef SS_VIEW_PICTURES_ROOFLINE_SVG_H
#define SS_VIEW_PICTURES_ROOFLINE_SVG_H

#include "analysis/table/table.h"
#include "view/output/sink.h"

/* Tables of analysis/roofline/roofline.h: rows by family, and by kernel. Without any row that has
 * FLOPs and bytes there is nothing to draw, which is an error. */
enum ss_status ss_view_roofline(const struct ss_table *families, const struct ss_table *kernels,
                                struct ss_sink *sink, struct ss_error *err);

#endif
