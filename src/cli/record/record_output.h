/* SPDX-License-Identifier: Apache-2.0 */
/* The work of `record` after the trace is closed: converts it to the requested format and prints
 * the summary. Main thread only. */
#ifndef SS_CLI_RECORD_RECORD_OUTPUT_H
#define SS_CLI_RECORD_RECORD_OUTPUT_H

#include "cli/record/record_output_options.h"

/* An ss_record_finished: `context` is a struct ss_record_output. */
bool ss_record_output_finish(void *context, const struct ss_record_result *result);
/* Reports that a signal killed ss_record_output_finish, and where the recording is. */
void ss_record_output_cut_short(const struct ss_record_output *output);

#endif
