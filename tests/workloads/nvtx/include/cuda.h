/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for CUDA's header where NVTX wants its types. */
#ifndef SS_TEST_CUDA_H
#define SS_TEST_CUDA_H
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
#endif
