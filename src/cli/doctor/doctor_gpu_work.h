/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that `doctor --gpu` runs, recorded and not: work of known cost on the first device,
 * by the driver's API. What it asked for, and what the host's clock and the device's timer
 * measured, goes into a sheet: a file that it maps, so that a program that dies has filled what it
 * reached. Times are of CLOCK_MONOTONIC; those of the device's timer have an epoch of their own.
 * One thread.
 */
#ifndef SS_CLI_DOCTOR_DOCTOR_GPU_WORK_H
#define SS_CLI_DOCTOR_DOCTOR_GPU_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SS_GPU_SLEEPS = 12,   /* of 20 us, 200 us and 2 ms in turn; with grids of 1 to 12 blocks */
    SS_GPU_NUMBERED = 32, /* empty kernels with grids of 1 to 32 blocks */
    SS_GPU_COPIES = 5,
    SS_GPU_PAIR = 2, /* works of one kind, the second twice as large as the first */
    SS_GPU_TIMED = 2000,
    SS_GPU_LOOPS = 5, /* of SS_GPU_LOOP_WORKS sleeps of SS_GPU_LOOP_NS each */
    SS_GPU_LOOP_WORKS = 100,
    SS_GPU_LOOP_NS = 200000,
    SS_GPU_BURST = 20000,      /* launches without a wait */
    SS_GPU_LONG_BURST = 60000, /* more records than a buffer of CUPTI holds, twice */
    SS_GPU_LAST = 50,          /* launched just before the end, after a pause */
    /* Grids of the empty kernels that are only counted; warm-ups have the one of the burst. */
    SS_GPU_TIMED_GRID = 40,
    SS_GPU_BURST_GRID = 41,
    SS_GPU_LAST_GRID = 42,
    /* Of the others, for each multiprocessor; warm-ups have one block. */
    SS_GPU_COPY_BLOCKS = 8,
    SS_GPU_FMA_BLOCKS = 4
};

enum ss_gpu_copy {
    SS_GPU_COPY_PINNED_TO_DEVICE,
    SS_GPU_COPY_DEVICE_TO_PINNED,
    SS_GPU_COPY_PAGEABLE_TO_DEVICE,
    SS_GPU_COPY_ON_DEVICE,
    SS_GPU_MEMSET
};
extern const uint64_t ss_gpu_copy_bytes[SS_GPU_COPIES];

struct ss_gpu_span {
    uint64_t begin_ns, end_ns;
};

struct ss_gpu_sheet {
    char problem[256]; /* why it stopped; "": it did not */
    char device[96];
    int32_t has_device, driver_version, capability; /* 90: 9.0 */
    int32_t multiprocessors, clock_khz, memory_clock_khz, memory_bus_bits;

    uint64_t launched;                            /* kernels, so far */
    uint64_t sleep_ns[SS_GPU_SLEEPS];             /* asked for */
    struct ss_gpu_span sleeps[SS_GPU_SLEEPS];     /* by the device's timer */
    struct ss_gpu_span numbered[SS_GPU_NUMBERED]; /* of the call, by the host */
    struct ss_gpu_span numbered_until;            /* begin: before all; end: after the wait */
    uint64_t copy_bytes[SS_GPU_PAIR];             /* of the kernel that copies, read and written */
    uint64_t fma_flops[SS_GPU_PAIR];
    uint64_t fma_cycles[SS_GPU_PAIR];     /* of one multiprocessor */
    struct ss_gpu_span fmas[SS_GPU_PAIR]; /* by the device's timer */
    bool is_right[3];                     /* results: sleep, copy, products */
    uint64_t loop_ns;                     /* the shortest */
    uint64_t launch_ns;                   /* the median */
    uint64_t works_end_ns, exit_ns;       /* after the last wait; of the process */
    bool has_ended;
};

/* The program: fills the sheet at `path`, which exists with its size. `is_burst`: only empty
 * kernels, SS_GPU_LONG_BURST of them. Returns the exit status. */
int ss_gpu_work_run(const char *path, bool is_burst);

#endif
