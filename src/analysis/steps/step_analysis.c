/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/step_analysis.h"

const void *ss_step_analysis_get(const struct ss_selection *selection,
                                 const struct ss_step_summary *training,
                                 const struct ss_analysis_part *kind)
{
    struct ss_step_analysis of = {selection, training};
    struct ss_analysis *analysis =
        training->analysis != NULL ? training->analysis : selection->analysis;
    return ss_analysis_get(analysis, kind, &of);
}
