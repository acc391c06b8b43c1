/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of CUDA, loaded at run time where it is installed: the part of its interface that
 * `doctor --gpu` uses, without its headers. Functions return 0 or the driver's number of a failure.
 * Immutable once loaded; the library stays loaded to the end of the process. Loading initialises
 * nothing.
 */
#ifndef SS_PLATFORM_CUDA_DRIVER_H
#define SS_PLATFORM_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SS_CUDA_OK = 0, SS_CUDA_NO_DEVICE = 100 };

/* Attributes of a device, as the driver numbers them. */
enum ss_cuda_attribute {
    SS_CUDA_CLOCK_KHZ = 13,
    SS_CUDA_MULTIPROCESSORS = 16,
    SS_CUDA_MEMORY_CLOCK_KHZ = 36,
    SS_CUDA_MEMORY_BUS_BITS = 37,
    SS_CUDA_L2_BYTES = 38,
    SS_CUDA_CAPABILITY_MAJOR = 75,
    SS_CUDA_CAPABILITY_MINOR = 76
};

/* Name, the exported symbol, parameters. Devices are numbers, memory of a device an address;
 * contexts, modules, functions and streams are opaque pointers. */
#define SS_CUDA_FUNCTIONS(FUNCTION)                                                                \
    FUNCTION(init, "cuInit", unsigned flags)                                                       \
    FUNCTION(version, "cuDriverGetVersion", int *version)                                          \
    FUNCTION(count, "cuDeviceGetCount", int *count)                                                \
    FUNCTION(device, "cuDeviceGet", int *device, int number)                                       \
    FUNCTION(name, "cuDeviceGetName", char *name, int size, int device)                            \
    FUNCTION(attribute, "cuDeviceGetAttribute", int *value, int attribute, int device)             \
    FUNCTION(retain_context, "cuDevicePrimaryCtxRetain", void **context, int device)               \
    FUNCTION(set_context, "cuCtxSetCurrent", void *context)                                        \
    FUNCTION(load_module, "cuModuleLoadData", void **module, const void *image)                    \
    FUNCTION(find_function, "cuModuleGetFunction", void **function, void *module,                  \
             const char *name)                                                                     \
    FUNCTION(launch, "cuLaunchKernel", void *function, unsigned grid_x, unsigned grid_y,           \
             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,                \
             unsigned shared_bytes, void *stream, void **parameters, void **extra)                 \
    FUNCTION(allocate, "cuMemAlloc_v2", uint64_t *address, size_t bytes)                           \
    FUNCTION(allocate_pinned, "cuMemHostAlloc", void **memory, size_t bytes, unsigned flags)       \
    FUNCTION(copy_to_device, "cuMemcpyHtoDAsync_v2", uint64_t to, const void *from, size_t bytes,  \
             void *stream)                                                                         \
    FUNCTION(copy_to_host, "cuMemcpyDtoHAsync_v2", void *to, uint64_t from, size_t bytes,          \
             void *stream)                                                                         \
    FUNCTION(copy_on_device, "cuMemcpyDtoDAsync_v2", uint64_t to, uint64_t from, size_t bytes,     \
             void *stream)                                                                         \
    FUNCTION(set_memory, "cuMemsetD32Async", uint64_t to, unsigned value, size_t count,            \
             void *stream)                                                                         \
    FUNCTION(make_stream, "cuStreamCreate", void **stream, unsigned flags)                         \
    FUNCTION(wait, "cuStreamSynchronize", void *stream)                                            \
    FUNCTION(error_text, "cuGetErrorString", int error, const char **text)

struct ss_cuda_driver {
#define SS_CUDA_MEMBER(member, symbol, ...) int (*member)(__VA_ARGS__);
    SS_CUDA_FUNCTIONS(SS_CUDA_MEMBER)
#undef SS_CUDA_MEMBER
};

/* false: `reason` says why there is none. */
bool ss_cuda_driver_load(struct ss_cuda_driver *driver, char *reason, size_t size);
/* The driver's own text, or "an unknown error". */
const char *ss_cuda_driver_error(const struct ss_cuda_driver *driver, int error);

#endif
