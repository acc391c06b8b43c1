/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and their streams: how busy each was, and with what. Pure. */
#ifndef SS_ANALYSIS_DEVICES_DEVICE_OVERVIEW_H
#define SS_ANALYSIS_DEVICES_DEVICE_OVERVIEW_H

#include "analysis/devices/device_busy.h"
#include "analysis/table/table.h"

/* One row per process and device. Times are within the span, from the first start to the last end
 * of its work; compute, communication, copy and idle add up to it. */
enum ss_gpu_column {
    SS_GPU_DEVICE, /* number */
    SS_GPU_MODEL,
    SS_GPU_PID,
    SS_GPU_RANK,
    SS_GPU_STREAMS,
    SS_GPU_KERNELS,
    SS_GPU_KERNEL_TIME, /* sum */
    SS_GPU_SPAN,
    SS_GPU_BUSY,         /* union */
    SS_GPU_BUSY_PERCENT, /* this and the idle time: absent where too many kernels are lost */
    SS_GPU_COMPUTE,
    SS_GPU_COMMUNICATION, /* exposed, as are copies */
    SS_GPU_COPY,
    SS_GPU_IDLE,
    SS_GPU_COMMUNICATION_ALL,
    SS_GPU_OVERLAP_PERCENT, /* of all communication, what computation covers; absent: none */
    SS_GPU_WITHOUT_LAUNCH,  /* works whose call was not recorded */
    SS_GPU_LOST,            /* launches of the process without a kernel in the recording */
    SS_GPU_COLUMNS
};
void ss_gpu_table(const struct ss_selection *selection, struct ss_table *table);

/* One row per stream. */
enum ss_stream_column {
    SS_STREAM_DEVICE,
    SS_STREAM_NUMBER,
    SS_STREAM_PID,
    SS_STREAM_RANK,
    SS_STREAM_KERNELS,
    SS_STREAM_KERNEL_TIME,
    SS_STREAM_COMMUNICATION, /* kernels that communicate */
    SS_STREAM_COMMUNICATION_TIME,
    SS_STREAM_COPIES, /* this and the next: with memsets */
    SS_STREAM_COPY_TIME,
    SS_STREAM_BUSY,         /* union */
    SS_STREAM_BUSY_PERCENT, /* of the span of its device */
    SS_STREAM_OVERLAPS,     /* works that begin before an earlier one of the stream ends */
    SS_STREAM_COLUMNS
};
void ss_stream_table(const struct ss_selection *selection, uint64_t max_rows,
                     struct ss_table *table);

#endif
