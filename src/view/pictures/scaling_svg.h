/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of different size as a picture: speed-up against the ideal, and what a step consists of. */
#ifndef SS_VIEW_PICTURES_SCALING_SVG_H
#define SS_VIEW_PICTURES_SCALING_SVG_H

#include "analysis/report/scaling.h"
#include "view/output/sink.h"

void ss_view_scaling(const struct ss_scaling *scaling, struct ss_sink *sink);

#endif
