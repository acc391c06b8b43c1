/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of the program of doctor_gpu_work.h: its works, in the order of their
 * begins, and what was lost. Plain data once read; owned by the caller. */
#ifndef SS_CLI_DOCTOR_DOCTOR_GPU_RECORDED_H
#define SS_CLI_DOCTOR_DOCTOR_GPU_RECORDED_H

#include "base/error.h"
#include "base/vec.h"
#include "cli/doctor/doctor_gpu_work.h"

enum ss_gpu_kernel {
    SS_GPU_KERNEL_EMPTY,
    SS_GPU_KERNEL_SLEEP,
    SS_GPU_KERNEL_COPY,
    SS_GPU_KERNEL_FMA,
    SS_GPU_KERNELS
};

struct ss_gpu_kernel_work {
    struct ss_gpu_span span;
    struct ss_gpu_span launch; /* of the call with its correlation; 0: none */
    uint64_t blocks;
};

struct ss_gpu_copy_work {
    struct ss_gpu_span span;
    uint64_t bytes;
    bool is_set;
    char from[16], to[16]; /* memories; "": unknown */
};

struct ss_gpu_recorded {
    bool is_there;
    char reason[512];    /* of the source "gpu" */
    char collector[600]; /* the CUPTI that was used; "": none */
    char device[128];    /* the UUID of that with work, else its model; "": unknown */
    char problem[512];   /* why nothing was collected; "": nothing */
    struct ss_vec_of(struct ss_gpu_kernel_work) kernels[SS_GPU_KERNELS];
    struct ss_vec_of(struct ss_gpu_copy_work) copies;
    /* The counts of the recording's notes. */
    uint64_t launches, dropped, refused, untimed, unlaunched, unplaced, lost_launches,
        lost_messages;
};

/* `recorded` is all zero before. */
enum ss_status ss_gpu_recorded_read(const char *path, struct ss_gpu_recorded *recorded,
                                    struct ss_error *err);
void ss_gpu_recorded_fini(struct ss_gpu_recorded *recorded);
uint64_t ss_gpu_recorded_kernels(const struct ss_gpu_recorded *recorded);
/* Of one kind with this grid. */
uint64_t ss_gpu_recorded_count(const struct ss_gpu_recorded *recorded, enum ss_gpu_kernel kind,
                               uint64_t blocks);

#endif
