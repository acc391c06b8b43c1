/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few kernels that the simulation carries out: those of `stepscope doctor --gpu`. They take
 * what the simulated device's properties say, unless a pattern gives their duration, and write what
 * the device would have written.
 */
#include "inside.h"

#include <string.h>

enum {
    FMA_CHAINS = 8,    /* of a thread */
    EMPTY_NS = 1500,   /* any kernel takes this long */
    STARTING_NS = 1000 /* and this beside what a thread of it can measure */
};
/* The device's own timer has another epoch than the host's clocks. */
static const uint64_t timer_epoch_ns = UINT64_C(1000000000000000000);
static const double fma_per_s = 108 * 64 * 1.41e9 * 0.9, clock_hz = 1.41e9;

static uint64_t no_time(const struct sim_kernel *kernel)
{
    (void)kernel;
    return EMPTY_NS;
}

/* (out, ns) */
static uint64_t sleep_time(const struct sim_kernel *kernel)
{
    return kernel->arguments[1] + STARTING_NS;
}

static void sleep_effect(const struct sim_work *work)
{
    uint64_t *out = (uint64_t *)(uintptr_t)work->kernel.arguments[0];
    out[0] = timer_epoch_ns + work->start_ns + STARTING_NS / 2;
    out[1] = out[0] + work->kernel.arguments[1];
}

/* (to, from, elements of 16 bytes) */
static uint64_t copy_time(const struct sim_kernel *kernel)
{
    double bytes = 2 * 16.0 * (double)kernel->arguments[2]; /* read and written */
    return EMPTY_NS + (uint64_t)(bytes * 1e3 / (double)sim_settings()->device_mb_s);
}

static void copy_effect(const struct sim_work *work)
{
    const uint64_t *arguments = work->kernel.arguments;
    memcpy((void *)(uintptr_t)arguments[0], (const void *)(uintptr_t)arguments[1],
           16 * arguments[2]);
}

/* (out, iterations, one) */
static uint64_t fma_time(const struct sim_kernel *kernel)
{
    double threads = (double)kernel->grid[0] * kernel->block[0];
    return EMPTY_NS +
           (uint64_t)(threads * FMA_CHAINS * (double)kernel->arguments[1] * 1e9 / fma_per_s);
}

static void fma_effect(const struct sim_work *work)
{
    uint64_t *out = (uint64_t *)(uintptr_t)work->kernel.arguments[0];
    uint64_t took_ns = work->end_ns - work->start_ns - STARTING_NS;
    out[0] = timer_epoch_ns + work->start_ns + STARTING_NS / 2;
    out[1] = out[0] + took_ns;
    out[2] = (uint64_t)((double)took_ns * clock_hz / 1e9);
    out[3] = FMA_CHAINS * (FMA_CHAINS + 1) / 2 + FMA_CHAINS * work->kernel.arguments[1];
}

static const struct sim_known known[] = {
    {"stepscope_empty", 0, no_time, NULL},
    {"stepscope_sleep", 2, sleep_time, sleep_effect},
    {"stepscope_copy", 3, copy_time, copy_effect},
    {"stepscope_fma", 3, fma_time, fma_effect},
};

const struct sim_known *sim_known_kernel(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) {
            return &known[i];
        }
    }
    return NULL;
}
