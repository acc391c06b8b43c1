/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of an analysis that depend on which steps count (analysis/selection/analysis.h): built once
 * for each summary of steps, freed with it. All callers of one summary pass the same selection.
 */
#ifndef SS_ANALYSIS_STEPS_STEP_ANALYSIS_H
#define SS_ANALYSIS_STEPS_STEP_ANALYSIS_H

#include "analysis/steps/steps.h"

/* What such a part is built from. */
struct ss_step_analysis {
    const struct ss_selection *selection;
    const struct ss_step_summary *training;
};

/* The part of this kind. A summary without steps that was not made of a selection has the parts of
 * the selection. */
const void *ss_step_analysis_get(const struct ss_selection *selection,
                                 const struct ss_step_summary *training,
                                 const struct ss_analysis_part *kind);

#endif
