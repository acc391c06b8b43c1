/* SPDX-License-Identifier: Apache-2.0 */
/* The commands to run after a first report of a recording. Main thread only. */
#ifndef SS_CLI_READING_REPORT_NEXT_H
#define SS_CLI_READING_REPORT_NEXT_H

#include "analysis/report/document.h"
#include "base/strbuf.h"
#include "cli/line/command.h"
#include "model/core/model.h"

enum { SS_REPORT_NEXT_MOST = 5 };

struct ss_report_next {
    struct ss_strbuf commands[SS_REPORT_NEXT_MOST];
    struct ss_document_command list[SS_REPORT_NEXT_MOST + 1]; /* all zero after the last */
    int count;
};

/* The commands name the inputs of the command line. `of_ranges`: the recording has only ranges and
 * counters. */
void ss_report_next_init(struct ss_report_next *next, const struct ss_arguments *arguments,
                         const struct ss_model *model, bool of_ranges);
void ss_report_next_fini(struct ss_report_next *next);

#endif
