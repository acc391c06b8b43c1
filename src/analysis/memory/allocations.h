/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of devices and of the host over time, from the events of PyTorch's allocators: how much is
 * allocated, which code allocated it, how long it lives, and what is alive at the peak.
 *
 * A pool is the memory of one process on one device. Its events are in order of time; events of the
 * same time keep the order of the file. An allocation ends with the free of its address. What is
 * freed but was never allocated, was allocated before the recording; what no event names, but the
 * first total contains, is the pool's base: known by its size alone. Without addresses (PyTorch
 * before 1.10) nothing is paired: there are totals, but what is alive is unknown.
 *
 * Phase of an allocation: what its thread did then, by the first of these that is known:
 *   1. backward: a node of autograd runs, or frames of torch/autograd's engine are on the stack;
 *   2. the phase that the program or its annotations mark;
 *   3. forward: a call of a module, or of the wrapper of one, is open;
 *   4. by the innermost range, or frame, that says it: an optimizer's step (optimizer), a fetch of
 *      the DataLoader (data), the construction or the move of a module (build);
 *   5. copy: an operator that copies memory of the host to a device;
 *   6. forward: an operator that autograd numbered, outside of 1.
 * Runs: the known phases divide time. A run ends where another phase than its own is seen (copies
 * never end one). A pass begins with a forward that follows a backward or an update.
 *
 * Category: what an allocation is, by its phase and by when it is freed. These are rules on what
 * was recorded, not a knowledge of tensors; where they do not apply, it is unknown. parameters
 * allocated while a module is built or moved, and alive in the first forward; or allocated before
 * the first known phase, and alive in the second pass: buffers, and what else the program keeps
 * from before its training, are among them input            allocated in data or copy, and alive
 * beyond the run activations      allocated in forward, freed after a backward began, no later than
 * in the next pass; or not freed, in the last two passes of a program that runs backward gradients
 * allocated in backward and alive when it ends, or by AccumulateGrad and not freed autograd
 * allocated in backward and freed in the same run optimizer state  allocated in an optimizer's
 * step, and alive in the next one or not freed, if the step ended temporaries      allocated in
 * forward and freed before a backward began; or in any other phase, and freed in the same run
 *   before           allocated before the recording, unless the stack of an allocation says more
 *   unknown          all else
 * Where the recording states the category itself (torch.profiler's memory timeline), that counts.
 *
 * Pure. Borrows the model and the selection; owns its texts.
 */
#ifndef SS_ANALYSIS_MEMORY_ALLOCATIONS_H
#define SS_ANALYSIS_MEMORY_ALLOCATIONS_H

#include "analysis/steps/steps.h"
#include "base/intern.h"

enum ss_allocation_phase {
    SS_ALLOCATION_UNKNOWN_PHASE,
    SS_ALLOCATION_BUILD,
    SS_ALLOCATION_DATA,
    SS_ALLOCATION_COPY,
    SS_ALLOCATION_FORWARD,
    SS_ALLOCATION_BACKWARD,
    SS_ALLOCATION_OPTIMIZER,
    SS_ALLOCATION_PHASES
};

enum ss_allocation_category {
    SS_ALLOCATION_PARAMETERS,
    SS_ALLOCATION_GRADIENTS,
    SS_ALLOCATION_OPTIMIZER_STATE,
    SS_ALLOCATION_ACTIVATIONS,
    SS_ALLOCATION_AUTOGRAD,
    SS_ALLOCATION_TEMPORARIES,
    SS_ALLOCATION_INPUT,
    SS_ALLOCATION_BEFORE,
    SS_ALLOCATION_UNKNOWN,
    SS_ALLOCATION_CATEGORIES
};

/* "" for unknown phases. */
const char *ss_allocation_phase_text(enum ss_allocation_phase phase);
const char *ss_allocation_category_text(enum ss_allocation_category category);

/* The code that runs at an event. */
struct ss_allocation_code {
    uint8_t phase;    /* enum ss_allocation_phase */
    bool accumulates; /* a node that accumulates gradients runs */
    bool empties;     /* the program empties the allocator's cache */
    /* The innermost operator that does more than allocate; index into model->names; 0: none. */
    uint32_t operator_name;
    /* The innermost module; of a backward, the module of the forward that it belongs to. */
    uint32_t module;
    uint32_t line; /* index into lines; 0: none */
};

/* A line of source: the innermost frame of the program's own code, else of any Python code. Where
 * only whole calls were recorded, the first line of the function. */
struct ss_allocation_line {
    struct ss_strview file, function;
    int64_t line; /* -1: unknown */
};

/* What a file counts up to at some event: which run, pass, … it belongs to. */
struct ss_allocation_progress {
    uint32_t run; /* 0: no phase was seen yet */
    uint32_t pass, backwards, updates;
};

struct ss_allocation_point {
    uint64_t time_ns;
    uint64_t allocated, reserved; /* bytes after the event; reserved 0: unknown */
};

struct ss_allocation {
    uint64_t bytes, address;
    /* Number of the event, whose time its point has, in its pool, from 1. 0: before the recording;
     * UINT32_MAX: not freed; end the same as begin: without an address, so that its end is unknown.
     */
    uint32_t begin, end;
    struct ss_allocation_code code; /* that allocated it */
    uint8_t end_phase, category;
};

struct ss_allocation_pool {
    uint32_t process, device; /* of the model; device 0: the host */
    size_t first, end;        /* in allocations, by begin */
    /* points.data[n]: after event n; [0]: at the start. */
    struct ss_vec_of(struct ss_allocation_point) points;
    uint64_t base_bytes; /* alive at the start, of which only the size is known */
    bool is_whole;       /* else what was allocated before the recording may be missing */
    bool has_addresses;
    uint64_t allocated_bytes, allocations; /* all in the recording */
    uint64_t unpaired;                     /* allocations at an address that was not freed */

    size_t peak; /* event of the highest `allocated`; the first of several */
    uint64_t reserved_peak;
    struct ss_allocation_code peak_code; /* that runs at the peak */
    /* Alive at the peak; adds up to it, unless events are missing. */
    uint64_t peak_bytes[SS_ALLOCATION_CATEGORIES];

    /* Of the blocks between allocations of a segment, at the peak; where segments are recorded. */
    bool has_segments;
    uint64_t segments, free_blocks, free_bytes, largest_free_bytes;

    /* Requests of the allocator to the device: in the recording, and within steps. */
    uint64_t requests, requests_in_steps, returns, returns_in_steps;
    uint64_t retries; /* requests after the cache was given back, to make room */
    struct ss_vec_of(struct ss_allocation_failure) failures;
};

/* An allocation for which there was no memory. */
struct ss_allocation_failure {
    uint64_t time_ns;
    uint64_t requested_bytes;
    uint64_t device_free_bytes;
    uint64_t allocated, reserved; /* at that time */
    struct ss_allocation_code code;
};

struct ss_allocations {
    const struct ss_selection *selection;
    struct ss_vec_of(struct ss_allocation) rows;
    struct ss_vec_of(struct ss_allocation_pool) pools; /* devices first, the largest peak first */
    struct ss_intern texts;
    struct ss_vec_of(struct ss_allocation_line) lines; /* row 0 is "none" */
};

/* Whether the model has events of allocators at all. */
bool ss_model_has_allocations(const struct ss_model *model);

/* `training` may be NULL. */
void ss_allocations_init(struct ss_allocations *allocations, const struct ss_selection *selection,
                         const struct ss_step_summary *training);
void ss_allocations_fini(struct ss_allocations *allocations);

/* The highest point in [from, to), where a point lasts until the next one. */
const struct ss_allocation_point *ss_allocation_pool_peak_in(const struct ss_allocation_pool *pool,
                                                             uint64_t from_ns, uint64_t to_ns);
static inline const struct ss_allocation_point *
ss_allocation_pool_peak(const struct ss_allocation_pool *pool)
{
    return &pool->points.data[pool->peak];
}
/* False: nothing is known but what is allocated at one time, as in a snapshot without a history. */
static inline bool ss_allocation_pool_has_history(const struct ss_allocation_pool *pool)
{
    return pool->points.count > 1;
}
static inline bool ss_allocation_is_at_peak(const struct ss_allocation_pool *pool,
                                            const struct ss_allocation *allocation)
{
    return allocation->begin <= pool->peak && allocation->end > pool->peak;
}

#endif
