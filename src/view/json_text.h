/* SPDX-License-Identifier: Apache-2.0 */
/* Writes strings and numbers of strict JSON one at a time (an export may be gigabytes). */
#ifndef SS_VIEW_JSON_TEXT_H
#define SS_VIEW_JSON_TEXT_H

#include <stdint.h>

#include "base/strview.h"
#include "view/sink.h"

/* Writes quotes too. Bytes that are not UTF-8 become U+FFFD; '<', '>' and '&' are escaped too, so
 * that XML may contain the text. */
void ss_json_write_string(struct ss_sink *sink, struct ss_strview text);
/* Nanoseconds as microseconds with three decimals: exact, never with an exponent. */
void ss_json_write_us(struct ss_sink *sink, uint64_t nanoseconds);

#endif
