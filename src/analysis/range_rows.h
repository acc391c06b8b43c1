/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges added up into rows: what --by range tells, before it is a table. Rows are in the order of
 * their first range. Pure.
 */
#ifndef SS_ANALYSIS_RANGE_ROWS_H
#define SS_ANALYSIS_RANGE_ROWS_H

#include "analysis/selection.h"

/* What keeps ranges in rows of their own; the kind (range, async, step, phase) always does. */
enum ss_range_grouping {
    SS_GROUP_PATH = 1, /* all names around it */
    SS_GROUP_NAME = 2, /* its own name only */
    SS_GROUP_THREAD = 4,
    SS_GROUP_PROCESS = 8,
    SS_GROUP_DOMAIN = 16,
    SS_GROUP_DEFAULT = SS_GROUP_PATH | SS_GROUP_THREAD | SS_GROUP_DOMAIN
};

struct ss_range_row {
    uint32_t track, path; /* of its first range */
    uint32_t order;
    size_t first; /* of its durations, `count` of them, sorted */
    uint64_t count, cut;
    uint64_t total_ns; /* a range within one of the same row (recursion) is in that one's time */
    uint64_t sum_ns;   /* of all durations */
    uint64_t self_ns;
    /* Payloads that are numbers. */
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

/* By path of the model: the first path that is the same to people. A name that got a colour or a
 * category on the way is another one to the model. Freed by the caller. */
uint32_t *ss_range_same_paths(const struct ss_model *model, unsigned grouping);

#endif
