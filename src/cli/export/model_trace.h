/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what a model holds as a trace of stepscope, for formats that are made from one packet by
 * packet when the recording is another tool's file. Ids of the model become refs. Stateless.
 */
#ifndef SS_CLI_EXPORT_MODEL_TRACE_H
#define SS_CLI_EXPORT_MODEL_TRACE_H

#include "base/error.h"
#include "model/core/model.h"

/* For Perfetto before v58, as ss_trace_export_compat. `model` was loaded with its samples; `path`
 * is replaced. SS_E_EMPTY: it has neither samples nor events with times. */
enum ss_status ss_model_export_compat(const struct ss_model *model, const char *path,
                                      struct ss_error *err);

#endif
