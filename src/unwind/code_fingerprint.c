/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/code_fingerprint.h"

#include <string.h>

enum { OF_CODE, OF_FUNCTION, OF_FILE };

uint64_t ss_fingerprint_pointer(const uint8_t *bytes, int32_t offset)
{
    uint64_t value = 0;
    if (offset >= 0) {
        memcpy(&value, bytes + offset, sizeof value);
    }
    return value;
}

void ss_fingerprint_of_code(const struct ss_cpython_layout *layout, const uint8_t *bytes,
                            struct ss_code_fingerprint *fingerprint)
{
    int32_t first_line;
    int32_t size = layout->code_code != SS_ABSENT ? layout->code_code : layout->var_size;
    memcpy(&first_line, bytes + layout->code_firstlineno, sizeof first_line);
    *fingerprint = (struct ss_code_fingerprint){
        .name = ss_fingerprint_pointer(bytes, layout->code_name),
        .qualname = ss_fingerprint_pointer(bytes, layout->code_qualname),
        .filename = ss_fingerprint_pointer(bytes, layout->code_filename),
        .linetable = ss_fingerprint_pointer(bytes, layout->code_linetable),
        .code_size = ss_fingerprint_pointer(bytes, size),
        .first_line = first_line};
}

void ss_fingerprint_ranges(const struct ss_cpython_layout *layout, uint64_t address,
                           const struct ss_code_fingerprint *fingerprint,
                           struct ss_fingerprint_bytes *bytes, struct ss_memory_range *ranges)
{
    uint64_t function = fingerprint->qualname != 0 ? fingerprint->qualname : fingerprint->name;
    ranges[OF_CODE] = (struct ss_memory_range){address, bytes->code, (size_t)layout->code_size, 0};
    ranges[OF_FUNCTION] =
        (struct ss_memory_range){function, bytes->function, sizeof bytes->function, 0};
    ranges[OF_FILE] =
        (struct ss_memory_range){fingerprint->filename, bytes->file, sizeof bytes->file, 0};
}

static void print_texts(const struct ss_cpython_layout *layout,
                        const struct ss_fingerprint_bytes *bytes,
                        const struct ss_memory_range *ranges,
                        struct ss_code_fingerprint *fingerprint)
{
    fingerprint->function_text =
        ss_cpython_text_print(layout, bytes->function, ranges[OF_FUNCTION].got);
    fingerprint->file_text = ss_cpython_text_print(layout, bytes->file, ranges[OF_FILE].got);
}

bool ss_fingerprint_read_texts(struct ss_memory_reader *reader,
                               const struct ss_cpython_layout *layout,
                               struct ss_code_fingerprint *fingerprint)
{
    struct ss_fingerprint_bytes bytes;
    struct ss_memory_range ranges[SS_FINGERPRINT_RANGES];
    ss_fingerprint_ranges(layout, 0, fingerprint, &bytes, ranges);
    if (reader->read(reader, ranges + OF_FUNCTION, SS_FINGERPRINT_RANGES - OF_FUNCTION) != 0) {
        return false;
    }
    print_texts(layout, &bytes, ranges, fingerprint);
    return true;
}

bool ss_fingerprint_is_same(const struct ss_cpython_layout *layout, uint64_t type,
                            const struct ss_code_fingerprint *fingerprint,
                            const struct ss_fingerprint_bytes *bytes,
                            const struct ss_memory_range *ranges)
{
    struct ss_code_fingerprint now;
    if (ranges[OF_CODE].got < ranges[OF_CODE].length ||
        ss_fingerprint_pointer(bytes->code, layout->object_type) != type) {
        return false;
    }
    ss_fingerprint_of_code(layout, bytes->code, &now);
    print_texts(layout, bytes, ranges, &now);
    return memcmp(&now, fingerprint, sizeof now) == 0;
}
