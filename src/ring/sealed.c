/* SPDX-License-Identifier: Apache-2.0 */
#include "ring/sealed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t ss_ring_sealed_put(const struct ss_ring_sealed *sealed, char *text, size_t size)
{
    bool fits_line = sealed->path_length > 0 && sealed->path_length < SS_RING_SEALED_PATH_BYTES &&
                     memchr(sealed->path, '\n', sealed->path_length) == NULL &&
                     memchr(sealed->path, '\0', sealed->path_length) == NULL;
    int length = fits_line ? snprintf(text, size, "%" PRIu64 " %" PRId64 " %" PRId64 " %u %.*s\n",
                                      sealed->window, sealed->first_step, sealed->last_step,
                                      sealed->flags, (int)sealed->path_length, sealed->path)
                           : 0;
    return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

/* Parses a decimal number and the blank after it. */
static bool parse_number(const char **at, const char *end, bool may_be_negative, uint64_t most,
                         int64_t *number)
{
    bool negative = may_be_negative && *at < end && **at == '-';
    const char *digit = *at + negative;
    uint64_t value = 0;
    const char *first = digit;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
        uint64_t more = (uint64_t)(*digit - '0');
        if (value > (most - more) / 10) {
            return false;
        }
        value = value * 10 + more;
    }
    if (digit == first || digit >= end || *digit != ' ') {
        return false;
    }
    *number = negative ? -(int64_t)value : (int64_t)value;
    *at = digit + 1;
    return true;
}

bool ss_ring_sealed_get(const char *line, size_t length, struct ss_ring_sealed *sealed)
{
    const char *at = line, *end = line + length;
    int64_t window, flags;
    if (!parse_number(&at, end, false, INT64_MAX, &window) ||
        !parse_number(&at, end, true, INT64_MAX, &sealed->first_step) ||
        !parse_number(&at, end, true, INT64_MAX, &sealed->last_step) ||
        !parse_number(&at, end, false, UINT32_MAX, &flags)) {
        return false;
    }
    sealed->window = (uint64_t)window;
    sealed->flags = (uint32_t)flags;
    sealed->path = at;
    sealed->path_length = (size_t)(end - at);
    return sealed->path_length > 0 && sealed->path_length < SS_RING_SEALED_PATH_BYTES &&
           memchr(at, '\0', sealed->path_length) == NULL;
}

bool ss_ring_sealed_is_end(const char *line, size_t length)
{
    return length == sizeof SS_RING_SEALED_END - 1 && memcmp(line, SS_RING_SEALED_END, length) == 0;
}
