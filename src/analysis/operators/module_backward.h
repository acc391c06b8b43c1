/* SPDX-License-Identifier: Apache-2.0 */
/* The backward time of modules, by autograd's sequence numbers. Private to analysis/. */
#ifndef SS_ANALYSIS_OPERATORS_MODULE_BACKWARD_H
#define SS_ANALYSIS_OPERATORS_MODULE_BACKWARD_H

#include "analysis/calls/calls.h"

struct ss_backward_times {
    uint64_t all_ns, steady_ns;           /* with inner modules */
    uint64_t self_all_ns, self_steady_ns; /* without */
};

/* `times`: by row of `modules`, zeroed by the caller. False: no node belongs to any module. */
bool ss_module_backward_find(const struct ss_selection *selection,
                             const struct ss_track_span *spans, const struct ss_steady_time *steady,
                             const struct ss_calls *modules, struct ss_backward_times *times);

#endif
