/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames outside the data stack: entries from C, generators. They are read after the single copy of
 * the data stack, and may be something else by then: the walk checks where they lead.
 */
#ifndef SS_UNWIND_WALK_OUTSIDE_H
#define SS_UNWIND_WALK_OUTSIDE_H

#include "unwind/walk_frame.h"
#include "unwind/walk_plan.h"

struct ss_walk_outside {
    bool prefers_behind; /* of two copies of a frame, the later one */
    bool has_choice;     /* such copies differ */
    bool is_unpredicted; /* a generator was read long after the rest */
};

/* Reads a frame that no range covers, so that the next plan includes it. */
bool ss_walk_read_unpredicted(struct ss_python *python, struct ss_walk_frame *frame);

/* Finds the frame in what was read after the data stack, or reads it now; false: it was no frame at
 * any of these times. The frame of the data stack that it called shows that it was one before. */
bool ss_walk_read_outside(struct ss_python *python, const struct ss_python_walk *walk,
                          const struct ss_walk_piece *piece, struct ss_walk_frame *frame,
                          struct ss_walk_outside *outside);

#endif
