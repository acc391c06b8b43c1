/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a buffer of records of rocprofiler-sdk: the walk ends, and each record is refused,
 * or a message of the right size for the ring. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/rocm/decode.h"

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_event(const struct ss_device_event *event)
{
    uint32_t kind = event->message.head.kind;
    check(kind >= SS_DEVICE_WORK && kind < SS_DEVICE_MESSAGE_KINDS, "a kind of message");
    check(event->bytes >= sizeof event->message.head && event->bytes <= sizeof event->message &&
              event->bytes % 8 == 0,
          "its size");
    if (kind == SS_DEVICE_WORK) {
        const struct ss_device_work_message *work = &event->message.work;
        check(work->begin_ns > 0 && work->begin_ns <= work->end_ns, "work has times");
        check(work->work == SS_DEVICE_KERNEL || work->work == SS_DEVICE_COPY, "a kind of work");
    } else if (kind == SS_DEVICE_CALL) {
        check(event->message.call.domain < SS_DEVICE_DOMAINS, "a domain");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t copy[512]; /* records are aligned to 8 */
    size_t length = size < sizeof copy ? size : sizeof copy, steps = 0;
    void *record = NULL;
    memcpy(copy, data, length);
    while (ss_rocm_next_record((uint8_t *)copy, length, &record)) {
        struct ss_device_event event = {.bytes = 0};
        size_t at = (size_t)((uint8_t *)record - (uint8_t *)copy);
        check(at < length && ++steps <= sizeof copy / sizeof(struct ss_rocm_record), "it moves on");
        if (ss_rocm_decode(record, length - at, &event) == SS_DECODED_EVENT) {
            check_event(&event);
        }
    }
    return 0;
}
