/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for the compiler's own header, which the wheels of the CUDA runtime lack. Names nothing
 * but the markers that a C compiler ignores. Searched last: a toolkit's own header is preferred.
 */
#ifndef FAKE_CRT_HOST_DEFINES_H
#define FAKE_CRT_HOST_DEFINES_H

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDA_CB
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __specialization_static

#endif
