/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of devices by name, with the figures of Nsight Systems' summaries: cuda_gpu_kern_sum,
 * cuda_gpu_mem_time_sum and cuda_gpu_mem_size_sum, cuda_gpu_sum, and cuda_api_sum for the calls on
 * the host. Times are sums over all work, also of work that overlaps. Pure.
 */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_TABLES_H
#define SS_ANALYSIS_DEVICES_DEVICE_TABLES_H

#include "analysis/launches/device_work.h"
#include "analysis/steps/steps.h"
#include "analysis/table/table.h"

enum ss_work_column {
    SS_WORK_NAME,      /* whole; of grouping by base, the base name */
    SS_WORK_BASE,      /* ss_kernel_base_name; this and the next: of kernels */
    SS_WORK_SHORT,     /* ss_kernel_short_name */
    SS_WORK_OPERATION, /* "kernel", "communication", "copy", "memset", "call", "launch", "wait" */
    SS_WORK_DEVICE,    /* this and the next three: where rows are grouped by them */
    SS_WORK_STREAM,
    SS_WORK_PID,
    SS_WORK_TID,
    SS_WORK_PERCENT, /* of the total of all rows */
    SS_WORK_TOTAL,
    SS_WORK_INSTANCES,
    SS_WORK_MEAN,
    SS_WORK_MEDIAN,
    SS_WORK_MIN,
    SS_WORK_MAX,
    SS_WORK_DEVIATION,
    SS_WORK_STEP_PERCENT, /* of the time of the steady-state steps; this and the next two are absent
                           * without such steps */
    SS_WORK_STEP_INSTANCES,
    SS_WORK_STEP_TIME,    /* in a steady-state step */
    SS_WORK_STEP_TIME_PM, /* at 95 %; only with has_errors */
    SS_WORK_COLUMNS,
    /* Of copies and memsets only: */
    SS_WORK_BYTES = SS_WORK_COLUMNS, /* absent where the sizes are unknown, as are the others */
    SS_WORK_BYTES_MEAN,
    SS_WORK_BYTES_MEDIAN,
    SS_WORK_BYTES_MIN,
    SS_WORK_BYTES_MAX,
    SS_WORK_BYTES_DEVIATION,
    SS_WORK_BANDWIDTH, /* bytes per second of the time */
    SS_WORK_FROM,      /* memory: pageable, pinned, device, … */
    SS_WORK_TO,
    SS_WORK_COPY_COLUMNS
};

enum ss_work_sort {
    SS_WORK_BY_TOTAL,
    SS_WORK_BY_INSTANCES,
    SS_WORK_BY_MEAN,
    SS_WORK_BY_MEDIAN,
    SS_WORK_BY_MIN,
    SS_WORK_BY_MAX,
    SS_WORK_BY_DEVIATION,
    SS_WORK_BY_BYTES,
    SS_WORK_BY_NAME
};

/* What separates work of one name into rows. */
enum ss_work_grouping {
    SS_WORK_BY_BASE = 1, /* kernels of one base name are one row */
    SS_WORK_BY_DEVICE = 2,
    SS_WORK_BY_STREAM = 4,
    SS_WORK_BY_PROCESS = 8,
    SS_WORK_BY_THREAD = 16 /* of calls */
};

/* Which work a table has: bits by enum ss_event_type. */
enum {
    SS_KERNELS = 1 << SS_EVENT_TYPE_kernel,
    SS_COPIES = 1 << SS_EVENT_TYPE_copy,
    SS_MEMSETS = 1 << SS_EVENT_TYPE_memset
};

struct ss_work_options {
    size_t size;
    unsigned types; /* SS_KERNELS | …; 0: calls of the device's runtime and driver */
    enum ss_work_sort sort;
    uint64_t max_rows; /* 0: all */
    unsigned grouping; /* enum ss_work_grouping */
    bool has_errors;   /* of the time per step; needs a training */
};

/* `training` may be NULL. */
void ss_work_table(const struct ss_selection *selection, const struct ss_step_summary *training,
                   const struct ss_work_options *options, struct ss_table *table);

#endif
