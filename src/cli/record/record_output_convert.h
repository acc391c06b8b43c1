/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a finished recording to the requested format. */
#ifndef SS_CLI_RECORD_RECORD_OUTPUT_CONVERT_H
#define SS_CLI_RECORD_RECORD_OUTPUT_CONVERT_H

#include "base/error.h"
#include "cli/record/record_output_options.h"
#include "model/core/model.h"

/* Whether the format needs every sample with its time, not only the totals. */
bool ss_record_convert_wants_samples(const struct ss_record_output *output);
enum ss_status ss_record_convert(const struct ss_record_output *output,
                                 const struct ss_model *model, struct ss_error *err);

#endif
