/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks by steps as a picture: a cell for each, from cold to hot by the rank's own time. */
#ifndef SS_VIEW_PICTURES_HEATMAP_SVG_H
#define SS_VIEW_PICTURES_HEATMAP_SVG_H

#include "analysis/ranks/rank_heat.h"
#include "view/output/sink.h"

/* SS_E_EMPTY: no rank has whole steps. */
enum ss_status ss_view_heatmap(const struct ss_rank_heat *heat, struct ss_sink *sink,
                               struct ss_error *err);

#endif
