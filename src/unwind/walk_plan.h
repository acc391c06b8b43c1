/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk fetches: predictions from previous walks, the ranges derived from them, and the bytes
 * that arrived. Plan, fetch and decode are separate steps: walk_batch.c fetches many plans with one
 * call, each thread's ranges adjacent.
 *
 * Order of the ranges: the anchor (the outermost frame of the top); the memory below the top; then
 * the top, a pointer to the innermost frame, the top again, and possibly pointer and top once or
 * twice more. From 3.11 on the data stack's part of the top is copied only once, before the
 * pointer. The "top" is the part that changes often: the upper part of the data stack and frames
 * elsewhere that were called from there; up to 3.10 the innermost frames.
 */
#ifndef SS_UNWIND_WALK_PLAN_H
#define SS_UNWIND_WALK_PLAN_H

#include "base/vec.h"
#include "unwind/python_state.h"

enum {
    SS_WALK_MAX_CFRAMES = 6,
    SS_WALK_MAX_COPIES = 4, /* of the top */
};

struct ss_walk_chunk {
    uint64_t address, used_end;
};

/* A frame outside the data stack: in a generator or coroutine, on the C stack (entries, 3.12 on),
 * or any frame up to 3.10. */
struct ss_walk_external {
    uint64_t address;
    uint64_t code, previous; /* as last seen in a chain; previous 0: unknown */
    uint32_t last_walk;
    bool is_entry; /* from C: it lies on the C stack of the thread */
};

struct ss_walk_span {
    uint64_t start, end;
};

struct ss_python_walk {
    uint64_t cframes[SS_WALK_MAX_CFRAMES]; /* 3.11, 3.12; most recent first */
    uint32_t cframe_count;
    struct ss_vec_of(struct ss_walk_chunk) chunks;       /* the current one first */
    struct ss_vec_of(struct ss_walk_external) externals; /* in the order of the last chain */
    size_t top_externals;                                /* how many of them belong to the top */
    struct ss_vec_of(struct ss_walk_span) spans;         /* of the others; valid if spans_known */
    bool spans_known;
    uint64_t top_bytes;                   /* maximum size of the top */
    uint64_t top_start;                   /* of the data stack's part of the top; 0 unknown */
    uint64_t anchor;                      /* the outermost frame of the top; 0 unknown */
    uint64_t high_water, next_high_water; /* end of the highest frame in the current chunk */
    uint32_t number;
};

/* Fetched bytes of the target. In the top, `ahead` was read before the pointer and `bytes` after
 * it; elsewhere `ahead` is NULL. */
struct ss_walk_piece {
    uint64_t start, end;
    const uint8_t *bytes, *ahead;
    bool is_snapshot; /* the single copy of the data stack */
};

/* Indices into scratch->ranges; SIZE_MAX: none. */
struct ss_walk_plan {
    size_t window, anchor, gil;
    size_t below, below_count; /* of the data stack */
    size_t spans, span_count;  /* externals outside the top */
    size_t top[SS_WALK_MAX_COPIES], top_count, top_externals;
    size_t stack; /* the single copy of the data stack's top, where one is enough */
    size_t pointer[SS_WALK_MAX_COPIES - 1], pointer_count;
    size_t pointer_at; /* byte offset of the pointer in its range */
    uint64_t cframe;   /* 3.11, 3.12: the _PyCFrame with the pointer, once read */
    size_t copies;     /* of the top; pointer[i] is between copies i and i + 1 */
    size_t total_bytes;
    bool is_quiet; /* the thread cannot run Python during the read: nothing is read twice */
};

struct ss_walk_scratch {
    struct ss_walk_plan plan;
    struct ss_vec_of(struct ss_memory_range) ranges;
    struct ss_vec_of(struct ss_walk_piece) pieces;   /* those of the top first */
    struct ss_vec_of(struct ss_walk_external) chain; /* externals of the chain, innermost first */
    struct ss_vec_of(uint64_t) missed;               /* frames outside all ranges */
    uint8_t *buffer;
    size_t buffer_bytes;
    uint32_t *reversed; /* SS_PYTHON_MAX_DEPTH ids, innermost first */
    bool shares_reversed;
};

/* Observations of a chain, for the next plan. */
struct ss_walk_observation {
    uint64_t highest;        /* innermost frame in the current chunk; 0 none */
    uint64_t lowest;         /* outermost frame in the chunk that fits into the top */
    uint64_t anchor;         /* outermost frame that fits into the top */
    size_t externals;        /* in the chain so far */
    size_t top_externals;    /* up to that anchor */
    size_t anchor_externals; /* up to the current anchor */
    bool is_beyond_top;
    bool is_anchor_reached; /* the current anchor is in the chain */
    bool is_torn;           /* the chain may be invalid */
};

static inline bool ss_walk_has_datastack(const struct ss_python *python)
{
    return python->layout.tstate_datastack_chunk != SS_ABSENT;
}

/* From 3.11 on one copy of the data stack determines its innermost frame; see walk_leaf.h. */
static inline bool ss_walk_has_snapshot(const struct ss_python *python)
{
    return python->layout.frame_stacktop != SS_ABSENT ||
           python->layout.frame_stackpointer != SS_ABSENT;
}

void ss_walk_make_plan(const struct ss_python *python, const struct ss_python_thread *thread,
                       size_t copies);
/* A plan for a thread that does not run Python during the read; the caller proves this. */
void ss_walk_make_quiet_plan(const struct ss_python *python, const struct ss_python_thread *thread);
/* Assigns each range its part of the buffer. */
void ss_walk_assign_buffers(struct ss_walk_scratch *scratch);
/* Fetches all ranges in one call; false: the target is gone or refuses. */
bool ss_walk_fetch(struct ss_python *python);
/* Walks a thread; the first attempt uses the ranges in `fetched` (NULL: none). */
enum ss_python_result ss_walk_complete(struct ss_python *python, struct ss_python_thread *thread,
                                       struct ss_walk_scratch *fetched,
                                       struct ss_python_stack *stack);
/* Collects the pieces around pointer[`window`]. */
void ss_walk_collect(struct ss_walk_scratch *scratch, size_t window);

/* The piece with the single copy of the data stack's top; NULL: none. */
const struct ss_walk_piece *ss_walk_snapshot(const struct ss_walk_scratch *scratch);

void ss_walk_remember_cframe(struct ss_python_walk *walk, uint64_t cframe);
bool ss_walk_in_current_chunk(const struct ss_python_walk *walk, uint64_t address);
bool ss_walk_is_in_chunks(const struct ss_python_walk *walk, uint64_t address);
/* Records one frame of a chain, innermost first. */
void ss_walk_note_frame(const struct ss_python_walk *walk, uint64_t address,
                        struct ss_walk_observation *observation);
void ss_walk_learn(struct ss_python *python, struct ss_python_walk *walk, const uint8_t *window,
                   const struct ss_walk_observation *observation);

#endif
