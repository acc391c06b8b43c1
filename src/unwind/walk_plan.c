/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    TOP_BYTES = 2048,      /* of the data stack: about 15 frames */
    SNAPSHOT_BYTES = 8192, /* the same where it is read only once: a larger range costs little */
    HEADROOM_BYTES = 512,  /* above the highest recent frame */
    MAX_TOP_BYTES = 65536, /* cap, for walks without history */
    MAX_READ_BYTES = 16 << 20, /* one walk, all ranges */
    PAGE_BYTES = 4096,
    JOIN_GAP_BYTES = 512, /* smaller gaps are read rather than split into two ranges */
};

struct ss_python_walk *ss_python_walk_new(void)
{
    return ss_alloc_zero(1, sizeof(struct ss_python_walk));
}

void ss_python_walk_free(struct ss_python_walk *walk)
{
    if (walk != NULL) {
        ss_vec_fini(&walk->chunks);
        ss_vec_fini(&walk->externals);
        ss_vec_fini(&walk->spans);
        ss_free(walk);
    }
}

struct ss_walk_scratch *ss_walk_scratch_new(uint32_t *reversed)
{
    struct ss_walk_scratch *scratch = ss_alloc_zero(1, sizeof *scratch);
    scratch->shares_reversed = reversed != NULL;
    scratch->reversed =
        reversed != NULL ? reversed : ss_alloc_zero(SS_PYTHON_MAX_DEPTH, sizeof *reversed);
    return scratch;
}

void ss_walk_scratch_free(struct ss_walk_scratch *scratch)
{
    if (scratch != NULL) {
        ss_vec_fini(&scratch->ranges);
        ss_vec_fini(&scratch->pieces);
        ss_vec_fini(&scratch->chain);
        ss_vec_fini(&scratch->missed);
        ss_free(scratch->buffer);
        if (!scratch->shares_reversed) {
            ss_free(scratch->reversed);
        }
        ss_free(scratch);
    }
}

size_t ss_walk_scratch_bytes(const struct ss_walk_scratch *scratch)
{
    size_t own = scratch->shares_reversed ? 0 : SS_PYTHON_MAX_DEPTH * sizeof *scratch->reversed;
    return scratch->buffer_bytes + own + scratch->ranges.capacity * sizeof *scratch->ranges.data +
           scratch->pieces.capacity * sizeof *scratch->pieces.data;
}

/* --- the ranges --- */

static size_t add_range(struct ss_walk_scratch *scratch, uint64_t address, uint64_t length)
{
    ss_vec_push(&scratch->ranges, (struct ss_memory_range){address, NULL, (size_t)length, 0});
    scratch->plan.total_bytes += (size_t)length;
    return scratch->ranges.count - 1;
}

static size_t add_window(const struct ss_python *python, const struct ss_python_thread *thread)
{
    return add_range(python->scratch, thread->tstate_address + (uint64_t)python->window_start,
                     python->window_bytes);
}

/* Adds the pointer to the innermost frame: in the thread state, or in a _PyCFrame on the C stack
 * (3.11, 3.12), for which there may be several candidates. */
static size_t add_pointers(const struct ss_python *python, const struct ss_python_thread *thread)
{
    const struct ss_cpython_layout *layout = &python->layout;
    const struct ss_python_walk *walk = thread->walk;
    struct ss_walk_plan *plan = &python->scratch->plan;
    size_t first = python->scratch->ranges.count;
    if (layout->tstate_cframe == SS_ABSENT) {
        add_window(python, thread);
        plan->pointer_count = 1;
        plan->pointer_at =
            (size_t)((layout->tstate_current_frame != SS_ABSENT ? layout->tstate_current_frame
                                                                : layout->tstate_frame) -
                     python->window_start);
        return first;
    }
    for (uint32_t i = 0; i < walk->cframe_count; i++) {
        add_range(python->scratch, walk->cframes[i] + (uint64_t)layout->cframe_current_frame, 8);
    }
    plan->pointer_count = walk->cframe_count;
    return first;
}

static void add_external(const struct ss_python *python, const struct ss_python_walk *walk,
                         size_t index)
{
    add_range(python->scratch, walk->externals.data[index].address,
              (uint64_t)python->layout.frame_size);
}

static struct ss_walk_span top_span(const struct ss_python *python,
                                    const struct ss_python_walk *walk)
{
    if (walk->chunks.count == 0) {
        return (struct ss_walk_span){0, 0};
    }
    const struct ss_walk_chunk *chunk = &walk->chunks.data[0];
    uint64_t first = chunk->address + (uint64_t)python->layout.chunk_data;
    uint64_t end = walk->high_water + HEADROOM_BYTES;
    end = walk->high_water != 0 && end < chunk->used_end ? end : chunk->used_end;
    uint64_t start = walk->top_start > first && walk->top_start < end ? walk->top_start : first;
    return (struct ss_walk_span){start, end - start < MAX_TOP_BYTES ? end : start + MAX_TOP_BYTES};
}

static int by_start(const void *a, const void *b)
{
    const struct ss_walk_span *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

/* Allocators put consecutive allocations side by side: neighbours are joined into one range, but
 * never across a page that contains none of them (it might not be mapped). */
static void join_externals(const struct ss_python *python, struct ss_python_walk *walk)
{
    size_t span_count = 0;
    ss_vec_clear(&walk->spans);
    for (size_t i = walk->top_externals; i < walk->externals.count; i++) {
        uint64_t start = walk->externals.data[i].address;
        ss_vec_push(&walk->spans,
                    (struct ss_walk_span){start, start + (uint64_t)python->layout.frame_size});
    }
    if (walk->spans.count > 1) {
        qsort(walk->spans.data, walk->spans.count, sizeof *walk->spans.data, by_start);
    }
    for (size_t i = 0; i < walk->spans.count; i++) {
        struct ss_walk_span next = walk->spans.data[i];
        struct ss_walk_span *last = span_count > 0 ? &walk->spans.data[span_count - 1] : NULL;
        bool is_neighbour = last != NULL && next.start < last->end + JOIN_GAP_BYTES &&
                            next.start / PAGE_BYTES <= (last->end - 1) / PAGE_BYTES + 1;
        if (is_neighbour) {
            last->end = next.end > last->end ? next.end : last->end;
        } else {
            walk->spans.data[span_count++] = next;
        }
    }
    walk->spans.count = span_count;
    walk->spans_known = true;
}

/* Adds the externals outside the top. */
static void add_spans(const struct ss_python *python, const struct ss_python_walk *walk)
{
    struct ss_walk_scratch *scratch = python->scratch;
    scratch->plan.spans = scratch->ranges.count;
    for (size_t i = 0; i < walk->spans.count; i++) {
        add_range(scratch, walk->spans.data[i].start,
                  walk->spans.data[i].end - walk->spans.data[i].start);
    }
    scratch->plan.span_count = scratch->ranges.count - scratch->plan.spans;
}

/* Adds the rest of the current chunk, and the chunks before it. */
static void add_below(const struct ss_python *python, const struct ss_python_walk *walk,
                      struct ss_walk_span top)
{
    struct ss_walk_scratch *scratch = python->scratch;
    struct ss_walk_plan *plan = &scratch->plan;
    plan->below = scratch->ranges.count;
    for (size_t i = 0; i < walk->chunks.count && plan->total_bytes < MAX_READ_BYTES; i++) {
        const struct ss_walk_chunk *chunk = &walk->chunks.data[i];
        uint64_t start = chunk->address + (uint64_t)python->layout.chunk_data;
        uint64_t end = i == 0 ? top.start : chunk->used_end;
        if (start < end) {
            add_range(scratch, start, end - start);
        }
    }
    plan->below_count = scratch->ranges.count - plan->below;
}

/* Adds one copy of the top. Externals are read outermost first before the pointer and innermost
 * first after it: on both sides the innermost ones are read closest to the pointer. */
static void add_top(const struct ss_python *python, const struct ss_python_walk *walk,
                    struct ss_walk_span top)
{
    struct ss_walk_scratch *scratch = python->scratch;
    struct ss_walk_plan *plan = &scratch->plan;
    bool is_ahead = plan->copies % 2 == 0;
    plan->top[plan->copies++] = scratch->ranges.count;
    for (size_t i = 0; i < walk->top_externals; i++) {
        add_external(python, walk, is_ahead ? walk->top_externals - 1 - i : i);
    }
    if (top.start < top.end) {
        add_range(scratch, top.start, top.end - top.start);
    }
    plan->top_count = scratch->ranges.count - plan->top[plan->copies - 1];
}

/* Reading a word delays the target's next write to it, so that samples would hit that write too
 * often. Every call and return writes the pointer, and frames outside the data stack are made anew
 * with each call: they are read only after the copy of the data stack. */
static void add_snapshot(const struct ss_python *python, const struct ss_python_thread *thread,
                         struct ss_walk_span top, size_t copies)
{
    struct ss_walk_scratch *scratch = python->scratch;
    struct ss_walk_plan *plan = &scratch->plan;
    struct ss_walk_span nothing = {0, 0};
    if (top.start < top.end) {
        plan->stack = add_range(scratch, top.start, top.end - top.start);
    }
    plan->pointer[0] = plan->pointer[1] = add_pointers(python, thread);
    add_top(python, thread->walk, nothing);
    if (copies > 2) { /* the first attempt failed: a second pointer is another hint */
        plan->pointer[1] = add_pointers(python, thread);
    }
    add_top(python, thread->walk, nothing);
    add_spans(python, thread->walk);
    plan->window =
        python->layout.tstate_cframe != SS_ABSENT ? add_window(python, thread) : plan->pointer[0];
}

static uint64_t gil_of(const struct ss_python *python, const struct ss_python_thread *thread)
{
    for (size_t i = 0; i < python->interpreters.count; i++) {
        if ((uint64_t)python->interpreters.data[i].id == thread->interpreter_id) {
            return python->interpreters.data[i].gil;
        }
    }
    return 0;
}

static void prepare(const struct ss_python *python, struct ss_python_walk *walk)
{
    walk->top_bytes = ss_walk_has_snapshot(python) ? SNAPSHOT_BYTES : TOP_BYTES;
    if (!walk->spans_known) {
        join_externals(python, walk);
    }
}

void ss_walk_make_plan(const struct ss_python *python, const struct ss_python_thread *thread,
                       size_t copies)
{
    struct ss_walk_scratch *scratch = python->scratch;
    struct ss_walk_plan *plan = &scratch->plan;
    struct ss_python_walk *walk = thread->walk;
    *plan = (struct ss_walk_plan){.anchor = SIZE_MAX,
                                  .gil = SIZE_MAX,
                                  .stack = SIZE_MAX,
                                  .top_externals = walk->top_externals};
    prepare(python, walk);
    ss_vec_clear(&scratch->ranges);
    struct ss_walk_span top = top_span(python, walk);
    if (walk->anchor != 0) {
        plan->anchor = add_range(scratch, walk->anchor, (uint64_t)python->layout.frame_size);
    }
    add_below(python, walk, top);
    if (!ss_walk_has_snapshot(python)) {
        add_spans(python, walk);
    }
    if (plan->below_count + plan->span_count == 0 && plan->anchor != SIZE_MAX) {
        scratch->ranges.count--; /* nothing to link to the top */
        plan->anchor = SIZE_MAX;
    }
    if (ss_walk_has_snapshot(python)) {
        add_snapshot(python, thread, top, copies);
        copies = 0;
    } else {
        add_top(python, walk, top);
    }
    for (size_t i = 0; i + 1 < copies; i++) {
        plan->pointer[i] = add_pointers(python, thread);
        plan->window = plan->pointer[0];
        add_top(python, walk, top);
    }
    uint64_t gil = gil_of(python, thread);
    if (gil != 0) {
        plan->gil = add_range(scratch, gil, (uint64_t)python->layout.gil_locked + 4);
    }
}

void ss_walk_make_quiet_plan(const struct ss_python *python, const struct ss_python_thread *thread)
{
    struct ss_walk_scratch *scratch = python->scratch;
    struct ss_walk_plan *plan = &scratch->plan;
    struct ss_python_walk *walk = thread->walk;
    *plan = (struct ss_walk_plan){
        .is_quiet = true, .anchor = SIZE_MAX, .gil = SIZE_MAX, .stack = SIZE_MAX};
    ss_vec_clear(&scratch->ranges);
    prepare(python, walk);
    if (python->layout.tstate_cframe != SS_ABSENT) {
        plan->window = add_window(python, thread);
    }
    plan->pointer[0] = add_pointers(python, thread);
    if (python->layout.tstate_cframe != SS_ABSENT && plan->pointer_count > 1) {
        /* The thread did not run: the latest candidate is nearly always the right one. */
        scratch->ranges.count -= plan->pointer_count - 1;
        plan->total_bytes -= (plan->pointer_count - 1) * 8;
        plan->pointer_count = 1;
    }
    plan->copies = 2;
    /* The top of an ordinary plan becomes part of the memory below an empty top. */
    struct ss_walk_span top = top_span(python, walk);
    uint64_t start = walk->chunks.count > 0
                         ? walk->chunks.data[0].address + (uint64_t)python->layout.chunk_data
                         : top.end;
    size_t below = scratch->ranges.count;
    if (start < top.end) {
        add_range(scratch, start, top.end - start);
    }
    for (size_t i = 0; i < walk->top_externals; i++) {
        add_external(python, walk, i);
    }
    add_below(python, walk, (struct ss_walk_span){start, top.end});
    add_spans(python, walk);
    plan->span_count = 0; /* they are counted below */
    plan->below = below;
    plan->below_count = scratch->ranges.count - below;
}

void ss_walk_assign_buffers(struct ss_walk_scratch *scratch)
{
    if (scratch->plan.total_bytes > scratch->buffer_bytes) {
        ss_free(scratch->buffer);
        scratch->buffer_bytes = scratch->plan.total_bytes * 2;
        scratch->buffer = ss_alloc(scratch->buffer_bytes);
    }
    uint8_t *next = scratch->buffer;
    for (size_t i = 0; i < scratch->ranges.count; i++) {
        scratch->ranges.data[i].buffer = next;
        next += scratch->ranges.data[i].length;
    }
}

bool ss_walk_fetch(struct ss_python *python)
{
    struct ss_walk_scratch *scratch = python->scratch;
    ss_walk_assign_buffers(scratch);
    return python->reader->read(python->reader, scratch->ranges.data, scratch->ranges.count) == 0;
}

/* Range of the i-th part of the top in a copy; every other copy has its externals reversed. */
static const struct ss_memory_range *top_range(const struct ss_walk_scratch *scratch, size_t copy,
                                               size_t i, size_t externals)
{
    size_t position = i < externals && copy % 2 == 0 ? externals - 1 - i : i;
    return &scratch->ranges.data[scratch->plan.top[copy] + position];
}

static void add_pieces(struct ss_walk_scratch *scratch, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct ss_memory_range *range = &scratch->ranges.data[first + i];
        ss_vec_push(&scratch->pieces,
                    (struct ss_walk_piece){range->address, range->address + range->got,
                                           range->buffer, NULL, false});
    }
}

void ss_walk_collect(struct ss_walk_scratch *scratch, size_t window)
{
    const struct ss_walk_plan *plan = &scratch->plan;
    size_t externals = plan->top_externals;
    ss_vec_clear(&scratch->pieces);
    if (plan->stack != SIZE_MAX) {
        const struct ss_memory_range *range = &scratch->ranges.data[plan->stack];
        ss_vec_push(&scratch->pieces,
                    (struct ss_walk_piece){range->address, range->address + range->got,
                                           range->buffer, NULL, true});
    }
    for (size_t k = 0; k < plan->top_count; k++) {
        /* The data stack, last in the ranges, is searched first. */
        size_t i = plan->top_count > externals ? (k + externals) % plan->top_count : k;
        const struct ss_memory_range *ahead = top_range(scratch, window, i, externals);
        const struct ss_memory_range *behind = top_range(scratch, window + 1, i, externals);
        size_t got = behind->got < ahead->got ? behind->got : ahead->got;
        ss_vec_push(&scratch->pieces, (struct ss_walk_piece){behind->address, behind->address + got,
                                                             behind->buffer, ahead->buffer, false});
    }
    add_pieces(scratch, plan->below, plan->below_count);
    add_pieces(scratch, plan->spans, plan->span_count);
}

const struct ss_walk_piece *ss_walk_snapshot(const struct ss_walk_scratch *scratch)
{
    return scratch->pieces.count > 0 && scratch->pieces.data[0].is_snapshot
               ? &scratch->pieces.data[0]
               : NULL;
}
