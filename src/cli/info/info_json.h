/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the JSON of `stepscope info`. Private to info_json*.c. Stateless. */
#ifndef SS_CLI_INFO_INFO_JSON_H
#define SS_CLI_INFO_INFO_JSON_H

#include <jansson.h>

#include "cli/info/info_facts.h"

/* New references. */
json_t *ss_info_text(struct ss_strview view);
json_t *ss_info_integer(uint64_t value);
/* Sets "sources", "devices", "hosts", "contexts", "streams" and "groups". */
void ss_info_entities_to_json(const struct ss_info_facts *facts, json_t *object);

#endif
