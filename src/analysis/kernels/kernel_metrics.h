/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hardware counters measured of kernels, by the name of the kernel: for each metric the mean
 * over its launches, and the extremes. Metrics that are texts have no row. Pure.
 */
#ifndef SS_ANALYSIS_KERNELS_KERNEL_METRICS_H
#define SS_ANALYSIS_KERNELS_KERNEL_METRICS_H

#include "analysis/selection/selection.h"
#include "analysis/table/table.h"

enum ss_metric_column {
    SS_METRIC_KERNEL, /* whole name; of grouping by base, the base name */
    SS_METRIC_BASE,
    SS_METRIC_SHORT,
    SS_METRIC_SECTION, /* absent: the metric is of none */
    SS_METRIC_NAME,
    SS_METRIC_UNIT, /* of the next but one and those after it; absent: a ratio or a count */
    SS_METRIC_INSTANCES,
    SS_METRIC_MEAN,
    SS_METRIC_MIN,
    SS_METRIC_MAX,
    SS_METRIC_COLUMNS
};

struct ss_kernel_metrics_options {
    size_t size;
    bool by_base;      /* kernels of one base name are one */
    uint64_t max_rows; /* 0: all */
};

/* Kernels by their time, the longest first; the metrics of each in the order of the file. */
void ss_kernel_metrics_table(const struct ss_selection *selection,
                             const struct ss_kernel_metrics_options *options,
                             struct ss_table *table);

/* The first metric of an event with this payload; the number of metrics: there is none. */
size_t ss_kernel_first_metric(const struct ss_model *model, uint32_t payload);

/* Why a recording has no metrics, for an empty table. */
const char *ss_why_no_metrics(const struct ss_model *model);

#endif
