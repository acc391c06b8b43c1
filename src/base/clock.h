/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks in nanoseconds. Thread-safe; no state. */
#ifndef SS_BASE_CLOCK_H
#define SS_BASE_CLOCK_H

#include <stdint.h>

uint64_t ss_clock_monotonic_ns(void);
uint64_t ss_clock_thread_cpu_ns(void);
uint64_t ss_clock_process_cpu_ns(void); /* all threads */

/* One reading of the four clocks that the multi-rank merge aligns. MONOTONIC is read before and
 * after the others; the difference, `width_ns`, bounds the error. */
struct ss_clock_reading {
    uint64_t monotonic_ns;
    uint64_t boottime_ns;
    uint64_t monotonic_raw_ns;
    uint64_t realtime_ns;
    uint64_t width_ns;
};
void ss_clock_read(struct ss_clock_reading *reading);

#endif
