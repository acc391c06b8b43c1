/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of a run, one row each. Pure. */
#ifndef SS_ANALYSIS_RANKS_COLLECTIVE_TABLE_H
#define SS_ANALYSIS_RANKS_COLLECTIVE_TABLE_H

#include "analysis/ranks/collectives.h"
#include "analysis/steps/steps.h"

enum ss_collective_column {
    SS_COLLECTIVE_NUMBER, /* from 0, by time */
    SS_COLLECTIVE_GROUP,
    SS_COLLECTIVE_SEQUENCE, /* absent: not recorded */
    SS_COLLECTIVE_NAME,
    SS_COLLECTIVE_RANKS,
    SS_COLLECTIVE_FROM, /* this and the next: of a message, from rank to rank */
    SS_COLLECTIVE_TO,
    SS_COLLECTIVE_LAST_RANK, /* absent where ranks are unknown, or below resolution */
    SS_COLLECTIVE_LAST_PID,
    SS_COLLECTIVE_FOR_RANK, /* the rank that the last one had waited for */
    SS_COLLECTIVE_SKEW,     /* from the first arrival to the last */
    SS_COLLECTIVE_BEHIND,   /* from the second last arrival to the last */
    SS_COLLECTIVE_WAIT,     /* mean over the ranks */
    SS_COLLECTIVE_TRANSFER, /* from the last arrival to the first end */
    SS_COLLECTIVE_ENDS,     /* from the first end to the last */
    SS_COLLECTIVE_ERROR,    /* of the clocks */
    SS_COLLECTIVE_BYTES,
    SS_COLLECTIVE_ALGORITHM, /* absent: not recorded */
    SS_COLLECTIVE_PROTOCOL,
    SS_COLLECTIVE_MODULE, /* whose parameters or gradients it transfers, or between which stages it
                           * goes; absent: unknown */
    SS_COLLECTIVE_BUCKET, /* of gradients, from 0 */
    SS_COLLECTIVE_BUCKETS,
    SS_COLLECTIVE_FIRST_PARAMETER, /* that it transfers, or whose gradient */
    SS_COLLECTIVE_LAST_PARAMETER,
    SS_COLLECTIVE_NOTE, /* why nothing is said of the last rank */
    SS_COLLECTIVE_COLUMNS
};
void ss_collective_table(const struct ss_selection *selection,
                         const struct ss_step_summary *training, uint64_t max_rows,
                         struct ss_table *table);
/* What the figures of collectives rest on: clocks, calls without a match. After a table. */
void ss_collectives_add_notes(const struct ss_collectives *collectives, struct ss_table *table);

#endif
