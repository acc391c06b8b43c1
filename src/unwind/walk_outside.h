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
    bool is_unpredicted; /* a generator was read long after the rest, and may be another one */
};

/* Reads a frame that no range covers, so that the next plan includes it. */
bool ss_walk_read_unpredicted(struct ss_python *python, struct ss_walk_frame *frame);

/* Finds the frame in what was read after the data stack, or reads it now; false: it was no frame at
 * any of these times. The frame of the data stack that it called shows that it was one before. */
bool ss_walk_read_outside(struct ss_python *python, const struct ss_python_walk *walk,
                          const struct ss_walk_piece *piece, struct ss_walk_frame *frame,
                          struct ss_walk_outside *outside);

/* Without a GIL each new generator has another address, so that a short one has ended, or waits,
 * before it can be read. Finds the frame of the data stack that such a frame outside must lead to:
 * the one right below `upper`, which it called. 0: unknown. */
uint64_t ss_walk_skip_outside(struct ss_python *python, const struct ss_python_walk *walk,
                              uint64_t upper);
/* Whether an address is where C code enters the interpreter, by where it did before. */
bool ss_walk_is_entry(const struct ss_python_walk *walk, uint64_t address);

#endif
