/* SPDX-License-Identifier: Apache-2.0 */
/* libcublas: each function launches one kernel of a name like the vendor's, which computes nothing.
 */
#include "blas_inside.h"

#include <stdio.h>
#include <stdlib.h>

struct handle {
    void *stream;
    int math_mode, pointer_mode, atomics_mode;
};

EXPORT int cublasCreate_v2(struct handle **handle);
EXPORT int cublasDestroy_v2(struct handle *handle);
EXPORT int cublasSetStream_v2(struct handle *handle, void *stream);
EXPORT int cublasGetStream_v2(struct handle *handle, void **stream);
EXPORT int cublasSetWorkspace_v2(struct handle *handle, void *workspace, size_t bytes);
EXPORT int cublasSetMathMode(struct handle *handle, int mode);
EXPORT int cublasGetMathMode(struct handle *handle, int *mode);
EXPORT int cublasSetPointerMode_v2(struct handle *handle, int mode);
EXPORT int cublasGetPointerMode_v2(struct handle *handle, int *mode);
EXPORT int cublasSetAtomicsMode(struct handle *handle, int mode);
EXPORT int cublasGetVersion_v2(struct handle *handle, int *version);
EXPORT int cublasSetVectorAsync(int n, int size, const void *from, int from_step, void *to,
                                int to_step, void *stream);
EXPORT int cublasGetVectorAsync(int n, int size, const void *from, int from_step, void *to,
                                int to_step, void *stream);
EXPORT int cublasSetMatrixAsync(int rows, int columns, int size, const void *from, int from_rows,
                                void *to, int to_rows, void *stream);
EXPORT int cublasGetMatrixAsync(int rows, int columns, int size, const void *from, int from_rows,
                                void *to, int to_rows, void *stream);

int cublasCreate_v2(struct handle **handle)
{
    if (sim_init() != SIM_OK) {
        return BLAS_NOT_INITIALIZED;
    }
    *handle = calloc(1, sizeof **handle);
    return *handle != NULL ? BLAS_OK : BLAS_ALLOC_FAILED;
}

int cublasDestroy_v2(struct handle *handle)
{
    free(handle);
    return BLAS_OK;
}

int cublasSetStream_v2(struct handle *handle, void *stream)
{
    handle->stream = stream;
    return BLAS_OK;
}

int cublasGetStream_v2(struct handle *handle, void **stream)
{
    *stream = handle->stream;
    return BLAS_OK;
}

int cublasSetWorkspace_v2(struct handle *handle, void *workspace, size_t bytes)
{
    (void)workspace;
    (void)bytes;
    return handle != NULL ? BLAS_OK : BLAS_NOT_INITIALIZED;
}

int cublasSetMathMode(struct handle *handle, int mode)
{
    handle->math_mode = mode;
    return BLAS_OK;
}

int cublasGetMathMode(struct handle *handle, int *mode)
{
    *mode = handle->math_mode;
    return BLAS_OK;
}

int cublasSetPointerMode_v2(struct handle *handle, int mode)
{
    handle->pointer_mode = mode;
    return BLAS_OK;
}

int cublasGetPointerMode_v2(struct handle *handle, int *mode)
{
    *mode = handle->pointer_mode;
    return BLAS_OK;
}

int cublasSetAtomicsMode(struct handle *handle, int mode)
{
    handle->atomics_mode = mode;
    return BLAS_OK;
}

int cublasGetVersion_v2(struct handle *handle, int *version)
{
    (void)handle;
    *version = 120600;
    return BLAS_OK;
}

/* --- copies: columns of a matrix are rows of sim_copy --- */

static int copy(uint64_t width, uint64_t height, const void *from, uint64_t from_pitch, void *to,
                uint64_t to_pitch, void *stream)
{
    struct sim_copy one = {.from = from,
                           .to = to,
                           .width = width,
                           .height = height,
                           .from_pitch = from_pitch,
                           .to_pitch = to_pitch,
                           .is_async = true};
    return sim_copy(sim_stream(stream), &one) == SIM_OK ? BLAS_OK : BLAS_EXECUTION_FAILED;
}

int cublasSetMatrixAsync(int rows, int columns, int size, const void *from, int from_rows, void *to,
                         int to_rows, void *stream)
{
    uint64_t bytes = (uint64_t)size;
    return copy((uint64_t)rows * bytes, (uint64_t)columns, from, (uint64_t)from_rows * bytes, to,
                (uint64_t)to_rows * bytes, stream);
}

int cublasGetMatrixAsync(int rows, int columns, int size, const void *from, int from_rows, void *to,
                         int to_rows, void *stream)
{
    return cublasSetMatrixAsync(rows, columns, size, from, from_rows, to, to_rows, stream);
}

int cublasSetVectorAsync(int n, int size, const void *from, int from_step, void *to, int to_step,
                         void *stream)
{
    return cublasSetMatrixAsync(1, n, size, from, from_step, to, to_step, stream);
}

int cublasGetVectorAsync(int n, int size, const void *from, int from_step, void *to, int to_step,
                         void *stream)
{
    return cublasSetMatrixAsync(1, n, size, from, from_step, to, to_step, stream);
}

/* --- computations --- */

static int launch_gemm(struct handle *handle, const char *type, int transposed_a, int transposed_b,
                       long m, long n)
{
    char name[96];
    snprintf(name, sizeof name, "ampere_%s_128x128_%c%c", type, transposed_a ? 't' : 'n',
             transposed_b ? 't' : 'n');
    return blas_launch(handle->stream, name, blas_blocks(m), blas_blocks(n));
}

/* Callers pass more arguments, which the calling convention lets a function ignore. */
#define GEMM(function, type)                                                                       \
    EXPORT int cublas##function(struct handle *handle, int transposed_a, int transposed_b, int m,  \
                                int n, int k);                                                     \
    int cublas##function(struct handle *handle, int transposed_a, int transposed_b, int m, int n,  \
                         int k)                                                                    \
    {                                                                                              \
        (void)k;                                                                                   \
        return launch_gemm(handle, type, transposed_a, transposed_b, m, n);                        \
    }
#define OTHER(function, kernel)                                                                    \
    EXPORT int cublas##function(struct handle *handle);                                            \
    int cublas##function(struct handle *handle)                                                    \
    {                                                                                              \
        return blas_launch(handle->stream, "cublas_" kernel "_kernel", 1, 1);                      \
    }
#include "blas_functions.def"
