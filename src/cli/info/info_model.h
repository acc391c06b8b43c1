/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stepscope info` of files that are not recordings of stepscope: what an importer made of them.
 * Main thread only.
 */
#ifndef SS_CLI_INFO_INFO_MODEL_H
#define SS_CLI_INFO_INFO_MODEL_H

#include <jansson.h>

#include "cli/info/info_views.h"
#include "model/core/model.h"

/* Whether the path is a folder, or a file that another row of the importers loads. */
bool ss_info_is_of_model(const char *path);
/* "complete", or "cut short" where a file ends within its events. */
const char *ss_info_model_state(const struct ss_model *model);
void ss_info_model_print(const struct ss_model *model, const char *path,
                         const struct ss_info_text_options *options);
json_t *ss_info_model_to_json(const struct ss_model *model, const char *path);

#endif
