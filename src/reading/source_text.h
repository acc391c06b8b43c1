/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of Python source, for display. The paths are those of a recording, which any user may have
 * written: only regular files whose name ends in ".py" are opened, and at most some megabytes of
 * them are stored. Tabs are expanded to blanks, long lines are truncated. One owner.
 */
#ifndef SS_READING_SOURCE_TEXT_H
#define SS_READING_SOURCE_TEXT_H

#include <stdint.h>

#include "base/strview.h"

struct ss_source_text;

struct ss_source_text *ss_source_text_new(void);
void ss_source_text_free(struct ss_source_text *source);
/* Line `line` (from 1) of `path`; data NULL: not available. Lives as long as `source`. */
struct ss_strview ss_source_text_line(struct ss_source_text *source, struct ss_strview path,
                                      uint32_t line);
/* When `path` was last changed, in ns since 1970; 0: not available. */
int64_t ss_source_text_changed_ns(struct ss_source_text *source, struct ss_strview path);

#endif
