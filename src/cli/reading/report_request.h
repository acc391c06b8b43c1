/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line of `report` asks for. Main thread only; texts are borrowed from it. */
#ifndef SS_CLI_READING_REPORT_REQUEST_H
#define SS_CLI_READING_REPORT_REQUEST_H

#include "analysis/tables/tables.h"
#include "cli/line/command.h"
#include "cli/reading/reading.h"
#include "view/output/report.h"

struct ss_report_request {
    const struct ss_table_kind *kind;
    struct ss_table_options table;
    struct ss_reading reading;
    const struct ss_report_view *view;
    struct ss_report_style style;
    const char *output; /* NULL: stdout */
};

/* False: a usage error was printed. Options that the table does not have are refused. */
bool ss_report_request_parse(const struct ss_arguments *arguments,
                             struct ss_report_request *request);
/* Parts of it, which other commands share: view, style and output; --num-rows, whose default is the
 * kind's; filters that the table has no use for. */
bool ss_report_request_parse_output(const struct ss_arguments *arguments,
                                    struct ss_report_request *request);
bool ss_report_request_parse_rows(const struct ss_arguments *arguments,
                                  struct ss_report_request *request);
bool ss_report_request_check_filters(const struct ss_arguments *arguments,
                                     const struct ss_table_kind *kind);
/* The ids of --by and what their rows are (struct ss_option_choices). */
const char *ss_report_table_choice(size_t index, const char **meaning);
/* The names of --format and what they are for. */
const char *ss_report_format_choice(size_t index, const char **meaning);

#endif
