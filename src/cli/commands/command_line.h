/* SPDX-License-Identifier: Apache-2.0 */
/* The whole command line: finds the command, parses its options, runs it. Main thread only. */
#ifndef SS_CLI_COMMANDS_COMMAND_LINE_H
#define SS_CLI_COMMANDS_COMMAND_LINE_H

/* With main's arguments, which it permutes; returns the exit status. */
int ss_command_line_run(int argc, char **argv);

#endif
