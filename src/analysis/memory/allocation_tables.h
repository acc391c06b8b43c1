/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of allocations (analysis/memory/allocations.h). Percentages are of the peak of the row's
 * pool. Pure.
 */
#ifndef SS_ANALYSIS_MEMORY_ALLOCATION_TABLES_H
#define SS_ANALYSIS_MEMORY_ALLOCATION_TABLES_H

#include "analysis/memory/allocations.h"
#include "analysis/table/table.h"

/* One row for each pool. */
enum ss_pool_column {
    SS_POOL_DEVICE, /* "GPU 0", "host" */
    SS_POOL_PID,    /* absent: unknown */
    SS_POOL_PEAK,
    SS_POOL_PEAK_TIME, /* since the first event of the input */
    SS_POOL_PEAK_STEP,
    SS_POOL_PEAK_PHASE,
    SS_POOL_RESERVED,       /* at the peak; absent: unknown */
    SS_POOL_UNUSED,         /* of it, what no allocation uses */
    SS_POOL_UNUSED_PERCENT, /* of what is reserved */
    SS_POOL_LARGEST_FREE,   /* block; absent where segments are not recorded */
    SS_POOL_FREE_BLOCKS,
    SS_POOL_RESERVED_PEAK,
    SS_POOL_ALLOCATIONS,
    SS_POOL_ALLOCATED, /* all in the recording */
    SS_POOL_REQUESTS,  /* to the device; this and the next two: absent on the host */
    SS_POOL_REQUESTS_IN_STEPS,
    SS_POOL_RETRIES,
    SS_POOL_FAILURES,
    SS_POOL_COLUMNS
};
void ss_allocation_pools_table(const struct ss_allocations *allocations,
                               const struct ss_step_summary *training, struct ss_table *table);

/* One row for each step of each pool. */
enum ss_pool_step_column {
    SS_POOL_STEP_DEVICE,
    SS_POOL_STEP_PID,
    SS_POOL_STEP,
    SS_POOL_STEP_PEAK,
    SS_POOL_STEP_TIME, /* of the peak, since the step began */
    SS_POOL_STEP_RESERVED,
    SS_POOL_STEP_BEGIN,
    SS_POOL_STEP_END,
    SS_POOL_STEP_COLUMNS
};
void ss_allocation_steps_table(const struct ss_allocations *allocations,
                               const struct ss_step_summary *training, uint64_t max_rows,
                               struct ss_table *table);

/* What the rows of the next table have in common; or-ed. */
enum ss_allocation_grouping {
    SS_ALLOCATIONS_BY_CATEGORY = 1,
    SS_ALLOCATIONS_BY_PHASE = 2,
    SS_ALLOCATIONS_BY_OPERATOR = 4,
    SS_ALLOCATIONS_BY_MODULE = 8,
    SS_ALLOCATIONS_BY_LINE = 16,
    SS_ALLOCATIONS_BY_STEP = 32
};

enum ss_allocation_sort {
    SS_ALLOCATIONS_SORT_PEAK,
    SS_ALLOCATIONS_SORT_TOTAL,
    SS_ALLOCATIONS_SORT_COUNT,
    SS_ALLOCATIONS_SORT_LIFETIME
};

struct ss_allocation_options {
    unsigned grouping; /* 0: by category */
    enum ss_allocation_sort sort;
    uint64_t max_rows;
    bool full_paths;
    bool only_peak;                        /* only rows that are alive at the peak */
    const struct ss_allocation_pool *only; /* NULL: of all pools */
};

/* One row for each group of each pool. */
enum ss_allocation_column {
    SS_ALLOCATION_DEVICE,
    SS_ALLOCATION_PID,
    SS_ALLOCATION_CATEGORY_NAME, /* this and the next seven: where rows are grouped by them */
    SS_ALLOCATION_PHASE,         /* of the allocation */
    SS_ALLOCATION_STEP,
    SS_ALLOCATION_OPERATOR,
    SS_ALLOCATION_MODULE,
    SS_ALLOCATION_PATH,
    SS_ALLOCATION_LINE,
    SS_ALLOCATION_FUNCTION,
    SS_ALLOCATION_PEAK, /* alive at the peak; this and the next three */
    SS_ALLOCATION_PEAK_PERCENT,
    SS_ALLOCATION_PEAK_COUNT,
    SS_ALLOCATION_LARGEST,
    SS_ALLOCATION_BYTES, /* all that was allocated in the recording; this and the next three */
    SS_ALLOCATION_COUNT,
    SS_ALLOCATION_LIFETIME, /* mean, of those that were freed */
    SS_ALLOCATION_LONGEST,
    SS_ALLOCATION_COLUMNS
};
void ss_allocations_table(const struct ss_allocations *allocations,
                          const struct ss_step_summary *training,
                          const struct ss_allocation_options *options, struct ss_table *table);

/* "GPU 0", "host"; owned by the arena. */
struct ss_strview ss_allocation_pool_name(const struct ss_allocations *allocations,
                                          const struct ss_allocation_pool *pool,
                                          struct ss_arena *arena);
/* The file of a line as people know it: inside its package; else its name alone. */
struct ss_strview ss_allocation_short_file(const struct ss_allocation_line *line);

#endif
