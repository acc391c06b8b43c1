/* SPDX-License-Identifier: Apache-2.0 */
/* Reads str and bytes objects of the target. Sizes are capped; text is always valid UTF-8. */
#ifndef SS_UNWIND_CPYTHON_TEXT_H
#define SS_UNWIND_CPYTHON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "base/strbuf.h"
#include "unwind/cpython_layout.h"

/* Appends the text of the str object at `address`, truncated to `maximum_chars` characters. false:
 * no readable str object. */
bool ss_cpython_text(struct ss_memory_reader *reader, const struct ss_cpython_layout *layout,
                     uint64_t address, size_t maximum_chars, struct ss_strbuf *out);

/* Appends the content of the bytes object; false: unreadable or longer than `maximum`. */
bool ss_cpython_bytes(struct ss_memory_reader *reader, const struct ss_cpython_layout *layout,
                      uint64_t address, size_t maximum, struct ss_strbuf *out);

enum { SS_TEXT_PRINT_BYTES = 256 };

/* A print of a str whose first bytes (SS_TEXT_PRINT_BYTES, or as far as memory goes) are given: of
 * its length and its first characters, not of where it is or how often it is used. 0: no str. */
uint64_t ss_cpython_text_print(const struct ss_cpython_layout *layout, const uint8_t *bytes,
                               size_t got);

#endif
