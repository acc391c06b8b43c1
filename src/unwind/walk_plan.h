/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk fetches: predictions from the walks before, the ranges made from them, and what
 * arrived. Plan, fetch and decode are steps of their own: walk_batch.c fetches many plans with one
 * call, each thread's ranges side by side.
 *
 * Order of the ranges: the thread state; the anchor (the outermost frame of the top); what lies
 * below the top; then the top, a pointer to the innermost frame, the top again, and possibly
 * pointer and top once or twice more. The "top" is where frames come and go: the upper part of the
 * data stack and frames elsewhere that were called from there; up to 3.10 the innermost frames.
 */
#ifndef SS_UNWIND_WALK_PLAN_H
#define SS_UNWIND_WALK_PLAN_H

#include "base/vec.h"
#include "unwind/python_state.h"

enum {
    SS_WALK_MAX_CFRAMES = 6,
    SS_WALK_MAX_COPIES = 4, /* of the top */
    SS_WALK_LEARN_SIZES = 64,
};

struct ss_walk_chunk {
    uint64_t address, used_end;
};

/* A frame outside the data stack: in a generator or coroutine, on the C stack (entries, 3.12 on),
 * or any frame up to 3.10. */
struct ss_walk_external {
    uint64_t address;
    uint32_t last_walk;
};

struct ss_walk_span {
    uint64_t start, end;
};

struct ss_python_walk {
    uint64_t cframes[SS_WALK_MAX_CFRAMES]; /* 3.11, 3.12; most recent first */
    uint32_t cframe_count;
    struct ss_vec_of(struct ss_walk_chunk) chunks;       /* the current one first */
    struct ss_vec_of(struct ss_walk_external) externals; /* in the order of the last chain */
    size_t top_externals;                                /* so many of them belong to the top */
    struct ss_vec_of(struct ss_walk_span) spans;         /* where the others lie; see spans_known */
    bool spans_known;
    uint64_t top_bytes;                   /* how large the top may be */
    uint64_t top_start;                   /* of the data stack's part of the top; 0 unknown */
    uint64_t anchor;                      /* the outermost frame of the top; 0 unknown */
    uint64_t high_water, next_high_water; /* end of the highest frame in the current chunk */
    uint32_t number;
};

/* Bytes of the target that arrived. Of the top, `bytes` come from behind the pointer and `ahead`
 * from ahead of it; of the rest, `ahead` is NULL. */
struct ss_walk_piece {
    uint64_t start, end;
    const uint8_t *bytes, *ahead;
    bool is_snapshot; /* of the data stack, all at one time */
};

/* Indices into scratch->ranges; SIZE_MAX: none. */
struct ss_walk_plan {
    size_t window, anchor, gil;
    size_t below, below_count; /* data stack, then externals */
    size_t top[SS_WALK_MAX_COPIES], top_count, top_externals;
    size_t stack; /* the one copy of the data stack's top, where one is enough */
    size_t pointer[SS_WALK_MAX_COPIES - 1], pointer_count;
    size_t pointer_at; /* where in its range the pointer is */
    uint64_t cframe;   /* 3.11, 3.12: the one that holds the pointer, once read */
    size_t copies;     /* of the top; pointer[i] stands between copies i and i + 1 */
    size_t total_bytes;
    bool is_quiet; /* of a thread that cannot run Python meanwhile: nothing is read twice */
};

struct ss_walk_scratch {
    struct ss_walk_plan plan;
    struct ss_vec_of(struct ss_memory_range) ranges;
    struct ss_vec_of(struct ss_walk_piece) pieces;   /* the top's first */
    struct ss_vec_of(struct ss_walk_external) chain; /* externals met, innermost first */
    struct ss_vec_of(uint64_t) missed;               /* frames that no range covered */
    uint8_t *buffer;
    size_t buffer_bytes;
    uint32_t wanted_sizes; /* so many walks note the sizes of frames */
    uint32_t *reversed;    /* ids, innermost first: a ring of SS_PYTHON_MAX_DEPTH */
    bool shares_reversed;
};

/* What a chain taught, for the next plan. */
struct ss_walk_lesson {
    uint64_t highest;        /* innermost frame met in the current chunk; 0 none */
    uint64_t lowest;         /* outermost one that is near enough to it for the top */
    uint64_t anchor;         /* the outermost frame that the top can reach to */
    size_t externals;        /* met so far */
    size_t top_externals;    /* met up to that anchor */
    size_t anchor_externals; /* met up to the present anchor */
    bool is_beyond_top;
    bool is_anchor_met; /* the present one */
    bool is_torn;       /* the chain may have led anywhere */
};

static inline bool ss_walk_has_datastack(const struct ss_python *python)
{
    return python->layout.tstate_datastack_chunk != SS_ABSENT;
}

/* From 3.11 to 3.13 one copy of the data stack tells what was innermost in it; see walk_leaf.h. */
static inline bool ss_walk_has_snapshot(const struct ss_python *python)
{
    return python->layout.frame_stacktop != SS_ABSENT;
}

void ss_walk_make_plan(const struct ss_python *python, const struct ss_python_thread *thread,
                       size_t copies);
/* A plan for a thread of which the caller proves that it did not run Python during the read. */
void ss_walk_make_quiet_plan(const struct ss_python *python, const struct ss_python_thread *thread);
/* Gives each range its place in the buffer. */
void ss_walk_place_ranges(struct ss_walk_scratch *scratch);
/* One call for everything; false when the target is gone or refuses. */
bool ss_walk_fetch(struct ss_python *python);
/* Walks a thread, beginning with what was fetched for it already (NULL: nothing). */
enum ss_python_result ss_walk_complete(struct ss_python *python, struct ss_python_thread *thread,
                                       struct ss_walk_scratch *fetched,
                                       struct ss_python_stack *stack);
/* The pieces as seen from pointer `window`. */
void ss_walk_collect(struct ss_walk_scratch *scratch, size_t window);

/* The copy of the data stack's top among the pieces; NULL: none. */
const struct ss_walk_piece *ss_walk_snapshot(const struct ss_walk_scratch *scratch);

void ss_walk_remember_cframe(struct ss_python_walk *walk, uint64_t cframe);
bool ss_walk_in_current_chunk(const struct ss_python_walk *walk, uint64_t address);
/* Notes one frame of a chain, innermost first. */
void ss_walk_note_frame(const struct ss_python_walk *walk, uint64_t address,
                        struct ss_walk_lesson *lesson);
void ss_walk_learn(struct ss_python *python, struct ss_python_walk *walk, const uint8_t *window,
                   const struct ss_walk_lesson *lesson);

#endif
