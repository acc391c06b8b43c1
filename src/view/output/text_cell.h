/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a terminal: made printable, measured in columns, cut to fit. Widths are those of the
 * C.UTF-8 locale, independent of the environment: call ss_text_use_utf8 first. */
#ifndef SS_VIEW_OUTPUT_TEXT_CELL_H
#define SS_VIEW_OUTPUT_TEXT_CELL_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strview.h"

void ss_text_use_utf8(void);
/* Appends `text`; U+FFFD replaces everything that a terminal could execute. */
void ss_text_append_clean(struct ss_strbuf *out, struct ss_strview text);
/* The width of printable UTF-8, in columns. */
size_t ss_text_width(const char *text);
/* Appends `text` cut to `columns` with an ellipsis: in the middle (the end of a path says more than
 * its start), or at the end. */
void ss_text_append_cut_middle(struct ss_strbuf *out, const char *text, size_t columns);
void ss_text_append_cut_end(struct ss_strbuf *out, const char *text, size_t columns);
/* Appends `text` wrapped between words to lines of `columns` (0: one line). The first line begins
 * at column `indent`; others begin with `indent` spaces. A number and its unit stay together. */
void ss_text_append_wrapped(struct ss_strbuf *out, const char *text, size_t columns, size_t indent);
/* 1234567 → "1,234,567". */
void ss_text_append_count(struct ss_strbuf *out, uint64_t count);
/* Two significant digits, no exponent, and 100 only for the whole: "0.12 %", "99.6 %", "150 %". */
void ss_text_append_percent(struct ss_strbuf *out, double percent);
/* In units of 1,024: "512 bytes", "1.2 MiB"; may be negative. */
void ss_text_append_bytes(struct ss_strbuf *out, double bytes);
/* Three significant digits in a fitting unit: "812 ms", "1.25 s". */
void ss_text_append_duration(struct ss_strbuf *out, uint64_t ns);
/* "1.23 TFLOP": floating-point operations, or a rate of them, three significant digits. */
void ss_text_append_flops(struct ss_strbuf *out, double flops, const char *unit);

#endif
