/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a kernel's metrics for people (kernel_gauges.def): throughputs, the limits of its
 * occupancy. Pure. Borrows the model.
 */
#ifndef SS_ANALYSIS_KERNELS_KERNEL_GAUGES_H
#define SS_ANALYSIS_KERNELS_KERNEL_GAUGES_H

#include "analysis/selection/selection.h"

enum ss_kernel_gauge {
    SS_GAUGE_COMPUTE, /* to DRAM: throughputs, percent of the peak */
    SS_GAUGE_MEMORY,
    SS_GAUGE_L1,
    SS_GAUGE_L2,
    SS_GAUGE_DRAM,
    SS_GAUGE_NS,
    SS_GAUGE_DRAM_BYTES,
    SS_GAUGE_DRAM_READ,
    SS_GAUGE_DRAM_WRITTEN,
    SS_GAUGE_L2_BYTES,
    SS_GAUGE_L1_BYTES,
    SS_GAUGE_DRAM_PEAK, /* this and the next two: bytes per second */
    SS_GAUGE_L2_PEAK,
    SS_GAUGE_L1_PEAK,
    SS_GAUGE_CYCLES_ACTIVE,
    SS_GAUGE_CYCLES,
    SS_GAUGE_TENSOR_BUSY, /* to ISSUE_BUSY: percent of the active cycles */
    SS_GAUGE_ALU_BUSY,
    SS_GAUGE_FMA_BUSY,
    SS_GAUGE_ISSUE_BUSY,
    SS_GAUGE_FP32_FUSED,
    SS_GAUGE_FP32_PEAK, /* of the counter before it, per second; also in the next two pairs */
    SS_GAUGE_FP64_FUSED,
    SS_GAUGE_FP64_PEAK,
    SS_GAUGE_BF16_OPS,
    SS_GAUGE_BF16_PEAK,
    SS_GAUGE_OCCUPANCY,      /* achieved, percent */
    SS_GAUGE_MOST_OCCUPANCY, /* theoretical, percent */
    SS_GAUGE_MOST_WARPS,     /* theoretical, of a multiprocessor */
    SS_GAUGE_REGISTERS,      /* of a thread */
    SS_GAUGE_STATIC_SHARED,  /* bytes of a block; also the next */
    SS_GAUGE_DYNAMIC_SHARED,
    SS_GAUGE_BLOCK, /* threads */
    SS_GAUGE_GRID,  /* blocks */
    SS_GAUGE_UNITS, /* multiprocessors */
    SS_GAUGE_WAVES,
    SS_GAUGE_BY_REGISTERS, /* to BARRIERS: blocks of a multiprocessor that this limit allows */
    SS_GAUGE_BY_SHARED,
    SS_GAUGE_BY_WARPS,
    SS_GAUGE_BY_BLOCKS,
    SS_GAUGE_BY_BARRIERS,
    SS_GAUGE_CAPABILITY_MAJOR,
    SS_GAUGE_CAPABILITY_MINOR,
    SS_KERNEL_GAUGES
};

/* Of one launch. */
struct ss_gauges {
    bool has[SS_KERNEL_GAUGES];
    double value[SS_KERNEL_GAUGES]; /* finite, 0 or more; 0 where there is none */
};

struct ss_gauge_reader {
    const struct ss_model *model;
    uint8_t *rows; /* by kind of metric: its row of the table plus one; 0: none */
};

void ss_gauge_reader_init(struct ss_gauge_reader *reader, const struct ss_model *model);
void ss_gauge_reader_fini(struct ss_gauge_reader *reader);
/* False: nothing of the table was measured. */
bool ss_gauges_read(const struct ss_gauge_reader *reader, const struct ss_model_range *range,
                    struct ss_gauges *gauges);

#endif
