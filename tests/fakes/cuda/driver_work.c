/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda: modules, kernels, memory, streams and events. */
#include "driver_api.h"
#include "driver_extra.h"

#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUresult as_result(enum sim_result result)
{
    return (CUresult)result; /* the same numbers */
}

/* --- modules: a kernel has the name that it is asked for by, which PTX has to declare --- */

struct CUmod_st {
    char *ptx; /* NULL: another form */
};

static CUmodule new_module(const char *image)
{
    static const char begin[] = ".version";
    CUmodule module = calloc(1, sizeof *module);
    if (module == NULL) {
        abort();
    }
    module->ptx = strncmp(image, begin, strlen(begin)) == 0 ? strdup(image) : NULL;
    if (module->ptx != NULL) {
        sim_compile(module->ptx);
    }
    return module;
}

static bool declares(const struct CUmod_st *module, const char *name)
{
    static const char entry[] = ".entry ";
    size_t length = strlen(name);
    const char *at = module->ptx;
    while (at != NULL && (at = strstr(at, entry)) != NULL) {
        at += strlen(entry);
        if (strncmp(at, name, length) == 0 && at[length] == '(') {
            return true;
        }
    }
    return module->ptx == NULL;
}

CUresult impl_cuModuleLoadData(CUmodule *module, const void *image)
{
    if (image == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *module = new_module(image);
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                 CUjit_option *options, void **optionValues)
{
    (void)numOptions;
    (void)options;
    (void)optionValues;
    return impl_cuModuleLoadData(module, image);
}

CUresult impl_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return impl_cuModuleLoadData(module, fatCubin);
}

CUresult impl_cuModuleLoad(CUmodule *module, const char *fname)
{
    if (access(fname, R_OK) != 0) {
        return CUDA_ERROR_FILE_NOT_FOUND;
    }
    *module = new_module("");
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleUnload(CUmodule hmod)
{
    if (hmod == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    free(hmod->ptx);
    free(hmod);
    return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    if (hmod == NULL || name == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!declares(hmod, name)) {
        return CUDA_ERROR_NOT_FOUND;
    }
    *hfunc = (CUfunction)(void *)sim_function_named(name);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
CUresult impl_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                void **jitOptionsValues, unsigned int numJitOptions,
                                CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                unsigned int numLibraryOptions)
{
    (void)jitOptions;
    (void)jitOptionsValues;
    (void)numJitOptions;
    (void)libraryOptions;
    (void)libraryOptionValues;
    (void)numLibraryOptions;
    return impl_cuModuleLoadData((CUmodule *)(void *)library, code);
}

CUresult impl_cuLibraryUnload(CUlibrary library)
{
    return impl_cuModuleUnload((CUmodule)(void *)library);
}

CUresult impl_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    return impl_cuModuleGetFunction((CUfunction *)(void *)pKernel, (CUmodule)(void *)library, name);
}

CUresult impl_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    *pFunc = (CUfunction)(void *)kernel; /* one object */
    return kernel != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
#endif

CUresult impl_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    if (hfunc == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *pi = attrib == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
          : attrib == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
                                                            : 0;
    return CUDA_SUCCESS;
}

CUresult impl_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    (void)attrib;
    (void)value;
    return hfunc != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    (void)config;
    return hfunc != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                          int blockSize, size_t dynamicSMemSize)
{
    (void)func;
    (void)dynamicSMemSize;
    if (blockSize <= 0 || blockSize > 1024) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *numBlocks = 2048 / blockSize;
    return CUDA_SUCCESS;
}

/* --- kernels --- */

CUresult impl_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                             unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                             unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                             void **kernelParams, void **extra)
{
    (void)extra;
    if (f == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct sim_kernel kernel = {.function = (struct sim_function *)(void *)f,
                                .grid = {gridDimX, gridDimY, gridDimZ},
                                .block = {blockDimX, blockDimY, blockDimZ},
                                .dynamic_shared = sharedMemBytes};
    const struct sim_known *known = kernel.function->known;
    for (unsigned i = 0; known != NULL && i < known->arguments; i++) {
        memcpy(&kernel.arguments[i], kernelParams[i], sizeof kernel.arguments[i]);
    }
    return as_result(sim_launch(sim_stream(hStream), &kernel));
}

CUresult impl_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                        unsigned int gridDimZ, unsigned int blockDimX,
                                        unsigned int blockDimY, unsigned int blockDimZ,
                                        unsigned int sharedMemBytes, CUstream hStream,
                                        void **kernelParams)
{
    return impl_cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
                               sharedMemBytes, hStream, kernelParams, NULL);
}

CUresult impl_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                               void **extra)
{
    return impl_cuLaunchKernel(f, config->gridDimX, config->gridDimY, config->gridDimZ,
                               config->blockDimX, config->blockDimY, config->blockDimZ,
                               config->sharedMemBytes, config->hStream, kernelParams, extra);
}

void sim_announce_driver_launch(struct sim_function *function)
{
    CUresult result = CUDA_SUCCESS;
    cuLaunchKernel_params params = {.f = (CUfunction)(void *)function};
    struct sim_call call = {.domain = SIM_DRIVER,
                            .cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                            .name = "cuLaunchKernel",
                            .params = &params,
                            .kernel = function,
                            .result = &result};
    sim_call_begin(&call);
    sim_call_end(&call, CUDA_SUCCESS);
}

/* --- memory --- */

CUresult impl_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    void *memory;
    CUresult result =
        as_result(sim_allocate(sim_current_device(), SIM_ON_DEVICE, bytesize, &memory));
    *dptr = (CUdeviceptr)(uintptr_t)memory;
    return result;
}

CUresult impl_cuMemFree_v2(CUdeviceptr dptr)
{
    return as_result(sim_release((void *)(uintptr_t)dptr));
}

CUresult impl_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    (void)Flags;
    return as_result(sim_allocate(sim_current_device(), SIM_PINNED, bytesize, pp));
}

CUresult impl_cuMemFreeHost(void *p)
{
    return as_result(sim_release(p));
}

CUresult impl_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = sim_free_bytes(sim_current_device());
    *total = sim_settings()->device_bytes;
    return CUDA_SUCCESS;
}

static CUresult copy(void *to, const void *from, size_t size, CUstream stream, bool is_async)
{
    struct sim_copy one = {.from = from,
                           .to = to,
                           .width = size,
                           .height = 1,
                           .from_pitch = size,
                           .to_pitch = size,
                           .is_async = is_async};
    return as_result(sim_copy(sim_stream(stream), &one));
}

CUresult impl_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy((void *)(uintptr_t)dstDevice, srcHost, ByteCount, NULL, false);
}

CUresult impl_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(dstHost, (const void *)(uintptr_t)srcDevice, ByteCount, NULL, false);
}

CUresult impl_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                   CUstream hStream)
{
    return copy((void *)(uintptr_t)dstDevice, srcHost, ByteCount, hStream, true);
}

CUresult impl_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream)
{
    return copy(dstHost, (const void *)(uintptr_t)srcDevice, ByteCount, hStream, true);
}

CUresult impl_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream)
{
    return copy((void *)(uintptr_t)dstDevice, (const void *)(uintptr_t)srcDevice, ByteCount,
                hStream, true);
}

CUresult impl_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, ByteCount, hStream, true);
}

static CUresult set(CUdeviceptr to, uint32_t value, unsigned element, size_t count, CUstream stream,
                    bool is_async)
{
    struct sim_set one = {.to = (void *)(uintptr_t)to,
                          .value = value,
                          .element = element,
                          .width = count * element,
                          .height = 1,
                          .pitch = count * element,
                          .is_async = is_async};
    return as_result(sim_set(sim_stream(stream), &one));
}

CUresult impl_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    return set(dstDevice, uc, 1, N, hStream, true);
}

CUresult impl_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    return set(dstDevice, ui, 4, N, hStream, true);
}

CUresult impl_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return set(dstDevice, ui, 4, N, NULL, false);
}

/* Of an address: the attributes that Triton and NCCL ask for. */
CUresult impl_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct sim_range range = sim_range_of((const void *)(uintptr_t)ptr);
    if (range.kind == SIM_PAGEABLE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = ptr;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = range.kind == SIM_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = (int)range.device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = (CUcontext)(void *)sim_device(range.device);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* --- streams and events: the runtime's objects --- */

CUresult impl_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    *phStream = (CUstream)(void *)sim_stream_new(sim_current_device(), Flags, 0);
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    *phStream = (CUstream)(void *)sim_stream_new(sim_current_device(), flags, priority);
    return CUDA_SUCCESS;
}

CUresult impl_cuStreamDestroy_v2(CUstream hStream)
{
    return as_result(sim_stream_destroy(sim_stream(hStream)));
}

CUresult impl_cuStreamSynchronize(CUstream hStream)
{
    return as_result(sim_stream_synchronize(sim_stream(hStream)));
}

CUresult impl_cuStreamQuery(CUstream hStream)
{
    return as_result(sim_stream_query(sim_stream(hStream)));
}

CUresult impl_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    (void)Flags;
    return as_result(
        sim_stream_wait_event(sim_stream(hStream), (struct sim_event *)(void *)hEvent));
}

CUresult impl_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    *captureStatus = sim_capture_of(sim_stream(hStream)) != NULL ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                                 : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult impl_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    *phEvent =
        (CUevent)(void *)sim_event_new((Flags & CU_EVENT_DISABLE_TIMING) != 0 ? SIM_NO_TIMING : 0);
    return CUDA_SUCCESS;
}

CUresult impl_cuEventDestroy_v2(CUevent hEvent)
{
    return as_result(sim_event_destroy((struct sim_event *)(void *)hEvent));
}

CUresult impl_cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return as_result(sim_event_record((struct sim_event *)(void *)hEvent, sim_stream(hStream)));
}

CUresult impl_cuEventQuery(CUevent hEvent)
{
    return as_result(sim_event_query((struct sim_event *)(void *)hEvent));
}

CUresult impl_cuEventSynchronize(CUevent hEvent)
{
    return as_result(sim_event_synchronize((struct sim_event *)(void *)hEvent));
}

CUresult impl_cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
    return as_result(
        sim_graph_launch((struct sim_graph_exec *)(void *)hGraphExec, sim_stream(hStream)));
}
