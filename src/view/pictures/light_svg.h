/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The speed of light and the occupancy of kernels as SVG pictures without script: for each kernel
 * bars from 0 to 100 %, and what limits it. The pointer on a kernel shows why.
 */
#ifndef SS_VIEW_PICTURES_LIGHT_SVG_H
#define SS_VIEW_PICTURES_LIGHT_SVG_H

#include "analysis/table/table.h"
#include "view/output/sink.h"

/* A table of analysis/kernels/speed_of_light.h. Without rows there is nothing to draw, which is an
 * error.
 */
enum ss_status ss_view_light(const struct ss_table *table, struct ss_sink *sink,
                             struct ss_error *err);
/* The same of analysis/kernels/kernel_occupancy.h. */
enum ss_status ss_view_occupancy(const struct ss_table *table, struct ss_sink *sink,
                                 struct ss_error *err);

#endif
