/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call recorded an event (cudaEventRecord), for the waits for it. Correlations grow with each
 * call: a wait is for the last record before it. Of each event the last records count. One thread.
 */
#ifndef SS_INJECT_DEVICE_RECORDED_EVENTS_H
#define SS_INJECT_DEVICE_RECORDED_EVENTS_H

#include <stdint.h>

enum { SS_RECORDED_EVENTS = 4096, SS_RECORDS_OF_EVENT = 4 };

struct ss_recorded_events {
    struct {
        uint32_t event; /* plus one; 0: free */
        uint32_t next;
        uint32_t correlations[SS_RECORDS_OF_EVENT];
    } slots[SS_RECORDED_EVENTS]; /* by event; a new event takes the place of another */
};

static inline void ss_recorded_events_add(struct ss_recorded_events *of, uint32_t event,
                                          uint32_t correlation)
{
    uint32_t at = event % SS_RECORDED_EVENTS;
    if (of->slots[at].event != event + 1) {
        of->slots[at].event = event + 1;
        of->slots[at].next = 0;
        for (uint32_t i = 0; i < SS_RECORDS_OF_EVENT; i++) {
            of->slots[at].correlations[i] = 0;
        }
    }
    of->slots[at].correlations[of->slots[at].next++ % SS_RECORDS_OF_EVENT] = correlation;
}

/* The correlation of the call that recorded it before the wait; 0: unknown. */
static inline uint32_t ss_recorded_events_find(const struct ss_recorded_events *of, uint32_t event,
                                               uint32_t wait)
{
    uint32_t at = event % SS_RECORDED_EVENTS, found = 0;
    for (uint32_t i = 0; of->slots[at].event == event + 1 && i < SS_RECORDS_OF_EVENT; i++) {
        uint32_t correlation = of->slots[at].correlations[i];
        found = correlation > found && correlation < wait ? correlation : found;
    }
    return found;
}

#endif
