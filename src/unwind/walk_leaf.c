/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk_leaf.h"

#include <string.h>

#include "unwind/walk_frame.h"

enum {
    MAX_CLIMB = 1024, /* frames in one copy */
    MAX_CANDIDATES = 64,
    MAX_FRAME_BYTES = 1 << 20,
};

/* The copy that is searched. */
struct search {
    struct ss_python *python;
    const struct ss_python_walk *walk;
    const uint8_t *bytes;
    uint64_t start, end;
};

static bool is_covered(const struct search *search, uint64_t address)
{
    return address >= search->start && address < search->end && (address & 7) == 0 &&
           search->end - address >= (uint64_t)search->python->layout.frame_size;
}

/* Decodes the frame at an address of the copy; false: no valid frame. */
static bool get_frame(const struct search *search, uint64_t address, struct ss_walk_frame *frame)
{
    if (!is_covered(search, address)) {
        return false;
    }
    ss_walk_decode(&search->python->layout, search->bytes + (address - search->start), frame);
    frame->address = address;
    bool goes_up = frame->previous >= address && frame->previous < search->end;
    return !goes_up &&
           ss_code_frame(&search->python->codes, frame->code, frame->instruction) != SS_FRAME_NONE;
}

static bool has_ended(const struct search *search, const struct ss_walk_frame *frame)
{
    return !frame->is_running &&
           ss_code_is_return(&search->python->codes, frame->code, frame->instruction);
}

/* Finds the highest running frame. Ended frames are marked as not running. */
static bool find_running(const struct search *search, struct ss_walk_frame *frame)
{
    const struct ss_cpython_layout *layout = &search->python->layout;
    uint64_t size = (uint64_t)layout->frame_size;
    if (search->end - search->start < size) {
        return false;
    }
    int candidates = 0;
    for (uint64_t address = (search->end - size) & ~UINT64_C(7);
         address >= search->start && candidates < MAX_CANDIDATES; address -= 8) {
        int32_t stacktop;
        memcpy(&stacktop,
               search->bytes + (address - search->start) + (uint64_t)layout->frame_stacktop,
               sizeof stacktop);
        if (stacktop == -1) {
            candidates++;
            if (get_frame(search, address, frame)) {
                return true;
            }
        }
    }
    return false;
}

/* true: a frame that is ending is still the innermost. 3.11: until its locals are cleared, unless C
 * called it. Later versions first move the pointer to its caller. */
static bool counts_while_it_ends(const struct search *search, const struct ss_walk_frame *frame)
{
    return search->python->layout.version == 0x030b && !frame->is_entry;
}

/* Returns the first frame from `address` outwards that has not ended, or is just ending. */
static uint64_t skip_ended(const struct search *search, uint64_t address)
{
    struct ss_walk_frame frame, ended = {0};
    while (get_frame(search, address, &frame) && has_ended(search, &frame)) {
        ended = frame;
        address = frame.previous;
    }
    return ended.address != 0 && counts_while_it_ends(search, &ended) ? ended.address : address;
}

/* For a copy without a running frame: a frame has just ended and its caller does not run yet. The
 * callee of a waiting caller is right above it. 0: the chain could not be followed. */
static uint64_t climb(const struct search *search)
{
    struct ss_walk_frame caller, callee;
    if (!get_frame(search, search->walk->top_start, &caller) || has_ended(search, &caller)) {
        return 0;
    }
    for (int step = 0; step < MAX_CLIMB; step++) {
        uint32_t bytes = ss_code_frame_bytes(&search->python->codes, caller.code);
        if (bytes == 0 || !get_frame(search, caller.address + bytes, &callee) ||
            (callee.previous != caller.address && is_covered(search, callee.previous))) {
            return 0;
        }
        if (has_ended(search, &callee)) {
            return counts_while_it_ends(search, &callee) ? callee.address : caller.address;
        }
        caller = callee;
    }
    return 0;
}

/* The running frame may be in C code that calls other frames. If `pointer` leads to such frames,
 * returns the innermost that has not ended (or is just ending), else the running frame. */
static uint64_t climb_from_c(const struct search *search, const struct ss_walk_frame *running,
                             uint64_t pointer)
{
    struct ss_walk_frame frame;
    if (pointer <= running->address || !get_frame(search, pointer, &frame)) {
        return running->address;
    }
    while (frame.previous > running->address && frame.previous < frame.address) {
        if (!get_frame(search, frame.previous, &frame)) {
            return running->address;
        }
    }
    bool is_direct = frame.previous == running->address && !frame.is_entry;
    return is_direct ? running->address : skip_ended(search, pointer);
}

/* What the memory above a frame is, by what needs no other read: no frame, one that the frame
 * called, or one that C code or a generator called, whose caller lies outside the copy. */
enum above { NO_FRAME, CALLED, CALLED_ELSEWHERE };

static enum above judge_above(const struct search *search, uint64_t caller, uint64_t address)
{
    const struct ss_cpython_layout *layout = &search->python->layout;
    const uint8_t *bytes = search->bytes + (address - search->start);
    uint64_t code = ss_word(bytes, layout->frame_code);
    uint64_t previous = ss_word(bytes, layout->frame_previous);
    uint64_t stack = ss_word(bytes, layout->frame_stackpointer);
    if (code <= SS_WALK_CODE_TAG_BITS || previous == 0 ||
        (stack != 0 && (stack <= address || stack - address > MAX_FRAME_BYTES))) {
        return NO_FRAME;
    }
    return previous == caller ? CALLED : is_covered(search, previous) ? NO_FRAME : CALLED_ELSEWHERE;
}

/* From 3.14 on a frame that has ended has no code, and each code object says how large its frames
 * are: the frames of the copy follow one another up to the innermost. 0: the copy does not contain
 * it, or a frame cannot be decoded. */
static uint64_t climb_living(const struct search *search)
{
    struct ss_walk_frame caller, callee;
    if (!get_frame(search, search->walk->top_start, &caller)) {
        return 0;
    }
    for (int step = 0; step < MAX_CLIMB; step++) {
        uint64_t address =
            caller.address + ss_code_frame_bytes(&search->python->codes, caller.code);
        if (address == caller.address || !is_covered(search, address)) {
            return 0;
        }
        enum above above = judge_above(search, caller.address, address);
        bool is_frame = above != NO_FRAME && get_frame(search, address, &callee);
        if (!is_frame && above == CALLED) {
            return 0;
        }
        if (!is_frame || has_ended(search, &callee)) {
            return caller.address;
        }
        caller = callee;
    }
    return 0;
}

/* A frame of a generator that is suspended has no caller, from 3.14 on. */
static bool is_active(const struct ss_python *python, const struct ss_walk_frame *frame)
{
    return python->layout.frame_stackpointer != SS_ABSENT ? frame->previous != 0
                                                          : frame->is_running;
}

static bool is_running_external(const struct search *search, uint64_t address)
{
    const struct ss_walk_scratch *scratch = search->python->scratch;
    for (size_t i = 0; i < scratch->pieces.count; i++) {
        const struct ss_walk_piece *piece = &scratch->pieces.data[i];
        if (piece->start == address && piece->ahead != NULL) {
            struct ss_walk_frame ahead, behind;
            ss_walk_decode(&search->python->layout, piece->ahead, &ahead);
            ss_walk_decode(&search->python->layout, piece->bytes, &behind);
            return is_active(search->python, &ahead) || is_active(search->python, &behind);
        }
    }
    return true; /* unknown: the caller tries it */
}

static void put(struct ss_walk_leaves *leaves, uint64_t leaf)
{
    for (size_t i = 0; i < leaves->count; i++) {
        if (leaves->frames[i] == leaf) {
            return;
        }
    }
    if (leaves->count < SS_WALK_MAX_LEAVES) {
        leaves->frames[leaves->count++] = leaf;
    }
}

static void put_known(struct ss_walk_leaves *leaves, uint64_t leaf)
{
    if (leaf != 0) {
        put(leaves, leaf);
    }
}

/* From the copy, once it is known that it has the top of the stack. */
static void search_copy(const struct search *search, const uint64_t pointers[2], uint64_t pointer,
                        struct ss_walk_leaves *leaves)
{
    struct ss_walk_frame running;
    if (leaves->is_exact) {
        leaves->highest = climb_living(search);
    } else if (find_running(search, &running)) {
        leaves->highest = running.address;
    }
    bool is_external = pointer != 0 && !ss_walk_in_current_chunk(search->walk, pointer);
    if (is_external && is_running_external(search, pointer)) {
        put(leaves, pointer);
    }
    if (leaves->is_exact) {
        put_known(leaves, leaves->highest);
        put(leaves, pointer);
    } else if (leaves->highest != 0) {
        put(leaves, climb_from_c(search, &running, pointer));
        put(leaves, running.address);
    } else {
        put_known(leaves, climb(search));
        put(leaves, skip_ended(search, pointer));
    }
    if (pointers[1] != UINT64_MAX) {
        put(leaves, skip_ended(search, pointers[1]));
    }
}

static struct search begin_search(struct ss_python *python, const struct ss_python_walk *walk)
{
    const struct ss_walk_piece *copy = ss_walk_snapshot(python->scratch);
    struct search search = {.python = python, .walk = walk};
    if (copy != NULL) {
        search.bytes = copy->bytes;
        search.start = copy->start;
        search.end = copy->end;
    }
    return search;
}

uint64_t ss_walk_find_below(struct ss_python *python, const struct ss_python_walk *walk,
                            uint64_t frame)
{
    struct search search = begin_search(python, walk);
    struct ss_walk_frame below;
    uint64_t address = walk->top_start, next;
    for (int step = 0; step < MAX_CLIMB && get_frame(&search, address, &below); step++) {
        next = address + ss_code_frame_bytes(&python->codes, below.code);
        if (next == frame) {
            return address;
        }
        if (next <= address || next > frame) {
            return 0;
        }
        address = next;
    }
    return 0;
}

void ss_walk_find_leaves(struct ss_python *python, const struct ss_python_walk *walk,
                         const uint64_t pointers[2], struct ss_walk_leaves *leaves)
{
    struct search search = begin_search(python, walk);
    uint64_t pointer = pointers[0] != UINT64_MAX ? pointers[0] : pointers[1];
    *leaves = (struct ss_walk_leaves){.is_exact = python->layout.frame_stackpointer != SS_ABSENT};
    bool is_above = ss_walk_in_current_chunk(walk, pointer) && !is_covered(&search, pointer) &&
                    pointer >= search.start;
    if (pointer == UINT64_MAX) {
        return;
    }
    if (pointer == 0 && pointers[1] == 0) {
        put(leaves, 0);
    } else if (is_above || search.bytes == NULL) { /* the stack is higher than predicted */
        put(leaves, pointer);
    } else if (pointer != 0 || pointers[1] != 0) {
        search_copy(&search, pointers, pointer, leaves);
    }
}
