/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows on demand: the steps that the recorder asked for while the program runs. The recorder
 * writes a request into the ring header; the program reads it as it marks a step, and answers
 * whether the window still lies ahead. Steps that several requests ask for are one window.
 *
 * Without requests a mark reads one word. No allocation, no locks; owned by the thread that marks.
 */
#ifndef SS_ANNOT_DEMANDS_H
#define SS_ANNOT_DEMANDS_H

#include "annot/schedule.h"
#include "ring/layout.h"

/* The text form of the schedule that records nothing but what is asked for. */
#define SS_DEMANDS_SCHEDULE "on-demand"

struct ss_demands {
    struct ss_ring_header *header; /* NULL: none can come */
    uint32_t count;                /* of the header, as last read */
    struct {
        uint32_t number;
        bool is_armed;
        int64_t first, last;
    } entries[SS_RING_DEMANDS];
};

/* Reads new requests and answers them: armed if their first step is `next` or later. `refuses`: the
 * schedule does not take any. */
void ss_demands_read(struct ss_demands *demands, int64_t next, bool refuses);
/* Asks for these steps itself, in the first entry. */
void ss_demands_preset(struct ss_demands *demands, int64_t first, int64_t last);
/* Of the step with this number. */
enum ss_schedule_action ss_demands_action(const struct ss_demands *demands, int64_t step);

#endif
