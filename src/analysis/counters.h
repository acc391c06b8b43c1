/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counters said: one row for each series. Of a gauge the values count as they are; of a
 * counter of changes the changes; of an ever-growing total what it grew by from value to value.
 * `last` is the newest value, for the latter two the newest total. Values that are no number are
 * left out. Pure.
 *
 * Gauges in a group are metrics of the host or a process, written when they change: mean and
 * percentiles count each value for as long as it held, the last of a host's to the end of the
 * recording. Of a process, what held for no time (the 0 that ends its series) is left out. All
 * others count each value once.
 */
#ifndef SS_ANALYSIS_COUNTERS_H
#define SS_ANALYSIS_COUNTERS_H

#include "analysis/selection.h"
#include "analysis/table.h"

enum ss_counter_column {
    SS_COUNTER_NAME,
    SS_COUNTER_GROUP, /* the groups around it, "host;disk sda"; absent: none */
    SS_COUNTER_PID,
    SS_COUNTER_TID,
    SS_COUNTER_UNIT,
    SS_COUNTER_KIND, /* "gauge", "delta", "cumulative" */
    SS_COUNTER_COUNT,
    SS_COUNTER_MIN,
    SS_COUNTER_MEAN,
    SS_COUNTER_P50,
    SS_COUNTER_P95,
    SS_COUNTER_MAX,
    SS_COUNTER_LAST,
    SS_COUNTER_RATE, /* of changes and totals: what they grew by per second */
    SS_COUNTER_COLUMNS
};

struct ss_counters_options {
    size_t size;
    uint64_t max_rows;  /* 0: all */
    const char *prefix; /* of their names; NULL: whatever they are called */
};

void ss_counters_table(const struct ss_selection *selection,
                       const struct ss_counters_options *options, struct ss_table *table);

#endif
