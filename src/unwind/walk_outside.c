/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk_outside.h"

#include <string.h>

#include "unwind/walk_leaf.h"

enum {
    MAX_FRAME_BYTES = 512,
    OWNED_BY_THREAD = 0, /* owners of frames, from 3.11 on; always 0 before */
    OWNED_BY_GENERATOR = 1,
    C_STACK_BYTES = 128 << 10, /* below an entry from C, on the same stack */
};

bool ss_walk_read_unpredicted(struct ss_python *python, struct ss_walk_frame *frame)
{
    uint8_t bytes[MAX_FRAME_BYTES];
    struct ss_walk_scratch *scratch = python->scratch;
    frame->code = 0;
    if ((frame->address & 7) != 0 || scratch->missed.count >= SS_PYTHON_MAX_DEPTH ||
        !ss_memory_read(python->reader, frame->address, bytes, (size_t)python->layout.frame_size)) {
        return false;
    }
    ss_walk_decode(&python->layout, bytes, frame);
    if (frame->owner == OWNED_BY_THREAD) {
        ss_vec_push(&scratch->missed, frame->address);
    }
    return true;
}

/* An entry from C, or a generator that runs or waits for what it called: one that is suspended has
 * no caller. */
static bool is_whole(struct ss_python *python, const struct ss_walk_frame *frame)
{
    return ss_walk_is_shim(python, frame) ||
           (frame->owner == OWNED_BY_GENERATOR && frame->previous != 0 &&
            ss_code_frame(&python->codes, frame->code, frame->instruction) != SS_FRAME_NONE);
}

/* A generator that was resumed from the same place as when it was last seen, and that is suspended
 * by now. */
static bool recall_caller(const struct ss_python_walk *walk, struct ss_walk_frame *frame)
{
    for (size_t i = 0; i < walk->externals.count; i++) {
        const struct ss_walk_external *seen = &walk->externals.data[i];
        if (seen->address == frame->address && seen->code == frame->code) {
            frame->previous = seen->previous;
            return seen->previous != 0;
        }
    }
    return false;
}

bool ss_walk_read_outside(struct ss_python *python, const struct ss_python_walk *walk,
                          const struct ss_walk_piece *piece, struct ss_walk_frame *frame,
                          struct ss_walk_outside *outside)
{
    size_t offset = piece != NULL ? (size_t)(frame->address - piece->start) : 0;
    const uint8_t *copies[2] = {NULL, NULL};
    if (piece != NULL) {
        copies[0] = piece->ahead != NULL ? piece->ahead + offset : piece->bytes + offset;
        copies[1] = piece->bytes + offset;
        outside->has_choice |= memcmp(copies[0], copies[1], (size_t)python->layout.frame_size) != 0;
    }
    for (int i = 0; i < 2 && piece != NULL; i++) {
        ss_walk_decode(&python->layout, copies[i ^ (int)outside->prefers_behind], frame);
        if (is_whole(python, frame)) {
            return true;
        }
    }
    if (piece != NULL && frame->owner == OWNED_BY_GENERATOR && recall_caller(walk, frame) &&
        is_whole(python, frame)) {
        return true;
    }
    /* Read now, a generator may be another one at the same address; not so without a GIL, where
     * the allocator takes all other blocks of a page first. */
    bool is_there = ss_walk_read_unpredicted(python, frame);
    outside->is_unpredicted |= !ss_walk_is_shim(python, frame) && !python->layout.is_free_threaded;
    return is_there && is_whole(python, frame);
}

uint64_t ss_walk_skip_outside(struct ss_python *python, const struct ss_python_walk *walk,
                              uint64_t upper)
{
    return python->layout.is_free_threaded && upper != 0 ? ss_walk_find_below(python, walk, upper)
                                                         : 0;
}

bool ss_walk_is_entry(const struct ss_python_walk *walk, uint64_t address)
{
    for (size_t i = 0; i < walk->externals.count; i++) {
        const struct ss_walk_external *seen = &walk->externals.data[i];
        if (seen->is_entry && seen->address - address < C_STACK_BYTES) {
            return true;
        }
    }
    return false;
}
