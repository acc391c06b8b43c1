/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests: a client of CUPTI that keeps all records, and a kernel to launch. */
#ifndef FAKE_CUDA_CLIENT_H
#define FAKE_CUDA_CLIENT_H

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_record_types.h"

enum { CLIENT_BUFFER_BYTES = 4096, CLIENT_MOST_RECORDS = 4096, CLIENT_RECORD_BYTES = 256 };

struct client {
    unsigned char records[CLIENT_MOST_RECORDS][CLIENT_RECORD_BYTES];
    size_t count, buffers;
    int refuses_buffers;
};
static struct client client;

extern void **__cudaRegisterFatBinary(void *binary);
extern void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                   int limit, void *thread, void *block, dim3 *block_size,
                                   dim3 *grid_size, int *warp);

static inline void client_request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *most_records = 0;
    *size = CLIENT_BUFFER_BYTES;
    *buffer = client.refuses_buffers ? NULL : aligned_alloc(8, CLIENT_BUFFER_BYTES);
}

static inline void client_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                   size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context;
    (void)stream;
    (void)size;
    client.buffers++;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        size_t left = valid - (size_t)((uint8_t *)record - buffer);
        if (client.count < CLIENT_MOST_RECORDS) {
            memcpy(client.records[client.count++], record,
                   left < CLIENT_RECORD_BYTES ? left : CLIENT_RECORD_BYTES);
        }
    }
    free(buffer);
}

/* The record number `index` of a kind; NULL past the last. */
static inline const void *client_record(CUpti_ActivityKind kind, size_t index)
{
    for (size_t i = 0; i < client.count; i++) {
        const CUpti_Activity *record = (const void *)client.records[i];
        if (record->kind == kind && index-- == 0) {
            return record;
        }
    }
    return NULL;
}

static inline size_t client_count(CUpti_ActivityKind kind)
{
    size_t count = 0;
    while (client_record(kind, count) != NULL) {
        count++;
    }
    return count;
}

/* The address of a kernel of this name, as compiled programs register theirs. */
static inline const void *kernel_named(const char *name)
{
    void **handle = __cudaRegisterFatBinary(NULL);
    char *host = malloc(16);
    __cudaRegisterFunction(handle, host, host, name, -1, NULL, NULL, NULL, NULL, NULL);
    return host;
}

static inline cudaError_t launch(const void *kernel, cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, (dim3){4, 2, 1}, (dim3){128, 1, 1}, NULL, 0, stream);
}

#endif
