/* SPDX-License-Identifier: Apache-2.0 */
/* What many analyses need to know of the ranges of a model, built once for each selection. */
#ifndef SS_ANALYSIS_SELECTION_SHARED_RANGES_H
#define SS_ANALYSIS_SELECTION_SHARED_RANGES_H

#include "analysis/selection/range_runs.h"
#include "analysis/selection/selection.h"
#include "analysis/table/range_finder.h"

const struct ss_range_finder *ss_selection_finder(const struct ss_selection *selection);
const struct ss_range_runs *ss_selection_runs(const struct ss_selection *selection);

#endif
