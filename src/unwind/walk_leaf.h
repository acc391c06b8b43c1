/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frame was innermost when the top of the data stack was copied (3.11 to 3.13).
 *
 * One copy of one range takes less time than a call; to come from one range to the next takes
 * several hundred nanoseconds, in which short functions begin and end. So the copy is judged by
 * itself: of the frames that call each other, the one that runs says so (its stack top is -1), and
 * those that called it do not. The pointers read before and behind it only help where the copy does
 * not tell: between two frames, and where the data stack is not all.
 */
#ifndef SS_UNWIND_WALK_LEAF_H
#define SS_UNWIND_WALK_LEAF_H

#include "unwind/walk_plan.h"

enum { SS_WALK_MAX_LEAVES = 4 };

/* Addresses of frames, the likeliest first, 0 for "no frame"; how many. `pointers` are those read
 * right before and right behind the copy; UINT64_MAX: none. */
size_t ss_walk_find_leaves(struct ss_python *python, const struct ss_python_walk *walk,
                           const uint64_t pointers[2], uint64_t leaves[SS_WALK_MAX_LEAVES]);

#endif
