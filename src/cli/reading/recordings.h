/* SPDX-License-Identifier: Apache-2.0 */
/* The newest recording of a folder, for commands without an input. Stateless. */
#ifndef SS_CLI_READING_RECORDINGS_H
#define SS_CLI_READING_RECORDINGS_H

#include "base/error.h"
#include "base/strbuf.h"

/* Appends the path of the newest trace (or folder of traces, NAME.stepscope) in `folder`, else of
 * the newest raw file; by content, not by name. SS_E_NOTFOUND, with the fix, when there is none. */
enum ss_status ss_cli_newest_recording(const char *folder, struct ss_strbuf *path,
                                       struct ss_error *err);

#endif
