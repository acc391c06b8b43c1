/* SPDX-License-Identifier: Apache-2.0 */
/* Names from other processes are arbitrary bytes; these functions make them valid UTF-8 for JSON,
 * SVG and text output. Pure functions. */
#ifndef SS_BASE_UTF8_H
#define SS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Length in bytes of the valid UTF-8 character at `text`, 0 when there is none (overlong forms,
 * surrogates and values above U+10FFFF are not valid). */
size_t ss_utf8_length(const char *text, size_t available);
bool ss_utf8_valid(const char *text, size_t length);
/* Appends `text`; each byte that is not part of a valid character becomes U+FFFD. */
void ss_utf8_append_valid(struct ss_strbuf *out, const char *text, size_t length);

#endif
