/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of HIP and RCCL, by the kinds and operations of rocprofiler-sdk: their names, which
 * of them launch, and which are left out. Found once; immutable afterwards, except for the texts of
 * names, which the writer's thread makes.
 */
#ifndef SS_INJECT_ROCM_CALLS_H
#define SS_INJECT_ROCM_CALLS_H

#include "inject/rocm/decode.h"
#include "inject/rocm/load.h"

enum { SS_ROCM_MOST_OPERATIONS = 2048 };

/* Operations of a kind, as the SDK takes them. */
struct ss_rocm_operations {
    int32_t list[SS_ROCM_MOST_OPERATIONS];
    size_t count;
};

void ss_rocm_calls_init(const struct ss_rocm *rocm);
/* The kind of buffers of `what`; 0: this SDK has none. */
uint32_t ss_rocm_calls_kind(enum ss_rocm_what what);
/* Those that launch, and the ones that begin and end the capture of a stream. */
void ss_rocm_calls_list_launches(struct ss_rocm_operations *operations);
/* Those whose calls are recorded: all but the ones that programs make all the time. */
void ss_rocm_calls_list_recorded(enum ss_rocm_what what, struct ss_rocm_operations *operations);
/* Of an operation of HIP's runtime. */
bool ss_rocm_calls_is_launch(int32_t operation);
bool ss_rocm_calls_launches_kernel(int32_t operation);
/* 1: it begins the capture of a stream, -1: it ends one. */
int ss_rocm_calls_captures(int32_t operation);
/* The text of its name; 0: unknown. The writer's thread. */
uint32_t ss_rocm_calls_name(enum ss_rocm_what what, int32_t operation);

#endif
