/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of counters: one row per series. A gauge counts its values, a delta counter its
 * changes, a cumulative counter its growth from value to value. `last` is the newest value, of the
 * latter two the newest total. Values that are not finite are left out. Pure.
 *
 * Gauges in a group are metrics of the host or a process, written when they change: mean and
 * percentiles weight each value by how long it held, the last one of the host to the end of the
 * recording. Values of a process that held for no time (the 0 that ends its series) are left out.
 * All other values have equal weight.
 */
#ifndef SS_ANALYSIS_SAMPLES_COUNTERS_H
#define SS_ANALYSIS_SAMPLES_COUNTERS_H

#include "analysis/selection/selection.h"
#include "analysis/table/table.h"

enum ss_counter_column {
    SS_COUNTER_NAME,
    SS_COUNTER_GROUP, /* enclosing groups, "host;disk sda"; absent: none */
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
    SS_COUNTER_RATE, /* of delta and cumulative counters: growth per second */
    SS_COUNTER_COLUMNS
};

struct ss_counters_options {
    size_t size;
    uint64_t max_rows;  /* 0: all */
    const char *prefix; /* of their names; NULL: all */
};

void ss_counters_table(const struct ss_selection *selection,
                       const struct ss_counters_options *options, struct ss_table *table);

#endif
