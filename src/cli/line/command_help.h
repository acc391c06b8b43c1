/* SPDX-License-Identifier: Apache-2.0 */
/* Help, reference pages, man page and shell completion, all generated from the command tables. */
#ifndef SS_CLI_LINE_COMMAND_HELP_H
#define SS_CLI_LINE_COMMAND_HELP_H

#include "cli/line/command.h"

void ss_help_start(int stream_fd);    /* "stepscope" alone */
void ss_help_overview(int stream_fd); /* "stepscope --help" */
void ss_help_command(const struct ss_command *command, int stream_fd);

#endif
