/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart: memory, copies, variables. */
#include "runtime_inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

cudaError_t impl_cudaMalloc(void **devPtr, size_t size)
{
    return devPtr == NULL
               ? cudaErrorInvalidValue
               : as_error(sim_allocate(sim_current_device(), SIM_ON_DEVICE, size, devPtr));
}

cudaError_t impl_cudaFree(void *devPtr)
{
    sim_use_device(sim_current_device()); /* cudaFree(0) is how programs make a context */
    return as_error(sim_release(devPtr));
}

cudaError_t impl_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    return devPtr == NULL ? cudaErrorInvalidValue
                          : as_error(sim_allocate_async(sim_stream(hStream), size, devPtr));
}

cudaError_t impl_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    return as_error(sim_release_async(sim_stream(hStream), devPtr));
}

cudaError_t impl_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    (void)flags;
    return as_error(sim_allocate(sim_current_device(), SIM_MANAGED, size, devPtr));
}

cudaError_t impl_cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    (void)flags;
    return as_error(sim_allocate(sim_current_device(), SIM_PINNED, size, pHost));
}

cudaError_t impl_cudaMallocHost(void **ptr, size_t size)
{
    return as_error(sim_allocate(sim_current_device(), SIM_PINNED, size, ptr));
}

cudaError_t impl_cudaFreeHost(void *ptr)
{
    return as_error(sim_release(ptr));
}

cudaError_t impl_cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    (void)flags;
    return as_error(sim_register_host(ptr, size));
}

cudaError_t impl_cudaHostUnregister(void *ptr)
{
    return as_error(sim_unregister_host(ptr));
}

cudaError_t impl_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    (void)flags;
    *pDevice = pHost;
    return cudaSuccess;
}

cudaError_t impl_cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    *pFlags = cudaHostAllocDefault;
    return sim_range_of(pHost).kind == SIM_PINNED ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t impl_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = sim_free_bytes(sim_current_device());
    *total = sim_settings()->device_bytes;
    return cudaSuccess;
}

cudaError_t impl_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    static const enum cudaMemoryType types[] = {
        [SIM_PAGEABLE] = cudaMemoryTypeUnregistered,
        [SIM_PINNED] = cudaMemoryTypeHost,
        [SIM_ON_DEVICE] = cudaMemoryTypeDevice,
        [SIM_MANAGED] = cudaMemoryTypeManaged,
    };
    struct sim_range range = sim_range_of(ptr);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = types[range.kind];
    attributes->device = range.kind == SIM_PAGEABLE ? -2 : (int)range.device;
    attributes->devicePointer = range.kind == SIM_PAGEABLE ? NULL : (void *)(uintptr_t)ptr;
    attributes->hostPointer = range.kind == SIM_ON_DEVICE ? NULL : (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

/* --- copies --- */

static cudaError_t copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t width, size_t height, cudaStream_t stream, bool is_async)
{
    struct sim_copy one = {.from = from,
                           .to = to,
                           .width = width,
                           .height = height,
                           .from_pitch = from_pitch,
                           .to_pitch = to_pitch,
                           .is_async = is_async};
    return as_error(sim_copy(sim_stream(stream), &one));
}

cudaError_t impl_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    (void)kind;
    return copy(dst, count, src, count, count, 1, NULL, false);
}

cudaError_t impl_cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    (void)kind;
    return copy(dst, count, src, count, count, 1, stream, true);
}

cudaError_t impl_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind)
{
    (void)kind;
    return copy(dst, dpitch, src, spitch, width, height, NULL, false);
}

cudaError_t impl_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                   size_t width, size_t height, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
    (void)kind;
    return copy(dst, dpitch, src, spitch, width, height, stream, true);
}

cudaError_t impl_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                size_t count)
{
    (void)dstDevice;
    (void)srcDevice;
    return copy(dst, count, src, count, count, 1, NULL, false);
}

cudaError_t impl_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                     size_t count, cudaStream_t stream)
{
    (void)dstDevice;
    (void)srcDevice;
    return copy(dst, count, src, count, count, 1, stream, true);
}

static cudaError_t set(void *to, size_t pitch, int value, size_t width, size_t height,
                       cudaStream_t stream, bool is_async)
{
    struct sim_set one = {.to = to,
                          .value = (uint32_t)value & 0xff,
                          .element = 1,
                          .width = width,
                          .height = height,
                          .pitch = pitch,
                          .is_async = is_async};
    return as_error(sim_set(sim_stream(stream), &one));
}

cudaError_t impl_cudaMemset(void *devPtr, int value, size_t count)
{
    return set(devPtr, count, value, count, 1, NULL, false);
}

cudaError_t impl_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    return set(devPtr, count, value, count, 1, stream, true);
}

cudaError_t impl_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                   size_t height, cudaStream_t stream)
{
    return set(devPtr, pitch, value, width, height, stream, true);
}

/* --- variables --- */

static struct variable {
    const void *host;
    size_t size;
    void *memory;
    struct variable *next;
} * variables;
static pthread_mutex_t variables_lock = PTHREAD_MUTEX_INITIALIZER;

void sim_register_variable(const void *host, size_t size)
{
    struct variable *new = calloc(1, sizeof *new);
    if (new != NULL) {
        pthread_mutex_lock(&variables_lock);
        *new = (struct variable){host, size, NULL, variables};
        variables = new;
        pthread_mutex_unlock(&variables_lock);
    }
}

void *sim_variable_at(const void *host, size_t *size)
{
    pthread_mutex_lock(&variables_lock);
    struct variable *one = variables;
    while (one != NULL && one->host != host) {
        one = one->next;
    }
    if (one != NULL && one->memory == NULL) {
        sim_allocate(sim_current_device(), SIM_ON_DEVICE, one->size, &one->memory);
    }
    pthread_mutex_unlock(&variables_lock);
    *size = one != NULL ? one->size : 0;
    return one != NULL ? one->memory : NULL;
}

cudaError_t impl_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    size_t size;
    *devPtr = sim_variable_at(symbol, &size);
    return *devPtr != NULL ? cudaSuccess : cudaErrorInvalidSymbol;
}

cudaError_t impl_cudaGetSymbolSize(size_t *size, const void *symbol)
{
    return sim_variable_at(symbol, size) != NULL ? cudaSuccess : cudaErrorInvalidSymbol;
}

cudaError_t impl_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                         size_t offset, enum cudaMemcpyKind kind,
                                         cudaStream_t stream)
{
    size_t size;
    char *memory = sim_variable_at(symbol, &size);
    (void)kind;
    if (memory == NULL || offset > size || count > size - offset) {
        return cudaErrorInvalidSymbol;
    }
    return copy(memory + offset, count, src, count, count, 1, stream, true);
}

/* --- pools: the device's default one, with the settings that programs give it --- */

cudaError_t impl_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    *memPool = (cudaMemPool_t)(void *)sim_device((unsigned)device);
    return *memPool != NULL ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t impl_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                         void *value)
{
    (void)attr;
    return memPool != NULL && value != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t impl_cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                         void *value)
{
    struct sim_device *device = (struct sim_device *)(void *)memPool;
    if (device == NULL || value == NULL) {
        return cudaErrorInvalidValue;
    }
    bool is_flag = attr == cudaMemPoolReuseFollowEventDependencies ||
                   attr == cudaMemPoolReuseAllowOpportunistic ||
                   attr == cudaMemPoolReuseAllowInternalDependencies;
    if (is_flag) {
        *(int *)value = 1;
    } else {
        *(uint64_t *)value = sim_settings()->device_bytes - sim_free_bytes(device);
    }
    return cudaSuccess;
}

cudaError_t impl_cudaMemPoolSetAccess(cudaMemPool_t memPool,
                                      const struct cudaMemAccessDesc *descList, size_t count)
{
    (void)descList;
    (void)count;
    return memPool != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t impl_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    (void)minBytesToKeep;
    if (memPool == NULL) {
        return cudaErrorInvalidValue;
    }
    sim_trim_pool((struct sim_device *)(void *)memPool);
    return cudaSuccess;
}
