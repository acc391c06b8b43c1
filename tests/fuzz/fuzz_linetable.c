/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: the format. Next four: the first line. The rest: the table. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/cpython_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ss_line_entry *entries, size_t count, size_t capacity)
{
    if (count > capacity) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        if (entries[i].line < 0 || (i > 0 && entries[i - 1].start >= entries[i].start)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 5) {
        return 0;
    }
    int32_t first_line;
    memcpy(&first_line, data + 1, sizeof first_line);
    /* The table alone in its memory, so that a read behind it is seen. */
    size_t length = size - 5;
    uint8_t *table = ss_alloc(length);
    memcpy(table, data + 5, length);
    size_t capacity = data[0] >= 128 ? length / 4 : length + 1;
    struct ss_line_entry *entries = ss_alloc_zero(capacity, sizeof *entries);
    size_t count = ss_lines_parse((enum ss_line_format)(data[0] % 3), table, length, first_line,
                                  entries, capacity);
    check(entries, count, capacity);
    for (int64_t offset = -4; offset < (int64_t)length; offset += 7) {
        ss_lines_find(entries, count, first_line, offset);
    }
    ss_free(entries);
    ss_free(table);
    return 0;
}
