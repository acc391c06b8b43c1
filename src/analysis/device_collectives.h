/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives over the ranks of a run, as their devices executed them: the k-th kernel that
 * communicates of each rank, where all ranks have equally many, with the same names in the same
 * order. A kernel of a rank that arrives early runs until the last rank arrives: until then it
 * waits, the rest transfers. Needs ranks on one time axis; the error of their clocks is in the
 * waits. Pure. Borrows the model.
 */
#ifndef SS_ANALYSIS_DEVICE_COLLECTIVES_H
#define SS_ANALYSIS_DEVICE_COLLECTIVES_H

#include "analysis/device_work.h"
#include "analysis/steps.h"
#include "analysis/table.h"

struct ss_device_collective {
    uint32_t name;                              /* of its kernels */
    uint32_t last;                              /* process that arrives last */
    uint64_t first_ns, second_last_ns, last_ns; /* arrivals */
    uint64_t first_end_ns, last_end_ns;
    uint64_t wait_ns; /* sum over the ranks, until the last arrival */
};

struct ss_device_collectives {
    struct ss_vec_of(struct ss_device_collective) rows; /* in the order of the ranks */
    size_t ranks;                                       /* 0: they do not match */
    uint64_t steady_wait_ns; /* sum over ranks, of collectives whose last arrival is in a
                              * steady-state step */
    uint64_t steady;         /* such collectives */
    uint32_t latest;         /* process that is last most often in them */
    uint64_t times_last;     /* how often */
};

/* `training` may be NULL: then no collective is in a steady-state step. */
void ss_device_collectives_init(struct ss_device_collectives *collectives,
                                const struct ss_selection *selection,
                                const struct ss_device_works *works,
                                const struct ss_step_summary *training);
void ss_device_collectives_fini(struct ss_device_collectives *collectives);

enum ss_collective_column {
    SS_COLLECTIVE_NUMBER, /* from 0 */
    SS_COLLECTIVE_NAME,
    SS_COLLECTIVE_RANKS,
    SS_COLLECTIVE_LAST_RANK, /* absent where ranks are unknown */
    SS_COLLECTIVE_LAST_PID,
    SS_COLLECTIVE_SKEW,     /* from the first arrival to the last */
    SS_COLLECTIVE_BLAME,    /* from the second last arrival to the last */
    SS_COLLECTIVE_WAIT,     /* mean over the ranks */
    SS_COLLECTIVE_TRANSFER, /* from the last arrival to the first end */
    SS_COLLECTIVE_ENDS,     /* from the first end to the last: what the clocks may differ */
    SS_COLLECTIVE_COLUMNS
};
void ss_device_collectives_table(const struct ss_selection *selection, uint64_t max_rows,
                                 struct ss_table *table);

#endif
