/* SPDX-License-Identifier: Apache-2.0 */
/* Writes strings and numbers of strict JSON one at a time (an export may be gigabytes). */
#ifndef SS_VIEW_OUTPUT_JSON_TEXT_H
#define SS_VIEW_OUTPUT_JSON_TEXT_H

#include <stdint.h>

#include "base/strview.h"
#include "view/output/sink.h"

/* Writes quotes too. Bytes that are not UTF-8 become U+FFFD; '<', '>' and '&' are escaped too, so
 * that XML may contain the text. */
void ss_json_write_string(struct ss_sink *sink, struct ss_strview text);
/* The same, but '<', '>' and '&' as they are. */
void ss_json_write_plain(struct ss_sink *sink, struct ss_strview text);
void ss_json_write_natural(struct ss_sink *sink, uint64_t number);
void ss_json_write_integer(struct ss_sink *sink, int64_t number);
/* The shortest digits that read as the same number; null for NaN and infinities. */
void ss_json_write_real(struct ss_sink *sink, double real);
/* Nanoseconds as microseconds with three decimals: exact, never with an exponent. */
void ss_json_write_us(struct ss_sink *sink, uint64_t nanoseconds);

#endif
