/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart: kernels, how programs register them, and errors. */
#include "core.h"
#include "runtime_api.h"
#include "runtime_inside.h"

#include <stdlib.h>
#include <string.h>

/* --- what compiled code calls before main, and around <<<...>>> --- */

struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

static _Thread_local struct configuration configurations[8];
static _Thread_local unsigned configuration_count;

EXPORT void **__cudaRegisterFatBinary(void *binary)
{
    void **handle = calloc(1, sizeof *handle);
    if (handle != NULL) {
        *handle = binary;
    }
    return handle;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

EXPORT void __cudaUnregisterFatBinary(void **handle)
{
    free(handle);
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                   int limit, void *thread, void *block, dim3 *block_size,
                                   dim3 *grid_size, int *warp)
{
    (void)handle;
    (void)device;
    (void)limit;
    (void)thread;
    (void)block;
    (void)block_size;
    (void)grid_size;
    (void)warp;
    sim_register_kernel(host, name);
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                              int external, size_t size, int constant, int global)
{
    (void)handle;
    (void)device;
    (void)name;
    (void)external;
    (void)constant;
    (void)global;
    sim_register_variable(host, size);
}

EXPORT char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    if (configuration_count == sizeof configurations / sizeof configurations[0]) {
        return 1;
    }
    configurations[configuration_count++] =
        (struct configuration){grid, block, shared, (cudaStream_t)stream};
    return 0;
}

EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (configuration_count == 0) {
        return cudaErrorMissingConfiguration;
    }
    struct configuration *last = &configurations[--configuration_count];
    *grid = last->grid;
    *block = last->block;
    *shared = last->shared;
    *(cudaStream_t *)stream = last->stream;
    return cudaSuccess;
}

/* --- launches --- */

static cudaError_t launch(const void *func, dim3 grid, dim3 block, size_t shared,
                          cudaStream_t stream, const uint32_t cluster[3])
{
    struct sim_function *function = sim_kernel_at(func);
    if (function == NULL) {
        return cudaErrorInvalidDeviceFunction;
    }
    struct sim_kernel kernel = {.function = function,
                                .grid = {grid.x, grid.y, grid.z},
                                .block = {block.x, block.y, block.z},
                                .cluster = {cluster[0], cluster[1], cluster[2]},
                                .dynamic_shared = (uint32_t)shared};
    enum sim_result result = sim_launch(sim_stream(stream), &kernel);
    return result == SIM_INVALID_VALUE ? cudaErrorInvalidConfiguration : as_error(result);
}

/* The launch of the runtime as a caller of the driver's, for its callback. */
static void call_driver(const void *func)
{
    if (sim_settings()->nested_driver) {
        sim_announce_driver_launch(sim_kernel_at(func));
    }
}

cudaError_t impl_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                  size_t sharedMem, cudaStream_t stream)
{
    (void)args;
    call_driver(func);
    return launch(func, gridDim, blockDim, sharedMem, stream, (const uint32_t[3]){0, 0, 0});
}

cudaError_t impl_cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                             void **args, size_t sharedMem, cudaStream_t stream)
{
    return impl_cudaLaunchKernel(func, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t impl_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                     void **args)
{
    uint32_t cluster[3] = {0, 0, 0};
    (void)args;
    if (config == NULL) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
            cluster[0] = config->attrs[i].val.clusterDim.x;
            cluster[1] = config->attrs[i].val.clusterDim.y;
            cluster[2] = config->attrs[i].val.clusterDim.z;
        }
    }
    call_driver(func);
    return launch(func, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream,
                  cluster);
}

static void call_host_function(void *argument)
{
    struct host_call *call = argument;
    call->function(call->argument);
    free(call);
}

cudaError_t impl_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    struct host_call *call = calloc(1, sizeof *call);
    if (fn == NULL || call == NULL) {
        free(call);
        return cudaErrorInvalidValue;
    }
    *call = (struct host_call){fn, userData};
    return as_error(sim_call_host(sim_stream(stream), call_host_function, call));
}

struct stream_callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *argument;
};

static void call_stream_callback(void *argument)
{
    struct stream_callback *call = argument;
    call->function(call->stream, cudaSuccess, call->argument);
    free(call);
}

cudaError_t impl_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                       void *userData, unsigned int flags)
{
    struct stream_callback *call = calloc(1, sizeof *call);
    (void)flags;
    if (callback == NULL || call == NULL) {
        free(call);
        return cudaErrorInvalidValue;
    }
    *call = (struct stream_callback){callback, stream, userData};
    return as_error(sim_call_host(sim_stream(stream), call_stream_callback, call));
}

/* How code that CUDA 13 has compiled launches: a kernel's handle is its address in the program. */
#if CUDART_VERSION >= 12000
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);
EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                      size_t shared, cudaStream_t stream);

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
    *kernel = (cudaKernel_t)(uintptr_t)func;
    return sim_kernel_at(func) != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel((const void *)kernel, grid, block, args, shared, stream);
}
#endif

/* --- what is asked of kernels --- */

cudaError_t impl_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    struct sim_function *function = sim_kernel_at(func);
    if (attr == NULL || function == NULL) {
        return cudaErrorInvalidDeviceFunction;
    }
    memset(attr, 0, sizeof *attr);
    attr->maxThreadsPerBlock = 1024;
    attr->numRegs = 32;
    attr->ptxVersion = attr->binaryVersion = 80;
    attr->maxDynamicSharedSizeBytes = function->max_dynamic_shared;
    return cudaSuccess;
}

cudaError_t impl_cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    struct sim_function *function = sim_kernel_at(func);
    if (function == NULL) {
        return cudaErrorInvalidDeviceFunction;
    }
    if (attr == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        function->max_dynamic_shared = value;
    }
    return cudaSuccess;
}

cudaError_t impl_cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    (void)cacheConfig;
    return sim_kernel_at(func) != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t impl_cudaFuncGetName(const char **name, const void *func)
{
    struct sim_function *function = sim_kernel_at(func);
    if (function == NULL) {
        return cudaErrorInvalidDeviceFunction;
    }
    *name = function->name;
    return cudaSuccess;
}

cudaError_t impl_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    *functionPtr = (cudaFunction_t)(void *)sim_kernel_at(symbolPtr);
    return *functionPtr != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    (void)func;
    (void)dynamicSMemSize;
    (void)flags;
    if (blockSize <= 0 || blockSize > 1024) {
        return cudaErrorInvalidValue;
    }
    *numBlocks = 2048 / blockSize;
    return cudaSuccess;
}

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                               int blockSize,
                                                               size_t dynamicSMemSize)
{
    return impl_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                       dynamicSMemSize, 0);
}

/* --- errors --- */

cudaError_t impl_cudaGetLastError(void)
{
    return (cudaError_t)sim_last_error(true);
}

cudaError_t impl_cudaPeekAtLastError(void)
{
    return (cudaError_t)sim_last_error(false);
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "the capture was not started here"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
};

EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].error == error) {
            return errors[i].name;
        }
    }
    return "unrecognized error code";
}

EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].error == error) {
            return errors[i].text;
        }
    }
    return "unrecognized error code";
}
