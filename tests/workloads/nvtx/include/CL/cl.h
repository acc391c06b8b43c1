/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for OpenCL's header where NVTX wants its types. */
#ifndef SS_TEST_CL_H
#define SS_TEST_CL_H
typedef struct opaque_cl_device *cl_device_id;
typedef struct opaque_cl_context *cl_context;
typedef struct opaque_cl_queue *cl_command_queue;
typedef struct opaque_cl_mem *cl_mem;
typedef struct opaque_cl_sampler *cl_sampler;
typedef struct opaque_cl_program *cl_program;
typedef struct opaque_cl_event *cl_event;
#endif
