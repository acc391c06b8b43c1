/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for CUDA's header where NVTX wants its types. */
#ifndef SS_TEST_DRIVER_TYPES_H
#define SS_TEST_DRIVER_TYPES_H
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
#endif
