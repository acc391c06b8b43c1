/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of Python source, for showing. The paths are those of a recording, which anybody may have
 * written: only regular files whose name ends in ".py" are opened, and no more than some megabytes
 * of them are kept. Tabs are blanks, long lines are cut. One owner.
 */
#ifndef SS_CLI_SOURCE_TEXT_H
#define SS_CLI_SOURCE_TEXT_H

#include <stdint.h>

#include "base/strview.h"

struct ss_source_text;

struct ss_source_text *ss_source_text_new(void);
void ss_source_text_free(struct ss_source_text *source);
/* Line `line` (from 1) of `path`; data NULL: not to be had. Lives as long as `source`. */
struct ss_strview ss_source_text_line(struct ss_source_text *source, struct ss_strview path,
                                      uint32_t line);

#endif
