/* SPDX-License-Identifier: Apache-2.0 */
/* The reference as a page, a man page and a shell completion, all generated from the tables:
 * commands, formats, environment, statuses. Pure functions into a buffer. */
#ifndef SS_CLI_COMMANDS_REFERENCE_H
#define SS_CLI_COMMANDS_REFERENCE_H

#include "base/strbuf.h"

void ss_reference_markdown(struct ss_strbuf *out); /* docs/reference.md */
void ss_reference_man(struct ss_strbuf *out);      /* stepscope.1 */
void ss_reference_bash(struct ss_strbuf *out);     /* completion for bash */

/* The meaning of an exit status, for tables; NULL: stepscope does not return it. */
const char *ss_exit_code_meaning(int exit_code);

#endif
