/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter series of the host and nvml sources: the sink, rates from counters, and the rules for
 * writing points.
 *
 * A point is valid until the next point of its series. A level has the time of its reading, a rate
 * the start of its interval: the sum of rate times duration is exactly the increase of the counter.
 * A constant value is repeated only after a while. A series that was always 0 is not written,
 * unless its row sets `always`. Owned by one thread.
 */
#ifndef SS_SOURCE_METRIC_H
#define SS_SOURCE_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An accelerator of the host. Strings may be empty; 0: unknown. */
struct ss_metric_device {
    bool is_gpu;
    uint32_t number; /* as the driver lists it, plus one */
    uint64_t memory_bytes;
    char model[96], uuid[96], pci_address[32];
};

/* What metrics are about: a process or, with process_ref 0, the host; and one of its devices, or 0.
 */
struct ss_metric_owner {
    uint32_t process_ref, device_ref;
};

/* What a group of series is about, in the order in which groups are shown; others follow. */
enum ss_metric_subject {
    SS_METRICS_OTHER,
    SS_METRICS_CPU,
    SS_METRICS_CORES,
    SS_METRICS_LOAD,
    SS_METRICS_PRESSURE,
    SS_METRICS_MEMORY,
    SS_METRICS_DISK,
    SS_METRICS_NETWORK,
    SS_METRICS_PROCESS,
    SS_METRICS_CONTAINER
};

/* Where metrics go. Strings are borrowed for the call; refs are the sink's, from 1. `parent` is a
 * group of the same owner, or 0. */
struct ss_metric_sink {
    void *context;
    /* NULL: the sink has no devices, and device_ref is 0; nor ranges. */
    uint32_t (*device)(void *context, const struct ss_metric_device *device);
    uint32_t (*group)(void *context, struct ss_metric_owner owner, uint32_t parent,
                      enum ss_metric_subject subject, const char *name);
    uint32_t (*series)(void *context, struct ss_metric_owner owner, uint32_t parent,
                       const char *name, const char *unit);
    /* A track of ranges that do not overlap, and one of them; in the order in which they end. */
    uint32_t (*ranges)(void *context, struct ss_metric_owner owner, uint32_t parent,
                       const char *name);
    void (*range)(void *context, uint32_t track, uint64_t begin_ns, uint64_t end_ns,
                  const char *name);
    void (*integer)(void *context, uint32_t series, uint64_t time_ns, int64_t value);
    void (*real)(void *context, uint32_t series, uint64_t time_ns, double value);
    /* Whether something else records this figure of a device now; NULL: nothing does. */
    bool (*is_recorded)(void *context, const char *uuid, const char *figure);
};

/* Created with its first series. */
struct ss_metric_group {
    const struct ss_metric_sink *sink;
    struct ss_metric_group *parent; /* NULL: directly below the owner */
    struct ss_metric_owner owner;
    enum ss_metric_subject subject;
    uint32_t ref; /* 0: not created yet */
    char name[128];
};

/* Definition of a series; immutable. */
struct ss_metric_row {
    const char *name, *unit;
    int decimals; /* rounding; 0: integers */
    bool always;  /* write also while always 0 */
    double most;  /* cap of rates, for errors between two clocks; 0: none */
};

struct ss_metric {
    uint32_t ref; /* 0: not created yet */
    bool quiet;   /* always 0 so far, since `written_ns` */
    uint64_t written_ns;
    double last;
};

void ss_metric_put(struct ss_metric_group *group, const struct ss_metric_row *row,
                   struct ss_metric *metric, uint64_t time_ns, double value);
/* The object has ended: the series ends with 0 and may continue later. */
void ss_metric_end(struct ss_metric_group *group, const struct ss_metric_row *rows,
                   struct ss_metric *metrics, size_t count, uint64_t time_ns);

/* The recording ends, the object continues: repeats the last value at `time_ns`. */
void ss_metric_close(struct ss_metric_group *group, const struct ss_metric_row *rows,
                     struct ss_metric *metrics, size_t count, uint64_t time_ns);

/* The last reading of a kernel counter. */
struct ss_metric_counter {
    bool known;
    uint64_t value, time_ns;
};
/* The increase per second since the last reading; false: first reading, reset, or no time passed.
 */
bool ss_metric_rate(struct ss_metric_counter *counter, uint64_t value, uint64_t time_ns,
                    double *per_second);
/* Puts that rate times `factor`, which converts it into the unit of the row. */
void ss_metric_put_rate(struct ss_metric_group *group, const struct ss_metric_row *row,
                        struct ss_metric *metric, struct ss_metric_counter *counter, uint64_t value,
                        uint64_t time_ns, double factor);

#endif
