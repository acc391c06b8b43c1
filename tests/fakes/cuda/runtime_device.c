/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart: devices, versions, entry points of the driver. */
#include "runtime_inside.h"

#include <cupti.h>
#include <stdio.h>
#include <string.h>

cudaError_t impl_cudaGetDeviceCount(int *count)
{
    *count = (int)sim_settings()->device_count;
    return cudaSuccess;
}

cudaError_t impl_cudaGetDevice(int *device)
{
    *device = (int)sim_current_device()->index;
    return cudaSuccess;
}

cudaError_t impl_cudaSetDevice(int device)
{
    enum sim_result result = sim_set_device((unsigned)device);
    if (result == SIM_OK) {
        sim_use_device(sim_current_device());
    }
    return as_error(result);
}

cudaError_t impl_cudaDeviceSynchronize(void)
{
    sim_use_device(sim_current_device());
    return as_error(sim_context_synchronize(sim_current_device()));
}

cudaError_t impl_cudaDeviceReset(void)
{
    return impl_cudaDeviceSynchronize();
}

cudaError_t impl_cudaRuntimeGetVersion(int *runtimeVersion)
{
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t impl_cudaDriverGetVersion(int *driverVersion)
{
    *driverVersion = sim_has_fault(SIM_NO_DRIVER) ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

static cudaError_t properties(struct cudaDeviceProp *prop, int device)
{
    if (sim_device((unsigned)device) == NULL) {
        return cudaErrorInvalidDevice;
    }
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "%s", SIM_DEVICE_NAME);
    prop->uuid.bytes[0] = SIM_UUID;
    prop->uuid.bytes[15] = (char)device;
    prop->totalGlobalMem = sim_settings()->device_bytes;
    prop->sharedMemPerBlock = 49152;
    prop->sharedMemPerMultiprocessor = 167936;
    prop->sharedMemPerBlockOptin = 166912;
    prop->regsPerBlock = prop->regsPerMultiprocessor = 65536;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->maxThreadsPerMultiProcessor = 2048;
    prop->maxBlocksPerMultiProcessor = 32;
    prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
    prop->maxThreadsDim[2] = 64;
    prop->maxGridSize[0] = 2147483647;
    prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
    prop->major = 8;
    prop->minor = 0;
    prop->multiProcessorCount = 108;
    prop->unifiedAddressing = prop->managedMemory = prop->concurrentKernels = 1;
    prop->asyncEngineCount = 3;
    prop->l2CacheSize = 40 << 20;
    prop->memoryBusWidth = 5120;
    prop->memPitch = 2147483647;
    prop->textureAlignment = 512;
    prop->pciBusID = device + 1;
    prop->cooperativeLaunch = 1;
#if CUDART_VERSION >= 12000
    prop->memoryPoolsSupported = 1;
#endif
#if CUDART_VERSION < 13000
    prop->clockRate = 1410000;
    prop->memoryClockRate = 1215000;
    prop->deviceOverlap = 1;
#endif
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000
cudaError_t impl_cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device)
#else
cudaError_t impl_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
#endif
{
    return properties(prop, device);
}

cudaError_t impl_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    if (sim_device((unsigned)device) == NULL) {
        return cudaErrorInvalidDevice;
    }
    *value = sim_device_attribute((unsigned)attr, (unsigned)device); /* the driver's numbers */
    return cudaSuccess;
}

cudaError_t impl_cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    if (sim_device((unsigned)device) == NULL) {
        return cudaErrorInvalidDevice;
    }
    snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)device + 1);
    return cudaSuccess;
}

cudaError_t impl_cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    *canAccessPeer = device != peerDevice;
    return cudaSuccess;
}

cudaError_t impl_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    (void)flags;
    return sim_device((unsigned)peerDevice) != NULL ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t impl_cudaDeviceDisablePeerAccess(int peerDevice)
{
    return sim_device((unsigned)peerDevice) != NULL ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t impl_cudaSetDeviceFlags(unsigned int flags)
{
    (void)flags;
    return cudaSuccess;
}

cudaError_t impl_cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    (void)limit;
    *pValue = 1024;
    return cudaSuccess;
}

cudaError_t impl_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    (void)limit;
    (void)value;
    return cudaSuccess;
}

/* The wheels lack their header. */
EXPORT cudaError_t cudaProfilerStart(void);
EXPORT cudaError_t cudaProfilerStop(void);

static cudaError_t announce(uint32_t cbid, const char *name)
{
    cudaError_t result = cudaSuccess;
    struct sim_call call = {.domain = SIM_RUNTIME, .cbid = cbid, .name = name, .result = &result};
    result = as_error(sim_call_begin(&call));
    sim_call_end(&call, (int)result);
    return result;
}

cudaError_t cudaProfilerStart(void)
{
    return announce(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, "cudaProfilerStart");
}

cudaError_t cudaProfilerStop(void)
{
    return announce(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000, "cudaProfilerStop");
}

#if CUDART_VERSION < 12000
cudaError_t impl_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                         unsigned long long flags)
{
    (void)flags;
    *funcPtr = sim_driver_function(symbol);
    return *funcPtr != NULL ? cudaSuccess : cudaErrorSymbolNotFound;
}
#else
static cudaError_t entry_point(const char *symbol, void **function,
                               enum cudaDriverEntryPointQueryResult *status)
{
    *function = sim_driver_function(symbol);
    if (status != NULL) {
        *status =
            *function != NULL ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return cudaSuccess;
}

#if CUDART_VERSION < 13000
cudaError_t impl_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                         unsigned long long flags,
                                         enum cudaDriverEntryPointQueryResult *driverStatus)
{
    (void)flags;
    return entry_point(symbol, funcPtr, driverStatus);
}
#endif

cudaError_t
impl_cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                      unsigned long long flags,
                                      enum cudaDriverEntryPointQueryResult *driverStatus)
{
    (void)flags;
    (void)cudaVersion;
    return entry_point(symbol, funcPtr, driverStatus);
}
#endif
