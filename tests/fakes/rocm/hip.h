/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the fake runtime of HIP, as HIP declares them, except for fake_hip_kernel. */
#ifndef FAKE_ROCM_HIP_H
#define FAKE_ROCM_HIP_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t x, y, z;
} hip_dim3;

enum { HIP_HOST_TO_DEVICE = 1, HIP_DEVICE_TO_HOST, HIP_DEVICE_TO_DEVICE };

/* Loads a kernel; its name has ".kd" at the end, as the symbols of code objects. */
const void *fake_hip_kernel(const char *name, uint32_t group_bytes, uint32_t vgprs,
                            uint32_t accumulators);
int hipLaunchKernel(const void *function, hip_dim3 grid, hip_dim3 block, void **arguments,
                    size_t shared, void *stream);
int hipGraphLaunch(void *graph, void *stream);
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                       void *stream);
int hipMalloc(void **memory, size_t bytes);
int hipFree(void *memory);
int hipGetDevice(int *current);
int hipSetDevice(int wanted);
int hipStreamCreate(void **stream);
int hipStreamSynchronize(void *stream);
int hipDeviceSynchronize(void);
int hipStreamBeginCapture(void *stream, int mode);
int hipStreamEndCapture(void *stream, void **graph);

typedef struct {
    char bytes[128];
} rccl_unique_id;

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                  void *communicator, void *stream);
int ncclAllToAll(const void *from, void *to, size_t count, int type, void *communicator,
                 void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclCommInitAll(void **communicators, int count, const int *devices);
int ncclCommInitRank(void **communicator, int ranks, rccl_unique_id id, int rank);
int ncclCommSplit(void *parent, int colour, int key, void **communicator, void *config);
int ncclCommDestroy(void *communicator);

#endif
