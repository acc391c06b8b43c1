/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges aggregated into rows: the data of --by range before it becomes a table. Rows are ordered
 * by their first range. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_RANGE_ROWS_H
#define SS_ANALYSIS_STEPS_RANGE_ROWS_H

#include "analysis/selection/selection.h"

/* What ranges are grouped by; the kind (range, async, step, phase) always separates rows. */
enum ss_range_grouping {
    SS_GROUP_PATH = 1, /* its own name and all enclosing names */
    SS_GROUP_NAME = 2, /* its own name only */
    SS_GROUP_THREAD = 4,
    SS_GROUP_PROCESS = 8,
    SS_GROUP_DOMAIN = 16,
    SS_GROUP_DEFAULT = SS_GROUP_PATH | SS_GROUP_THREAD | SS_GROUP_DOMAIN
};

struct ss_range_row {
    uint32_t track, path; /* of its first range */
    uint32_t order;
    size_t first; /* of its durations: `count` of them, sorted */
    uint64_t count, cut;
    uint64_t total_ns; /* recursion counts once: a range within a range of the same row adds
                        * nothing */
    uint64_t sum_ns;   /* of all durations */
    uint64_t self_ns;
    uint64_t device_ns, device_works; /* launched within its ranges */
    /* Numeric payloads. */
    uint64_t payload_count;
    double payload_sum, payload_min, payload_max;
};

struct ss_range_rows {
    struct ss_vec_of(struct ss_range_row) rows;
    uint64_t *durations;
};

/* `grouping`: enum ss_range_grouping. */
void ss_range_rows_init(struct ss_range_rows *rows, const struct ss_selection *selection,
                        unsigned grouping);
void ss_range_rows_fini(struct ss_range_rows *rows);

/* The work of devices that was launched within ranges (range_devices.c): of a range on a thread,
 * what this thread launched between its begin and end; of steps and phases, what the process
 * launched. Work counts with its whole time, wherever it runs, and once in a row. `row_of`: by
 * range, its row plus one; 0: none. */
void ss_range_rows_add_devices(struct ss_range_rows *rows, const struct ss_selection *selection,
                               const uint32_t *row_of);

/* By path of the model: the first path that users see as the same. To the model, a name that gains
 * a colour or a category later is another name. The steps of a profiler of PyTorch, which have
 * their numbers in their names, are the same. Freed by the caller. */
uint32_t *ss_range_same_paths(const struct ss_model *model, unsigned grouping);

#endif
