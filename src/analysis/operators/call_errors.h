/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How uncertain the time of calls per step is, from its spread over the steady-state steps. A call
 * belongs to the step in which it begins. Pure.
 */
#ifndef SS_ANALYSIS_OPERATORS_CALL_ERRORS_H
#define SS_ANALYSIS_OPERATORS_CALL_ERRORS_H

#include "analysis/calls/calls.h"
#include "analysis/steps/step_series.h"

struct ss_call_errors_options {
    const char *domain; /* that of the calls */
    bool of_total;      /* of total time, else of self time */
};

/* By row of `calls`: the error of the mean per step in ns at 95 %; NAN where it is unknown, or
 * where rows and steps are too many. The caller frees them. */
double *ss_call_errors_new(const struct ss_selection *selection, const struct ss_calls *calls,
                           const struct ss_step_series *series,
                           const struct ss_call_errors_options *options);

#endif
