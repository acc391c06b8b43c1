/* SPDX-License-Identifier: Apache-2.0 */
/* How the documents of `report` and `diff` are written. Main thread only. */
#ifndef SS_CLI_READING_REPORT_OUTPUT_H
#define SS_CLI_READING_REPORT_OUTPUT_H

#include "analysis/report/document.h"
#include "cli/reading/report_request.h"

/* Renders to the request's output: a file, which may be none of the inputs and has their
 * permissions, or stdout. Title and header of a single table go to stderr. */
enum ss_status ss_report_output(const struct ss_report_request *request,
                                const struct ss_model *const *models, size_t model_count,
                                const struct ss_document *document, struct ss_error *err);
/* Prints on stderr what the recordings could not do; returns the exit status: 0 or 3. */
int ss_report_output_problems(const struct ss_arguments *arguments,
                              const struct ss_document *document);

#endif
