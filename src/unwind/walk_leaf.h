/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the innermost frame at the time when the top of the data stack was copied (from 3.11 on).
 *
 * Copying one range takes less time than a call; several hundred nanoseconds pass between
 * two ranges, in which short functions begin and end. So the copy is decoded on its own: in a
 * chain of frames the running one has a stack top of -1, and its callers do not (3.11 to 3.13); a
 * frame that has ended has no code any more (from 3.14 on). The pointers, which are read
 * separately, serve only where the copy is ambiguous: between two frames, and for frames outside
 * the data stack.
 */
#ifndef SS_UNWIND_WALK_LEAF_H
#define SS_UNWIND_WALK_LEAF_H

#include "unwind/walk_plan.h"

enum { SS_WALK_MAX_LEAVES = 4 };

struct ss_walk_leaves {
    uint64_t frames[SS_WALK_MAX_LEAVES]; /* candidates, likeliest first; 0: no frame */
    size_t count;
    /* The highest frame of the copy that runs, or that waits for one outside it; 0 unknown. Not
     * exact: one above it may wait, too. */
    uint64_t highest;
    bool is_exact;
};

/* `pointers`: the two pointers of the plan (ss_walk_plan.pointer); UINT64_MAX: none. */
void ss_walk_find_leaves(struct ss_python *python, const struct ss_python_walk *walk,
                         const uint64_t pointers[2], struct ss_walk_leaves *leaves);

/* The frame right below one of the copy, whatever called that one: the memory of the data stack has
 * no gaps. From 3.12 on, where code objects say how large their frames are; 0: unknown. */
uint64_t ss_walk_find_below(struct ss_python *python, const struct ss_python_walk *walk,
                            uint64_t frame);

#endif
