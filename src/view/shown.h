/* SPDX-License-Identifier: Apache-2.0 */
/* What graphs and exports ask of a selection. Pure. */
#ifndef SS_VIEW_SHOWN_H
#define SS_VIEW_SHOWN_H

#include "analysis/selection.h"

/* Samples of more than one process? */
bool ss_selection_has_processes(const struct ss_selection *selection);
/* SS_E_EMPTY, with what took the samples away. */
enum ss_status ss_fail_no_samples(const struct ss_selection *selection, struct ss_error *err);

#endif
