/* SPDX-License-Identifier: Apache-2.0 */
/* Text that goes to a terminal: made printable, measured in columns, cut to fit. Widths are those
 * of the C.UTF-8 locale, whatever the environment says: call ss_text_use_utf8 first. */
#ifndef SS_VIEW_TEXT_CELL_H
#define SS_VIEW_TEXT_CELL_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strview.h"

void ss_text_use_utf8(void);
/* Appends `text` with everything that a terminal could take for a command replaced by U+FFFD. */
void ss_text_append_clean(struct ss_strbuf *out, struct ss_strview text);
/* Columns that printable UTF-8 takes. */
size_t ss_text_width(const char *text);
/* Appends `text` cut to `columns` with an ellipsis: in the middle (a path keeps its end, which
 * tells more), or at the end. */
void ss_text_append_cut_middle(struct ss_strbuf *out, const char *text, size_t columns);
void ss_text_append_cut_end(struct ss_strbuf *out, const char *text, size_t columns);
/* Appends `text`, which begins behind `indent` columns, in lines of `columns` at most, where its
 * words allow that; further ones begin with as many spaces. A number stays with its unit. 0: one
 * line. */
void ss_text_append_wrapped(struct ss_strbuf *out, const char *text, size_t columns, size_t indent);
/* 1234567 → "1,234,567". */
void ss_text_append_count(struct ss_strbuf *out, uint64_t count);
/* Two digits that mean something, never an exponent, and 100 for the whole alone: "0.12 %",
 * "99.6 %", "150 %". */
void ss_text_append_percent(struct ss_strbuf *out, double percent);
/* Of 1,024: "512 bytes", "1.2 MiB"; also less than none. */
void ss_text_append_bytes(struct ss_strbuf *out, double bytes);
/* Three digits that mean something, with the unit that fits: "812 ms", "1.25 s". */
void ss_text_append_duration(struct ss_strbuf *out, uint64_t ns);

#endif
