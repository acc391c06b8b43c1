/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of figures over time, as the host and nvml sources produce them: a sink that takes them,
 * rates out of counters, and the rule by which points are written.
 *
 * A point holds until the next of its series. So a level is stamped with the time at which it was
 * read, and a rate with the beginning of the interval that it is the rate of: rate times duration,
 * summed, is exactly what the counter grew by. A value that stays the same is not written again for
 * a while, and a series that has been 0 all the time is not there at all, unless its row says that
 * it always is. Owned by one thread.
 */
#ifndef SS_SOURCE_METRIC_H
#define SS_SOURCE_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where figures go. Strings are borrowed for the call; refs are the sink's, from 1. `parent` is a
 * group of the same process, or 0; `process_ref` 0 is the host. */
struct ss_metric_sink {
    void *context;
    uint32_t (*group)(void *context, uint32_t process_ref, uint32_t parent, const char *name);
    uint32_t (*series)(void *context, uint32_t process_ref, uint32_t parent, const char *name,
                       const char *unit);
    void (*integer)(void *context, uint32_t series, uint64_t time_ns, int64_t value);
    void (*real)(void *context, uint32_t series, uint64_t time_ns, double value);
};

/* Made when the first of its series is. */
struct ss_metric_group {
    const struct ss_metric_sink *sink;
    struct ss_metric_group *parent; /* NULL: right below the owner */
    uint32_t process_ref;
    uint32_t ref; /* 0: not made yet */
    char name[128];
};

/* Immutable: what a series is. */
struct ss_metric_row {
    const char *name, *unit;
    int decimals; /* that are kept; 0: whole numbers */
    bool always;  /* also while it is 0 */
    double most;  /* what it cannot exceed, though two clocks may say so; 0: no limit */
};

struct ss_metric {
    uint32_t ref; /* 0: not made yet */
    bool quiet;   /* it has been 0 so far, since… */
    uint64_t written_ns;
    double last;
};

void ss_metric_put(struct ss_metric_group *group, const struct ss_metric_row *row,
                   struct ss_metric *metric, uint64_t time_ns, double value);
/* What it told of is gone: the series ends with 0, and can go on later. */
void ss_metric_end(struct ss_metric_group *group, const struct ss_metric_row *rows,
                   struct ss_metric *metrics, size_t count, uint64_t time_ns);

/* The recording ends, what it tells of goes on: the last value held until now. */
void ss_metric_close(struct ss_metric_group *group, const struct ss_metric_row *rows,
                     struct ss_metric *metrics, size_t count, uint64_t time_ns);

/* A counter of the kernel's, as it was read last. */
struct ss_metric_counter {
    bool known;
    uint64_t value, time_ns;
};
/* How much it grew a second since it was read last; false: first reading, reset, or no time has
 * passed. */
bool ss_metric_rate(struct ss_metric_counter *counter, uint64_t value, uint64_t time_ns,
                    double *per_second);
/* Puts that rate times `factor`, which makes the row's unit of it. */
void ss_metric_put_rate(struct ss_metric_group *group, const struct ss_metric_row *row,
                        struct ss_metric *metric, struct ss_metric_counter *counter, uint64_t value,
                        uint64_t time_ns, double factor);

#endif
