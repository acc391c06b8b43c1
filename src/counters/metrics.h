/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of a chip, by the names of Nsight Compute: which there are, how a device is
 * configured to count them (a config image, in passes), and the values of what it counted. All of
 * it is CUPTI's profiler host interface, which needs neither a driver nor a device: the tables of
 * any chip can be printed anywhere.
 *
 * On a device, `availability` is what ss_profiler's function of that name returns, and limits the
 * metrics to those that this device and driver allow; NULL: all of the chip. Not thread-safe.
 */
#ifndef SS_COUNTERS_METRICS_H
#define SS_COUNTERS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "counters/profiler.h"

enum { SS_METRICS_MOST = 256 }; /* of one config image */

/* CUpti_MetricType */
enum ss_metric_type { SS_METRIC_COUNTER, SS_METRIC_RATIO, SS_METRIC_THROUGHPUT, SS_METRIC_TYPES };

struct ss_metric_target {
    const struct ss_profiler *profiler;
    const char *chip;            /* CUPTI's name, such as GH100 */
    const uint8_t *availability; /* may be NULL */
    enum ss_profiler_kind kind;
};

/* What a device counts: give it to the range profiler or to PM sampling. */
struct ss_metric_config {
    uint8_t *image; /* NULL: none */
    size_t bytes;
    size_t passes; /* how often the same work has to run */
};

/* The chips that this CUPTI knows; each is CUPTI's, for the life of the process. */
enum ss_status ss_metric_chips(const struct ss_profiler *profiler, const char *const **chips,
                               size_t *count, struct ss_error *err);
/* SS_E_NOTFOUND, with the nearest ones: CUPTI does not know this chip. */
enum ss_status ss_metric_check_chip(const struct ss_profiler *profiler, const char *chip,
                                    struct ss_error *err);

/* --- a host object: lists metrics, evaluates what was counted --------------------------------- */

struct ss_metric_host {
    const struct ss_profiler *profiler;
    void *object; /* CUPTI's */
};

enum ss_status ss_metric_host_open(const struct ss_metric_target *target,
                                   struct ss_metric_host *host, struct ss_error *err);
void ss_metric_host_close(struct ss_metric_host *host);
/* The base metrics of a type, without roll-up; CUPTI's memory, valid until the next such call. */
enum ss_status ss_metric_list(const struct ss_metric_host *host, enum ss_metric_type type,
                              const char ***names, size_t *count, struct ss_error *err);
/* What may follow the name of a metric: ".sum", ".avg.pct_of_peak_sustained_elapsed", … */
enum ss_status ss_metric_list_submetrics(const struct ss_metric_host *host,
                                         enum ss_metric_type type, const char *name,
                                         const char ***submetrics, size_t *count,
                                         struct ss_error *err);
/* Texts of a metric; "" where CUPTI has none. CUPTI's memory, as above. */
enum ss_status ss_metric_describe(const struct ss_metric_host *host, const char *name,
                                  const char **description, const char **unit,
                                  struct ss_error *err);
/* The values of one range (or sample) of a counter data image. */
enum ss_status ss_metric_evaluate(const struct ss_metric_host *host, const uint8_t *data,
                                  size_t bytes, size_t range, const char *const *names,
                                  size_t count, double *values, struct ss_error *err);

/* --- what a device has to count --------------------------------------------------------------- */

/* SS_E_NOTFOUND: the chip lacks one of the metrics, which the error names. With a host object of
 * its own, since one that has refused a metric refuses all. */
enum ss_status ss_metric_config_init(const struct ss_metric_target *target,
                                     const char *const *names, size_t count,
                                     struct ss_metric_config *config, struct ss_error *err);
void ss_metric_config_fini(struct ss_metric_config *config);
bool ss_metric_exists(const struct ss_metric_target *target, const char *name);

#endif
