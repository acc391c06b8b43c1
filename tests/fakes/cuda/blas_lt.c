/* SPDX-License-Identifier: Apache-2.0 */
/* libcublasLt: products of matrices with one algorithm. */
#include "blas_inside.h"

#include <stdlib.h>
#include <string.h>

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t leading;
};
struct description {
    int compute_type, scale_type;
};
struct preference {
    int unused;
};
/* What a program reads of an algorithm that is offered to it. */
struct heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

EXPORT int cublasLtCreate(void **handle);
EXPORT int cublasLtDestroy(void *handle);
EXPORT size_t cublasLtGetVersion(void);
EXPORT int cublasLtMatmulDescCreate(struct description **description, int compute_type,
                                    int scale_type);
EXPORT int cublasLtMatmulDescDestroy(struct description *description);
EXPORT int cublasLtMatmulDescSetAttribute(struct description *description, int attribute,
                                          const void *value, size_t size);
EXPORT int cublasLtMatrixLayoutCreate(struct layout **layout, int type, uint64_t rows,
                                      uint64_t columns, int64_t leading);
EXPORT int cublasLtMatrixLayoutDestroy(struct layout *layout);
EXPORT int cublasLtMatrixLayoutSetAttribute(struct layout *layout, int attribute, const void *value,
                                            size_t size);
EXPORT int cublasLtMatmulPreferenceCreate(struct preference **preference);
EXPORT int cublasLtMatmulPreferenceDestroy(struct preference *preference);
EXPORT int cublasLtMatmulPreferenceSetAttribute(struct preference *preference, int attribute,
                                                const void *value, size_t size);
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, struct description *description,
                                          struct layout *a, struct layout *b, struct layout *c,
                                          struct layout *d, struct preference *preference,
                                          int wanted, struct heuristic *results, int *count);
EXPORT int cublasLtMatmul(void *handle, struct description *description, const void *alpha,
                          const void *a, struct layout *a_layout, const void *b,
                          struct layout *b_layout, const void *beta, const void *c,
                          struct layout *c_layout, void *d, struct layout *d_layout,
                          const void *algorithm, void *workspace, size_t workspace_bytes,
                          void *stream);

static int make(void **object, size_t size)
{
    *object = calloc(1, size);
    return *object != NULL ? BLAS_OK : BLAS_ALLOC_FAILED;
}

int cublasLtCreate(void **handle)
{
    return make(handle, 1);
}

int cublasLtDestroy(void *handle)
{
    free(handle);
    return BLAS_OK;
}

size_t cublasLtGetVersion(void)
{
    return CUDART_VERSION * 10;
}

int cublasLtMatmulDescCreate(struct description **description, int compute_type, int scale_type)
{
    int status = make((void **)description, sizeof **description);
    if (status == BLAS_OK) {
        **description = (struct description){compute_type, scale_type};
    }
    return status;
}

int cublasLtMatmulDescDestroy(struct description *description)
{
    free(description);
    return BLAS_OK;
}

int cublasLtMatmulDescSetAttribute(struct description *description, int attribute,
                                   const void *value, size_t size)
{
    (void)attribute;
    (void)size;
    return description != NULL && value != NULL ? BLAS_OK : BLAS_INVALID_VALUE;
}

int cublasLtMatrixLayoutCreate(struct layout **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t leading)
{
    int status = make((void **)layout, sizeof **layout);
    if (status == BLAS_OK) {
        **layout = (struct layout){type, rows, columns, leading};
    }
    return status;
}

int cublasLtMatrixLayoutDestroy(struct layout *layout)
{
    free(layout);
    return BLAS_OK;
}

int cublasLtMatrixLayoutSetAttribute(struct layout *layout, int attribute, const void *value,
                                     size_t size)
{
    (void)attribute;
    (void)size;
    return layout != NULL && value != NULL ? BLAS_OK : BLAS_INVALID_VALUE;
}

int cublasLtMatmulPreferenceCreate(struct preference **preference)
{
    return make((void **)preference, sizeof **preference);
}

int cublasLtMatmulPreferenceDestroy(struct preference *preference)
{
    free(preference);
    return BLAS_OK;
}

int cublasLtMatmulPreferenceSetAttribute(struct preference *preference, int attribute,
                                         const void *value, size_t size)
{
    (void)attribute;
    (void)size;
    return preference != NULL && value != NULL ? BLAS_OK : BLAS_INVALID_VALUE;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, struct description *description, struct layout *a,
                                   struct layout *b, struct layout *c, struct layout *d,
                                   struct preference *preference, int wanted,
                                   struct heuristic *results, int *count)
{
    (void)handle;
    (void)a;
    (void)b;
    (void)c;
    (void)preference;
    if (wanted < 1 || description == NULL || d == NULL) {
        return BLAS_INVALID_VALUE;
    }
    memset(results, 0, sizeof *results);
    results->algorithm[0] = 1;
    results->waves = 1;
    *count = 1;
    return BLAS_OK;
}

int cublasLtMatmul(void *handle, struct description *description, const void *alpha, const void *a,
                   struct layout *a_layout, const void *b, struct layout *b_layout,
                   const void *beta, const void *c, struct layout *c_layout, void *d,
                   struct layout *d_layout, const void *algorithm, void *workspace,
                   size_t workspace_bytes, void *stream)
{
    /* The types of elements that are 16 bits: half and bfloat16. */
    bool is_half = d_layout->type == 2 || d_layout->type == 14;
    const char *kernel =
        is_half ? "ampere_16816gemm_128x128_tn_epilogue" : "ampere_sgemm_128x128_tn_epilogue";
    (void)handle;
    (void)description;
    (void)alpha;
    (void)a;
    (void)a_layout;
    (void)b;
    (void)b_layout;
    (void)beta;
    (void)c;
    (void)c_layout;
    (void)d;
    (void)algorithm;
    (void)workspace;
    (void)workspace_bytes;
    return blas_launch(stream, kernel, blas_blocks((long)d_layout->rows),
                       blas_blocks((long)d_layout->columns));
}
