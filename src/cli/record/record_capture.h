/* SPDX-License-Identifier: Apache-2.0 */
/* `record --capture`: windows that the program, the time or a signal opens. */
#ifndef SS_CLI_RECORD_RECORD_CAPTURE_H
#define SS_CLI_RECORD_RECORD_CAPTURE_H

#include "cli/line/command.h"
#include "cli/record/record_plan.h"

/* --capture and --capture-end, after the other options. False: a usage error was printed. */
bool ss_record_capture_parse(const struct ss_arguments *arguments, struct ss_record_plan *plan);
/* Why a capture opened no window, and the fix, in one line. */
void ss_record_capture_why_nothing(const struct ss_capture *capture, uint64_t marked_steps,
                                   char *text, size_t size);

#endif
