/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the fake libcublas and libcublasLt: written without their headers. */
#ifndef FAKE_CUDA_BLAS_H
#define FAKE_CUDA_BLAS_H

#include "core.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    BLAS_OK = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    BLAS_INVALID_VALUE = 7,
    BLAS_EXECUTION_FAILED = 13
};

/* One kernel, which stands for all that the function does. */
static inline int blas_launch(void *stream, const char *kernel, uint32_t blocks_x,
                              uint32_t blocks_y)
{
    struct sim_kernel one = {.function = sim_function_named(kernel),
                             .grid = {blocks_x, blocks_y, 1},
                             .block = {256, 1, 1},
                             .dynamic_shared = 49152};
    return sim_launch(sim_stream(stream), &one) == SIM_OK ? BLAS_OK : BLAS_EXECUTION_FAILED;
}

static inline uint32_t blas_blocks(long elements)
{
    return elements <= 128 ? 1 : (uint32_t)((elements + 127) / 128);
}

#endif
