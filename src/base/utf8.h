/* SPDX-License-Identifier: Apache-2.0 */
/* Names from other processes are bytes. Everything that leaves as JSON, SVG or text is made valid
 * UTF-8 here. Pure functions. */
#ifndef SS_BASE_UTF8_H
#define SS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Length in bytes of the valid UTF-8 character at `text`, 0 when there is none (overlong forms,
 * surrogates and values above U+10FFFF are not valid). */
size_t ss_utf8_length(const char *text, size_t available);
bool ss_utf8_valid(const char *text, size_t length);
/* Appends `text` with each byte that is not part of a valid character as U+FFFD. */
void ss_utf8_append_valid(struct ss_strbuf *out, const char *text, size_t length);

#endif
