/* SPDX-License-Identifier: Apache-2.0 */
/* How long all trainers of a recording communicate at once: until then, those that arrived wait for
 * others. Pure. */
#ifndef SS_ANALYSIS_RANKS_JOINT_COMMUNICATION_H
#define SS_ANALYSIS_RANKS_JOINT_COMMUNICATION_H

#include "analysis/steps/steps.h"

/* Share of the time in which all trainers run steps that all of them communicate; from 0 to 1.
 * Negative: fewer than two trainers, or no such time. */
double ss_joint_communication_share(const struct ss_selection *selection,
                                    const struct ss_step_summary *steps);

#endif
