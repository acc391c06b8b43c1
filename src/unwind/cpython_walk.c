/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the Python frames of a running thread.
 *
 * The walk predicts the ranges that it needs from the previous walk and fetches them in one call
 * (walk_plan.h). It copies the top of the stack right before and right after it reads the pointer
 * to the innermost frame. A frame that is equal in both copies was valid when the pointer was read,
 * and so were its callers: a caller cannot change before its callee returns. Functions shorter than
 * the read are decoded from the copy after the pointer, if each is a valid frame and their chain
 * leads to a frame that is equal in both copies. From 3.11 on the data stack's part of the top is
 * copied once, and the frames in it follow one another without gaps: what lies between two of them
 * outside the data stack, an entry from C or a generator, is right if it leads from the one to the
 * one right below it, whatever it did meanwhile. The memory below the top is read earlier, and
 * before it the anchor, the outermost frame of the top: if the anchor is unchanged in the top, the
 * two parts are consistent for the same reason.
 *
 * When a chain breaks, or a frame is not where it was predicted, the walk is planned and read again
 * at once, a few times; the fallback is the stable part of the stack on the root's side.
 */
#include <string.h>

#include "unwind/walk_frame.h"
#include "unwind/walk_leaf.h"
#include "unwind/walk_outside.h"
#include "unwind/walk_plan.h"

enum {
    MAX_RETRIES = 12,
};

/* --- fetched bytes --- */

/* A cursor over the pieces: chains visit them nearly in order. */
struct finder {
    const struct ss_walk_piece *pieces;
    size_t count;
    size_t hint;
    size_t frame_bytes;
};

static bool contains_frame(const struct finder *finder, size_t index, uint64_t address)
{
    const struct ss_walk_piece *piece = &finder->pieces[index];
    return address >= piece->start && address < piece->end &&
           piece->end - address >= finder->frame_bytes;
}

static const struct ss_walk_piece *find_piece(struct finder *finder, uint64_t address)
{
    for (size_t i = 0; i < finder->count; i++) {
        size_t index =
            finder->hint + i < finder->count ? finder->hint + i : finder->hint + i - finder->count;
        if (contains_frame(finder, index, address)) {
            finder->hint = index;
            return &finder->pieces[index];
        }
    }
    return NULL;
}

/* Compares a frame with another copy of it. The instruction of a busy frame may differ. */
static bool is_same(const struct ss_python *python, const struct ss_walk_frame *frame,
                    const uint8_t *copy, bool is_busy)
{
    struct ss_walk_frame other;
    ss_walk_decode(&python->layout, copy, &other);
    return frame->code == other.code && frame->previous == other.previous &&
           frame->owner == other.owner && (is_busy || frame->instruction == other.instruction);
}

/* --- one chain --- */

/* The result of one attempt. */
struct attempt {
    uint32_t count;        /* frames found, in total */
    uint32_t unstable;     /* number of innermost frames that are not verified */
    bool is_tolerant;      /* innermost frames may change: see is_bad_in_top */
    bool has_stable_frame; /* the chain reached a frame that is equal in both copies */
    bool reached_base;
    bool is_torn;          /* a frame changed during the read */
    bool has_gap;          /* see skip_outside: the frames are right, but some are unknown */
    bool was_mispredicted; /* a frame was not where it was predicted */
    /* With a single copy of the data stack: */
    struct ss_walk_outside outside;
    bool is_from_outside; /* the last frame was outside */
    uint64_t upper;       /* the last frame in the current chunk; 0: none */
    struct ss_walk_observation observation;
};

/* Where the n-th frame, innermost first, is kept: the first SS_PYTHON_INNERMOST, and a ring of the
 * last. */
static uint32_t place_of(uint32_t n)
{
    enum { RING = SS_PYTHON_MAX_DEPTH - SS_PYTHON_INNERMOST };
    return n < SS_PYTHON_INNERMOST ? n : SS_PYTHON_INNERMOST + (n - SS_PYTHON_INNERMOST) % RING;
}

/* Puts a frame into its place; false: not a valid frame. */
static bool put_frame(struct ss_python *python, const struct ss_walk_frame *frame,
                      struct attempt *attempt)
{
    if (ss_walk_is_shim(python, frame)) {
        return true;
    }
    uint32_t id = ss_code_frame(&python->codes, frame->code, frame->instruction);
    if (id == SS_FRAME_NONE) {
        return false;
    }
    if (id != SS_FRAME_SHIM) {
        python->scratch->reversed[place_of(attempt->count++)] = id;
    }
    return true;
}

/* true: a frame of the top changed while the pointer was read. A tolerant attempt accepts changed
 * innermost frames, as read after the pointer, down to the first that is equal in both copies. */
static bool is_bad_in_top(const struct ss_python *python, const struct ss_walk_piece *piece,
                          const struct ss_walk_frame *frame, uint32_t step, struct attempt *attempt)
{
    const uint8_t *ahead = piece->ahead + (frame->address - piece->start);
    bool is_busy = step == 0 || (attempt->is_tolerant && !attempt->has_stable_frame);
    bool is_equal = is_same(python, frame, ahead, is_busy);
    bool is_bad = !is_equal && (!attempt->is_tolerant || attempt->has_stable_frame);
    attempt->has_stable_frame |= is_equal;
    return is_bad;
}

/* A frame under construction has no caller yet, like a thread's first frame, but does not run. */
static bool is_half_pushed(const struct ss_python *python, const struct ss_walk_frame *frame,
                           uint32_t step)
{
    return ss_walk_has_snapshot(python) && step == 0 && frame->previous == 0 &&
           !frame->is_running && !ss_walk_is_shim(python, frame);
}

/* A generator that yields has no caller any more: the pointer to it was read just before. Up
 * to 3.10 the code says that it is one; from 3.12 on the outermost frame of a thread is one that C
 * made. */
static bool is_cut_off(const struct ss_python *python, const struct ss_walk_frame *outermost)
{
    return outermost->address != 0 &&
           (python->layout.version < 0x030c ? ss_code_is_generator(&python->codes, outermost->code)
                                            : !ss_walk_is_shim(python, outermost));
}

/* Whether a frame of the data stack is the one that the frames outside must lead to: right below
 * the frame that they came from or, if one of them is the innermost, the highest that has not
 * ended. */
static bool is_expected(struct ss_python *python, const struct ss_walk_frame *frame,
                        const struct ss_walk_leaves *leaves, const struct attempt *attempt)
{
    if (attempt->upper != 0) {
        return frame->address + ss_code_frame_bytes(&python->codes, frame->code) == attempt->upper;
    }
    if (leaves->is_exact || frame->address == leaves->highest) {
        return leaves->highest == 0 || frame->address == leaves->highest;
    }
    bool has_ended =
        !frame->is_running && ss_code_is_return(&python->codes, frame->code, frame->instruction);
    return frame->address > leaves->highest && !has_ended;
}

/* Whether the thread's first frame lies at the start of its data stack: of the first chunk CPython
 * leaves out a word. */
static bool is_first(const struct ss_python *python, const struct ss_python_walk *walk,
                     const struct attempt *attempt)
{
    if (attempt->upper == 0 || walk->chunks.count != 1) {
        return true;
    }
    uint64_t start = walk->chunks.data[0].address + (uint64_t)python->layout.chunk_data;
    return attempt->upper == start || attempt->upper == start + 8;
}

/* Goes on below a frame outside the data stack that could not be read in time. A generator that is
 * suspended has its name, but no caller: it may be another generator. */
static bool skip_outside(struct ss_python *python, const struct ss_python_walk *walk,
                         struct ss_walk_frame *frame, struct attempt *attempt)
{
    uint64_t below = ss_walk_skip_outside(python, walk, attempt->upper);
    if (below == 0) {
        return false;
    }
    if (!ss_walk_is_entry(walk, frame->address)) {
        if (frame->code != 0) {
            put_frame(python, frame, attempt);
        }
        attempt->has_gap = true;
        python->scratch->reversed[place_of(attempt->count++)] =
            ss_code_mark(&python->codes, ss_strview_of("<unknown: a generator that had ended>"));
    }
    frame->previous = below;
    return true;
}

/* Follows the frames from `leaf` on. Fills scratch->reversed, scratch->chain and scratch->missed.
 * Long: a frame is judged by what all frames before it have shown, which is the state of this loop.
 */
static void follow_chain(struct ss_python *python, const struct ss_python_walk *walk,
                         struct finder *finder, uint64_t leaf, const struct ss_walk_leaves *leaves,
                         struct attempt *attempt)
{
    struct ss_walk_scratch *scratch = python->scratch;
    const struct ss_memory_range *anchor =
        scratch->plan.anchor != SIZE_MAX ? &scratch->ranges.data[scratch->plan.anchor] : NULL;
    /* Up to 3.10 the frames are scattered over the heap, and reading them takes longer than a short
     * function runs. But each frame records whether it executes, and its caller. */
    bool trusts_frame_state = attempt->is_tolerant && !ss_walk_has_datastack(python);
    bool is_anchored = scratch->plan.is_quiet;
    size_t steps_left = scratch->plan.total_bytes / finder->frame_bytes + SS_PYTHON_MAX_DEPTH;
    uint64_t cycle_mark = 0; /* an earlier address, updated at powers of two */
    bool is_direct = false;  /* `inner` was called without C in between */
    struct ss_walk_frame frame = {.address = leaf}, inner = {0};
    for (uint32_t step = 0; frame.address != 0; step++, frame.address = frame.previous) {
        const struct ss_walk_piece *piece = find_piece(finder, frame.address);
        bool is_outside = leaves != NULL && !ss_walk_is_in_chunks(walk, frame.address);
        if (piece != NULL && !is_outside) {
            ss_walk_decode(&python->layout, piece->bytes + (frame.address - piece->start), &frame);
        }
        bool is_cycle = frame.address == cycle_mark;
        cycle_mark = (step & (step - 1)) == 0 ? frame.address : cycle_mark;
        bool is_there =
            !is_outside || ss_walk_read_outside(python, walk, piece, &frame, &attempt->outside);
        if (!is_there && skip_outside(python, walk, &frame, attempt)) {
            attempt->is_from_outside = true;
            is_direct = false;
            continue;
        }
        /* After a frame that changed, the chain may lead anywhere. */
        if (is_cycle || steps_left-- == 0 || !is_there ||
            (!is_outside && piece == NULL &&
             (attempt->is_torn || !ss_walk_read_unpredicted(python, &frame)))) {
            attempt->was_mispredicted = true;
            return;
        }
        bool is_snapshot = piece != NULL && piece->is_snapshot;
        bool in_top = is_snapshot || (piece != NULL && piece->ahead != NULL);
        /* A stale frame may have ended right after the pointer was read. */
        if (in_top && trusts_frame_state && frame.is_stale) {
            ss_walk_decode(&python->layout, piece->ahead + (frame.address - piece->start), &frame);
        }
        bool is_bad = frame.is_stale || is_half_pushed(python, &frame, step) ||
                      !put_frame(python, &frame, attempt);
        attempt->observation.is_torn |= is_bad;
        bool in_chunk = ss_walk_in_current_chunk(walk, frame.address);
        if (leaves != NULL && in_chunk) {
            is_bad |= attempt->is_from_outside && !is_expected(python, &frame, leaves, attempt);
            attempt->upper = frame.address;
        }
        attempt->is_from_outside = is_outside;
        if (is_snapshot) {
            /* A frame that waits for its own Python callee does not run. */
            is_bad |= frame.is_running && is_direct;
            attempt->has_stable_frame = true;
        } else if (in_top && !trusts_frame_state && !is_outside) {
            is_bad |= is_bad_in_top(python, piece, &frame, step, attempt);
        }
        if (frame.address == walk->anchor && anchor != NULL && anchor->got == anchor->length) {
            is_anchored = is_same(python, &frame, anchor->buffer, false);
        }
        attempt->was_mispredicted |= attempt->outside.is_unpredicted;
        attempt->was_mispredicted |=
            (piece == NULL || (!in_top && !is_anchored)) && !trusts_frame_state && !is_outside;
        if (!in_chunk) {
            ss_vec_push(&scratch->chain,
                        (struct ss_walk_external){frame.address, frame.code, frame.previous, 0,
                                                  ss_walk_is_shim(python, &frame)});
        }
        ss_walk_note_frame(walk, frame.address, &attempt->observation);
        /* Within a chunk a caller is below its callee. */
        is_bad |= frame.previous >= frame.address && in_top && in_chunk &&
                  ss_walk_in_current_chunk(walk, frame.previous);
        inner = frame;
        is_direct = !frame.is_entry && !ss_walk_is_shim(python, &frame);
        if (is_bad) {
            attempt->unstable = attempt->count;
            attempt->is_torn = true;
        }
    }
    if (is_cut_off(python, &inner) ||
        (attempt->is_from_outside && !is_first(python, walk, attempt))) {
        attempt->unstable = attempt->count;
        attempt->is_torn = true;
    }
    attempt->reached_base = true;
}

/* --- one plan --- */

/* Selects the current one of the candidate pointers; false: none, plan the walk again. */
static bool choose_pointer(const struct ss_python *python, struct ss_python_walk *walk,
                           const uint8_t *window, size_t *which)
{
    *which = 0;
    if (python->layout.tstate_cframe == SS_ABSENT) {
        return true;
    }
    size_t known = python->scratch->plan.pointer_count;
    uint64_t cframe = ss_word(window, python->layout.tstate_cframe - python->window_start);
    python->scratch->plan.cframe = cframe;
    while (*which < known && walk->cframes[*which] != cframe) {
        (*which)++;
    }
    if (*which > 0 || known == 0) {
        ss_walk_remember_cframe(walk, cframe);
    }
    return *which < known;
}

/* 3.11 and 3.12 link a new _PyCFrame into the thread state before they fill it: "no frame" is valid
 * only in the first _PyCFrame, which is part of the thread state. */
static bool is_half_made(const struct ss_python *python, const struct ss_python_thread *thread,
                         uint64_t leaf)
{
    uint64_t offset = python->scratch->plan.cframe - thread->tstate_address;
    return leaf == 0 && python->layout.tstate_cframe != SS_ABSENT &&
           offset >= (uint64_t)python->layout.tstate_size;
}

static bool is_verified(const struct attempt *attempt)
{
    return attempt->reached_base && !attempt->is_torn && !attempt->was_mispredicted;
}

/* Follows one chain through the collected pieces. `leaves`: of a single copy of the data stack. */
static void try_leaf(struct ss_python *python, const struct ss_python_thread *thread, uint64_t leaf,
                     const struct ss_walk_leaves *leaves, struct attempt *attempt)
{
    struct ss_walk_scratch *scratch = python->scratch;
    ss_vec_clear(&scratch->chain);
    ss_vec_clear(&scratch->missed);
    struct finder finder = {scratch->pieces.data, scratch->pieces.count, 0,
                            (size_t)python->layout.frame_size};
    follow_chain(python, thread->walk, &finder, leaf, leaves, attempt);
}

/* true: the thread runs a frame outside the data stack, as of a generator, that the plan did not
 * cover. Its caller would be taken for the innermost one: the next plan covers the frame. */
static bool is_only_unpredicted(const struct ss_python_walk *walk, const uint64_t pointers[2],
                                uint64_t leaf, const struct attempt *attempt)
{
    return leaf == pointers[0] && leaf == pointers[1] && leaf != 0 &&
           !ss_walk_in_current_chunk(walk, leaf) && attempt->reached_base && !attempt->is_torn &&
           attempt->was_mispredicted;
}

/* The pointer to the innermost frame, in a _PyCFrame that was not predicted; UINT64_MAX: unknown.
 */
static uint64_t read_pointer(const struct ss_python *python, const struct ss_python_thread *thread)
{
    uint64_t pointer;
    uint64_t address = python->scratch->plan.cframe + (uint64_t)python->layout.cframe_current_frame;
    bool is_read = ss_memory_read(python->reader, address, &pointer, sizeof pointer);
    return is_read && !is_half_made(python, thread, pointer) ? pointer : UINT64_MAX;
}

/* Decodes the single copy of the data stack. `which`: of the pointers; SIZE_MAX: another. */
static void decode_snapshot(struct ss_python *python, const struct ss_python_thread *thread,
                            size_t which, struct attempt *attempt)
{
    struct ss_walk_scratch *scratch = python->scratch;
    uint64_t pointers[2];
    for (size_t i = 0; i < 2; i++) {
        const struct ss_memory_range *range =
            which == SIZE_MAX ? NULL : &scratch->ranges.data[scratch->plan.pointer[i] + which];
        pointers[i] = UINT64_MAX;
        if (which == SIZE_MAX) {
            pointers[i] = i == 0 ? read_pointer(python, thread) : pointers[0];
        } else if (range->got == range->length) {
            uint64_t pointer = ss_word(range->buffer, (int32_t)scratch->plan.pointer_at);
            pointers[i] = is_half_made(python, thread, pointer) ? UINT64_MAX : pointer;
        }
    }
    ss_walk_collect(scratch, 0);
    struct ss_walk_leaves leaves;
    ss_walk_find_leaves(python, thread->walk, pointers, &leaves);
    for (size_t i = 0; i < leaves.count; i++) {
        for (int behind = 0; behind < 2 && (behind == 0 || attempt->outside.has_choice); behind++) {
            *attempt =
                (struct attempt){.is_tolerant = true, .outside = {.prefers_behind = behind == 1}};
            try_leaf(python, thread, leaves.frames[i], &leaves, attempt);
            if (is_verified(attempt) ||
                is_only_unpredicted(thread->walk, pointers, leaves.frames[i], attempt)) {
                return;
            }
        }
    }
}

/* Decodes the chain of each pointer between two copies of the top, until one verifies. */
static void decode(struct ss_python *python, const struct ss_python_thread *thread, size_t which,
                   bool is_tolerant, struct attempt *attempt)
{
    struct ss_walk_scratch *scratch = python->scratch;
    const struct ss_walk_plan *plan = &scratch->plan;
    for (size_t i = 0; i + 1 < plan->copies; i++) {
        const struct ss_memory_range *pointer =
            &scratch->ranges.data[scratch->plan.pointer[i] + which];
        if (pointer->got < pointer->length) {
            continue;
        }
        uint64_t leaf = ss_word(pointer->buffer, (int32_t)plan->pointer_at);
        if (is_half_made(python, thread, leaf)) {
            continue;
        }
        ss_walk_collect(scratch, i);
        *attempt = (struct attempt){.is_tolerant = is_tolerant};
        try_leaf(python, thread, leaf, NULL, attempt);
        if (is_verified(attempt)) {
            return;
        }
    }
}

/* false: the thread state belongs to another thread by now, or is unreadable. */
static bool is_same_thread(const struct ss_python *python, const struct ss_python_thread *thread,
                           const struct ss_memory_range *window)
{
    return window->got == window->length &&
           ss_word(window->buffer, python->layout.tstate_thread_id - python->window_start) ==
               thread->pthread;
}

static bool holds_gil(const struct ss_python *python, const struct ss_python_thread *thread)
{
    const struct ss_walk_scratch *scratch = python->scratch;
    if (scratch->plan.gil == SIZE_MAX) {
        return false;
    }
    const struct ss_memory_range *range = &scratch->ranges.data[scratch->plan.gil];
    const struct ss_cpython_layout *layout = &python->layout;
    int32_t locked, enabled = 1;
    if (range->got < range->length) {
        return false;
    }
    memcpy(&locked, (const uint8_t *)range->buffer + layout->gil_locked, sizeof locked);
    if (layout->gil_enabled != SS_ABSENT) {
        memcpy(&enabled, (const uint8_t *)range->buffer + layout->gil_enabled, sizeof enabled);
    }
    return enabled != 0 && locked == 1 &&
           ss_word(range->buffer, layout->gil_last_holder) == thread->tstate_address;
}

/* true: the copied data stack is the one that the thread state had after the copy. A greenlet has a
 * data stack of its own, and the frames of one that is suspended seem to run: without this check,
 * they would be found in the copy. */
static bool is_current_stack(const struct ss_python *python, const struct ss_python_walk *walk,
                             const uint8_t *window)
{
    uint64_t copied = walk->chunks.count > 0 ? walk->chunks.data[0].address : 0;
    return ss_word(window, python->layout.tstate_datastack_chunk - python->window_start) == copied;
}

/* Decodes the fetched ranges of a plan. false: the thread is gone. */
static bool use_fetched(struct ss_python *python, struct ss_python_thread *thread,
                        struct attempt *attempt, struct ss_python_stack *stack)
{
    struct ss_walk_scratch *scratch = python->scratch;
    struct ss_python_walk *walk = thread->walk;
    const struct ss_memory_range *window = &scratch->ranges.data[scratch->plan.window];
    *attempt = (struct attempt){.was_mispredicted = true};
    if (!is_same_thread(python, thread, window)) {
        python->threads_stale = true;
        return false;
    }
    stack->holds_gil = holds_gil(python, thread);
    ss_vec_clear(&scratch->chain);
    ss_vec_clear(&scratch->missed);
    size_t which;
    bool is_known = choose_pointer(python, walk, window->buffer, &which);
    if (is_known && scratch->plan.is_quiet) {
        decode(python, thread, which, false, attempt);
    } else if (ss_walk_has_snapshot(python) && !scratch->plan.is_quiet) {
        if (is_current_stack(python, walk, window->buffer)) {
            decode_snapshot(python, thread, is_known ? which : SIZE_MAX, attempt);
        }
    } else if (is_known) {
        /* Retrying until the innermost frame is stable would bias samples towards long functions.
         * Scattered frames are decoded strictly first: tolerant decoding verifies less there. */
        bool is_tolerant = ss_walk_has_datastack(python);
        decode(python, thread, which, is_tolerant, attempt);
        if (!is_verified(attempt) && !is_tolerant) {
            decode(python, thread, which, true, attempt);
        }
    }
    attempt->observation.is_torn |= !attempt->reached_base;
    ss_walk_learn(python, walk, window->buffer, &attempt->observation);
    return true;
}

/* One plan, one read. false: the thread is gone. */
static bool try_once(struct ss_python *python, struct ss_python_thread *thread,
                     struct attempt *attempt, struct ss_python_stack *stack)
{
    /* A second pair of copies costs less than another call. */
    ss_walk_make_plan(python, thread, stack->retries == 0 ? 2 : SS_WALK_MAX_COPIES);
    return ss_walk_fetch(python) && use_fetched(python, thread, attempt, stack);
}

/* Reverses the frames: outermost first, without the unverified innermost ones. */
static void put_result(struct ss_python *python, const struct attempt *attempt,
                       struct ss_python_stack *stack)
{
    const uint32_t *reversed = python->scratch->reversed;
    bool is_too_deep = attempt->count > SS_PYTHON_MAX_DEPTH;
    /* Of a deep stack: all of the inner end, and as many of the outer end as the mark leaves. */
    uint32_t outer = SS_PYTHON_MAX_DEPTH - SS_PYTHON_INNERMOST - 1;
    uint32_t first = is_too_deep ? attempt->count - outer : attempt->unstable;
    first = first > attempt->unstable ? first : attempt->unstable;
    stack->depth = 0;
    for (uint32_t n = attempt->count; n > first; n--) {
        python->frames[stack->depth++] = reversed[place_of(n - 1)];
    }
    if (is_too_deep && attempt->unstable < SS_PYTHON_INNERMOST) {
        python->frames[stack->depth++] =
            ss_code_mark(&python->codes, ss_strview_of("<frames left out: the stack is too deep>"));
        for (uint32_t n = SS_PYTHON_INNERMOST; n > attempt->unstable; n--) {
            python->frames[stack->depth++] = reversed[place_of(n - 1)];
        }
    }
}

enum ss_python_result ss_walk_complete(struct ss_python *python, struct ss_python_thread *thread,
                                       struct ss_walk_scratch *fetched,
                                       struct ss_python_stack *stack)
{
    struct ss_walk_scratch *own = python->scratch;
    memset(stack, 0, sizeof *stack);
    stack->frames = python->frames;
    for (; stack->retries <= MAX_RETRIES; stack->retries++) {
        struct attempt attempt;
        if (fetched != NULL) {
            python->scratch = fetched;
        }
        bool is_there = fetched != NULL ? use_fetched(python, thread, &attempt, stack)
                                        : try_once(python, thread, &attempt, stack);
        python->scratch = own;
        fetched = NULL;
        if (!is_there) {
            stack->depth = 0;
            return SS_PYTHON_LOST;
        }
        if (is_verified(&attempt)) {
            put_result(python, &attempt, stack);
            bool is_partial = attempt.has_gap || attempt.count > SS_PYTHON_MAX_DEPTH;
            return attempt.count == 0 ? SS_PYTHON_EMPTY
                   : is_partial       ? SS_PYTHON_PARTIAL
                                      : SS_PYTHON_OK;
        }
        /* Stores the longest verified part, in case no attempt succeeds. */
        if (attempt.reached_base && !attempt.was_mispredicted &&
            attempt.count - attempt.unstable > stack->depth) {
            put_result(python, &attempt, stack);
        }
    }
    stack->retries = MAX_RETRIES;
    return stack->depth > 0 ? SS_PYTHON_PARTIAL : SS_PYTHON_LOST;
}

enum ss_python_result ss_python_walk_thread(struct ss_python *python,
                                            struct ss_python_thread *thread,
                                            struct ss_python_stack *stack)
{
    thread->walk->number++;
    return ss_walk_complete(python, thread, NULL, stack);
}
