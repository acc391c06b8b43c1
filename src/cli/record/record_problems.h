/* SPDX-License-Identifier: Apache-2.0 */
/* What `record` reports of a recording that failed, or holds nothing: a line each, on stderr. */
#ifndef SS_CLI_RECORD_RECORD_PROBLEMS_H
#define SS_CLI_RECORD_RECORD_PROBLEMS_H

#include "cli/record/record_output_options.h"
#include "model/core/model.h"

void ss_record_problem(const char *format, ...) SS_PRINTF(1, 2);

/* The next three set `failed` of the output. */
void ss_record_report_failure(struct ss_record_output *output,
                              const struct ss_record_result *result);
/* The recorder wrote the trace, but the file is gone, or is not a trace any more. */
void ss_record_report_unreadable(struct ss_record_output *output,
                                 const struct ss_record_result *result, const struct ss_error *err);
/* Zero samples is never a silent success. */
void ss_record_report_empty(struct ss_record_output *output, const struct ss_record_result *result,
                            const struct ss_model *model);
/* Explains why a schedule recorded nothing. Returns whether it did; does not set `failed`. */
bool ss_record_report_no_window(const struct ss_record_output *output,
                                const struct ss_record_figures *figures);

#endif
