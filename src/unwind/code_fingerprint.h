/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By what a code object is recognised: its addresses are reused, and a new one often has its name,
 * its file and its line table where the one before had them, too.
 */
#ifndef SS_UNWIND_CODE_FINGERPRINT_H
#define SS_UNWIND_CODE_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "unwind/cpython_layout.h"
#include "unwind/cpython_text.h"

struct ss_code_fingerprint {
    uint64_t name, qualname, filename, linetable;
    uint64_t code_size; /* ob_size, or the address of the bytes object up to 3.10 */
    int64_t first_line;
    uint64_t function_text, file_text; /* prints: ss_cpython_text_print */
};

/* Where the code object and its two texts are read to, in the order of the ranges. */
enum { SS_FINGERPRINT_RANGES = 3 };
struct ss_fingerprint_bytes {
    uint8_t code[SS_CODE_MAX_BYTES], function[SS_TEXT_PRINT_BYTES], file[SS_TEXT_PRINT_BYTES];
};

/* The pointer at an offset of an object; 0 if this version has no such field. */
uint64_t ss_fingerprint_pointer(const uint8_t *bytes, int32_t offset);

/* Without the texts. `bytes`: code_size bytes of the code object. */
void ss_fingerprint_of_code(const struct ss_cpython_layout *layout, const uint8_t *bytes,
                            struct ss_code_fingerprint *fingerprint);
/* Adds the texts; false: the target cannot be read. */
bool ss_fingerprint_read_texts(struct ss_memory_reader *reader,
                               const struct ss_cpython_layout *layout,
                               struct ss_code_fingerprint *fingerprint);

/* The ranges that show whether the code object at `address` is still the one with this fingerprint.
 */
void ss_fingerprint_ranges(const struct ss_cpython_layout *layout, uint64_t address,
                           const struct ss_code_fingerprint *fingerprint,
                           struct ss_fingerprint_bytes *bytes, struct ss_memory_range *ranges);
/* Whether it is, after the ranges were read. `type`: the address of PyCode_Type. */
bool ss_fingerprint_is_same(const struct ss_cpython_layout *layout, uint64_t type,
                            const struct ss_code_fingerprint *fingerprint,
                            const struct ss_fingerprint_bytes *bytes,
                            const struct ss_memory_range *ranges);

#endif
