/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the facts of a trace as text, on stdout, and as JSON. Stateless. */
#ifndef SS_CLI_INFO_INFO_VIEWS_H
#define SS_CLI_INFO_INFO_VIEWS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/info/info_facts.h"

struct ss_info_text_options {
    bool colour;
    int width;        /* of the terminal; 0: no limit */
    bool all_threads; /* else those with the most samples */
};

void ss_info_print_text(const struct ss_info_facts *facts,
                        const struct ss_info_text_options *options);
json_t *ss_info_to_json(const struct ss_info_facts *facts); /* a new reference */

#endif
