/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times in which records are collected, but launches are not observed: after a window, until what
 * was launched in it has run, and as a window opens. Work that begins in a gap, and whose launch
 * was not observed, belongs to no window. The last gaps count.
 */
#ifndef SS_INJECT_DEVICE_GAPS_H
#define SS_INJECT_DEVICE_GAPS_H

#include <stdbool.h>
#include <stdint.h>

/* A gap begins or ends now. With the lock of the collector. */
void ss_gaps_switch(bool begins);
/* On the clock of stamps. Any thread. */
bool ss_gaps_have(uint64_t begin_ns);
/* While no other thread uses them. */
void ss_gaps_forget(void);

#endif
