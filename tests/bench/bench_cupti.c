/* SPDX-License-Identifier: Apache-2.0 */
/* How many records of CUPTI are decoded in a second: buffers of a call and a kernel in turn, as
 * large as the collector's, walked by their sizes. Prints millions per second as a row of
 * tests/bench/run, the best of some rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../fakes/cupti_records.h"
#include "inject/cupti/decode.h"

enum { BUFFER_BYTES = 4 << 20, PAIR_BYTES = 40 + SS_KERNEL_10_BYTES, ROUNDS = 20 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
    size_t pairs = BUFFER_BYTES / PAIR_BYTES;
    uint8_t *buffer = calloc(pairs, PAIR_BYTES);
    double best_s = 1e9;
    uint64_t sum = 0;
    for (size_t i = 0; i < pairs; i++) {
        ss_put_call(buffer + i * PAIR_BYTES, SS_CUPTI_RUNTIME_CALL, 211, 1, (uint32_t)i, 10, 20);
        ss_put_kernel(buffer + i * PAIR_BYTES + 40, (uint32_t)i, "kernel", 100, 200);
    }
    for (int round = 0; round < ROUNDS; round++) {
        double begin_s = now_s();
        for (size_t at = 0; at < pairs * PAIR_BYTES;) {
            struct ss_device_event event;
            if (ss_cupti_decode(buffer + at, pairs * PAIR_BYTES - at, &event) != SS_DECODED_EVENT) {
                return 1;
            }
            sum += event.message.work.begin_ns;
            at += event.message.head.kind == SS_DEVICE_CALL ? 40 : SS_KERNEL_10_BYTES;
        }
        double took_s = now_s() - begin_s;
        best_s = took_s < best_s ? took_s : best_s;
    }
    free(buffer);
    printf("cupti_records\t%.1f\tof a call and a kernel in turn, times %d\n",
           (double)pairs * 2 / best_s / 1e6, (int)(sum % 10));
    return 0;
}
