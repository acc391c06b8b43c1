/* SPDX-License-Identifier: Apache-2.0 */
/* Queries on a selection, for graphs and exports. Pure. */
#ifndef SS_VIEW_OUTPUT_SHOWN_H
#define SS_VIEW_OUTPUT_SHOWN_H

#include "analysis/selection/selection.h"

/* Whether it has samples of more than one process. */
bool ss_selection_has_processes(const struct ss_selection *selection);
/* Fails with SS_E_EMPTY and the reasons that excluded the samples. */
enum ss_status ss_fail_no_samples(const struct ss_selection *selection, struct ss_error *err);

#endif
