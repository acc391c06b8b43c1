/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line of `diff` asks for. Main thread only; texts are borrowed from it. */
#ifndef SS_CLI_READING_DIFF_REQUEST_H
#define SS_CLI_READING_DIFF_REQUEST_H

#include "analysis/diff/diff.h"
#include "cli/reading/report_request.h"

struct ss_diff_request {
    struct ss_diff_options diff;     /* without source lines */
    struct ss_report_request report; /* its table, reading, view and output */
    const char *tracks[SS_DIFF_MOST_TRACKS];
};

/* False: a usage error was printed. */
bool ss_diff_request_parse(const struct ss_arguments *arguments, struct ss_diff_request *request);
/* Chooses anew what is loaded, for another kind of table. */
void ss_diff_request_set_kind(struct ss_diff_request *request, const struct ss_table_kind *kind);
/* The ids of --by and what their rows are (struct ss_option_choices). */
const char *ss_diff_table_choice(size_t index, const char **meaning);

#endif
