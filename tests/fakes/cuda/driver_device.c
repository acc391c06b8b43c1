/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda: initialisation, devices, contexts, lookups, errors. A context's handle is its device. */
#include "driver_api.h"
#include "driver_extra.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXPORT
#define EXPORT __attribute__((visibility("default")))
#endif

struct sim_symbol {
    const char *name;
    void *function;
};
extern const struct sim_symbol sim_driver_symbols[];

static CUresult as_result(enum sim_result result)
{
    return (CUresult)result; /* the same numbers */
}

CUresult impl_cuInit(unsigned int Flags)
{
    return Flags != 0 ? CUDA_ERROR_INVALID_VALUE : as_result(sim_init());
}

CUresult impl_cuDriverGetVersion(int *driverVersion)
{
    *driverVersion = CUDA_VERSION - (sim_has_fault(SIM_OLD_DRIVER) ? 1000 : 0);
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetCount(int *count)
{
    *count = (int)sim_settings()->device_count;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return sim_device((unsigned)ordinal) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult impl_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    (void)dev;
    snprintf(name, (size_t)len, "%s%s", SIM_DEVICE_NAME,
             sim_has_fault(SIM_MIG_DEVICE) ? " MIG 1g.5gb" : "");
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    memset(uuid, 0, sizeof *uuid);
    uuid->bytes[0] = SIM_UUID;
    uuid->bytes[15] = (char)dev;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    return impl_cuDeviceGetUuid(uuid, dev);
}

CUresult impl_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    (void)dev;
    *bytes = sim_settings()->device_bytes;
    return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)dev + 1);
    return CUDA_SUCCESS;
}

static const struct {
    CUdevice_attribute attribute;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 166912},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 167936},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1410000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1215000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 40 << 20},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 108},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
};

int sim_device_attribute(unsigned attribute, unsigned device)
{
    if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
        return (int)device + 1;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if ((unsigned)attributes[i].attribute == attribute) {
            return attributes[i].value;
        }
    }
    return 0; /* a feature that it lacks */
}

CUresult impl_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    if (sim_device((unsigned)dev) == NULL) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *pi = sim_device_attribute((unsigned)attrib, (unsigned)dev);
    return CUDA_SUCCESS;
}

/* --- contexts --- */

static CUcontext context_of(struct sim_device *device)
{
    return (CUcontext)(void *)device;
}

CUresult impl_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct sim_device *device = sim_device((unsigned)dev);
    if (device == NULL) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    sim_use_device(device);
    *pctx = context_of(device);
    return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    return sim_device((unsigned)dev) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult impl_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct sim_device *device = sim_device((unsigned)dev);
    if (device == NULL) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *flags = 0;
    *active = device->used;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetCurrent(CUcontext *pctx)
{
    struct sim_device *device = sim_current_device();
    *pctx = device->used ? context_of(device) : NULL;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetCurrent(CUcontext ctx)
{
    struct sim_device *device = (struct sim_device *)(void *)ctx;
    return device == NULL ? CUDA_SUCCESS : as_result(sim_set_device(device->index));
}

static _Thread_local CUcontext pushed[16];
static _Thread_local unsigned pushed_count;

CUresult impl_cuCtxPushCurrent_v2(CUcontext ctx)
{
    if (ctx == NULL || pushed_count == sizeof pushed / sizeof pushed[0]) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    impl_cuCtxGetCurrent(&pushed[pushed_count++]);
    return impl_cuCtxSetCurrent(ctx);
}

CUresult impl_cuCtxPopCurrent_v2(CUcontext *pctx)
{
    if (pushed_count == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (pctx != NULL) {
        impl_cuCtxGetCurrent(pctx);
    }
    return impl_cuCtxSetCurrent(pushed[--pushed_count]);
}

CUresult impl_cuCtxGetDevice(CUdevice *device)
{
    *device = (CUdevice)sim_current_device()->index;
    return CUDA_SUCCESS;
}

CUresult impl_cuCtxSynchronize(void)
{
    return as_result(sim_context_synchronize(sim_current_device()));
}

/* --- lookups --- */

/* The names of the header: its macros give a plain name to the newest version. */
void *sim_driver_function(const char *name)
{
    char versioned[128];
    static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
    for (size_t suffix = 0; suffix < sizeof suffixes / sizeof suffixes[0]; suffix++) {
        snprintf(versioned, sizeof versioned, "%s%s", name, suffixes[suffix]);
        for (const struct sim_symbol *symbol = sim_driver_symbols; symbol->name != NULL; symbol++) {
            if (strcmp(symbol->name, versioned) == 0) {
                return symbol->function;
            }
        }
    }
    return NULL;
}

#if CUDA_VERSION >= 12000
CUresult impl_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *symbolStatus)
{
    (void)cudaVersion;
    (void)flags;
    *pfn = sim_driver_function(symbol);
    if (symbolStatus != NULL) {
        *symbolStatus =
            *pfn != NULL ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return *pfn != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#else
CUresult impl_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    (void)cudaVersion;
    (void)flags;
    *pfn = sim_driver_function(symbol);
    return *pfn != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#endif

static const struct {
    CUresult result;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

CUresult impl_cuGetErrorString(CUresult error, const char **pStr)
{
    *pStr = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].result == error) {
            *pStr = errors[i].text;
        }
    }
    return *pStr != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGetErrorName(CUresult error, const char **pStr)
{
    *pStr = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].result == error) {
            *pStr = errors[i].name;
        }
    }
    return *pStr != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
