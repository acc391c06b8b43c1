/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of counters (sets.def), and which metrics of one a chip has. Immutable tables; the choice is
 * its caller's. Without a device.
 */
#ifndef SS_COUNTERS_SETS_H
#define SS_COUNTERS_SETS_H

#include "base/strbuf.h"
#include "counters/metrics.h"

enum ss_counter_set {
#define SS_COUNTER_SET(name, letter, meaning) SS_COUNTERS_##name,
#include "counters/sets.def"
    SS_COUNTER_SETS
};

struct ss_counter {
    const char *title, *unit, *metric;
    unsigned sets; /* bits, by enum ss_counter_set */
};

const char *ss_counter_set_name(enum ss_counter_set set);
const char *ss_counter_set_meaning(enum ss_counter_set set);
/* NULL if the index is beyond the table. */
const struct ss_counter *ss_counter_at(size_t index);
const struct ss_counter *ss_counter_of_metric(const char *metric);

/* The metrics that a request names. */
struct ss_counter_choice {
    const char *names[SS_METRICS_MOST]; /* of the tables, or in `text` */
    size_t count;
    char text[4096];
};

/* Whether `request` is the name of a set or a list of metrics, as in "memory" or
 * "dram__bytes_read.sum,gpu__time_duration.sum". Which metrics a chip has is not asked. */
enum ss_status ss_counters_check(const char *request, struct ss_error *err);
/* What of a set the chip has, or exactly the listed metrics. Titles of the set that the chip has no
 * metric for are appended to `missing` (may be NULL) as a list. */
enum ss_status ss_counters_choose(const struct ss_metric_target *target, const char *request,
                                  struct ss_counter_choice *choice, struct ss_strbuf *missing,
                                  struct ss_error *err);

#endif
