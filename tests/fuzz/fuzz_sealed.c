/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a recorder's notice: refused, or read as what would be written for it again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/sealed.h"

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_ring_sealed sealed, again;
    static char line[SS_RING_SEALED_LINE_BYTES];
    const char *text = size > 0 ? (const char *)data : "";
    if (!ss_ring_sealed_get(text, size, &sealed)) {
        return 0;
    }
    check(!ss_ring_sealed_is_end(text, size), "a notice is not the end");
    size_t length = ss_ring_sealed_put(&sealed, line, sizeof line);
    bool has_newline = memchr(text, '\n', size) != NULL;
    check((length == 0) == has_newline, "a path of one line can be written");
    if (length > 0) {
        check(ss_ring_sealed_get(line, length - 1, &again), "what was written can be read");
        check(again.window == sealed.window && again.first_step == sealed.first_step &&
                  again.last_step == sealed.last_step && again.flags == sealed.flags &&
                  again.path_length == sealed.path_length &&
                  memcmp(again.path, sealed.path, sealed.path_length) == 0,
              "and says the same");
    }
    return 0;
}
