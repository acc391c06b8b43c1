/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a record of CUPTI: refused, or a message of the right size for the ring. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/cupti/decode.h"

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
    static uint64_t copy[64]; /* records are aligned to 8 */
    struct ss_device_event event = {.bytes = 0};
    size_t length = size < sizeof copy ? size : sizeof copy;
    memcpy(copy, data, length);
    if (ss_cupti_decode(copy, length, &event) != SS_DECODED_EVENT) {
        return 0;
    }
    uint32_t kind = event.message.head.kind;
    check(kind >= SS_DEVICE_WORK && kind < SS_DEVICE_MESSAGE_KINDS, "a kind of message");
    check(event.bytes >= sizeof event.message.head && event.bytes <= sizeof event.message &&
              event.bytes % 8 == 0,
          "its size");
    if (kind == SS_DEVICE_WORK) {
        check(event.message.work.begin_ns > 0 &&
                  event.message.work.begin_ns <= event.message.work.end_ns,
              "work has times");
    }
    if (kind == SS_DEVICE_MEMORY) {
        check(event.message.memory.is_release <= 1 && event.message.memory.is_async <= 1 &&
                  event.message.memory.is_early == 0,
              "flags of memory");
    }
    if (kind == SS_DEVICE_COMPILATION) {
        check(event.message.compilation.begin_ns > 0 &&
                  event.message.compilation.begin_ns <= event.message.compilation.end_ns,
              "a compilation has times");
    }
    return 0;
}
