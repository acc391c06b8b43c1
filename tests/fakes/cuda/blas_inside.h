/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the fake libcublas and libcublasLt: written without their headers. */
#ifndef FAKE_CUDA_BLAS_H
#define FAKE_CUDA_BLAS_H

#include "core.h"

#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    BLAS_OK = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_ALLOC_FAILED = 3,
    BLAS_INVALID_VALUE = 7,
    BLAS_EXECUTION_FAILED = 13
};

/* One kernel, which stands for all that the function does; launched as programs launch theirs. */
static inline int blas_launch(void *stream, const char *kernel, uint32_t blocks_x,
                              uint32_t blocks_y)
{
    struct sim_function *function = sim_function_named(kernel);
    if (sim_kernel_at(function) == NULL) {
        sim_register_kernel(function, kernel);
    }
    cudaError_t result = cudaLaunchKernel(function, (dim3){blocks_x, blocks_y, 1},
                                          (dim3){256, 1, 1}, NULL, 49152, (cudaStream_t)stream);
    return result == cudaSuccess ? BLAS_OK : BLAS_EXECUTION_FAILED;
}

static inline uint32_t blas_blocks(long elements)
{
    return elements <= 128 ? 1 : (uint32_t)((elements + 127) / 128);
}

#endif
