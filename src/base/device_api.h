/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the names mean that CUDA, HIP, Kineto, nsys and torch.distributed give to calls, to the work
 * of devices and to collectives. The names are data (device_api.c). For recorders and importers:
 * both write what it finds as kinds and fields, so that no reader searches names. Pure.
 */
#ifndef SS_BASE_DEVICE_API_H
#define SS_BASE_DEVICE_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event_types.h"
#include "base/quantities.h"
#include "base/strview.h"

/* Names of what the driver does on a track of compilations. */
#define SS_JIT_COMPILES_PTX "JIT: PTX to machine code"
#define SS_JIT_COMPILES_NVVM "JIT: NVVM IR to PTX"
#define SS_JIT_CACHE_LOADS "JIT cache: load"
#define SS_JIT_CACHE_STORES "JIT cache: store"

/* Of a call of a device runtime or driver: launch, synchronisation, or range. */
enum ss_event_type ss_device_call_type(struct ss_strview name);
/* Of work of a device: copy, memset, synchronisation, or kernel. */
enum ss_event_type ss_device_work_type(struct ss_strview name);
/* True for kernels that transfer data between devices. */
bool ss_device_kernel_communicates(struct ss_strview kernel);

/* Memories as the fields from_memory and to_memory have them; NULL: unknown. */
struct ss_device_memories {
    const char *from, *to;
};
/* Of a copy; of a memset only `to`. */
struct ss_device_memories ss_device_memories_of(struct ss_strview name);

/* Of the counters that PyTorch's hooks have of a device's memory: "cuda allocated", "cuda:1 peak".
 */
enum ss_quantity ss_device_counter_quantity(struct ss_strview name);

/* Which ranks of a collective wait for which: a rank leaves after those that it waits for have
 * entered. */
enum ss_collective_flow {
    SS_FLOW_ALL,       /* all for all */
    SS_FLOW_FROM_ROOT, /* all for the root: broadcast, scatter */
    SS_FLOW_TO_ROOT,   /* the root for all: reduce, gather */
    SS_FLOW_OF_SOME,   /* some for some: a prefix of the ranks, neighbours */
    SS_FLOW_OF_TWO     /* no collective: send, receive */
};
/* By a kind ("broadcast"), a scope ("gloo:broadcast"), or the name of a kernel. */
enum ss_collective_flow ss_collective_flow_of(struct ss_strview name);
/* "allreduce" of "ncclAllReduce"; empty: the call of NCCL does not transfer data. */
struct ss_strview ss_nccl_collective(struct ss_strview call);
/* Whether a call of CUDA or HIP launches a kernel. */
bool ss_device_call_launches_kernel(struct ss_strview call);
/* Whether it launches a graph. */
bool ss_device_call_launches_graph(struct ss_strview call);
/* Whether it begins, or ends, to capture what a stream is given into a graph: until then launches
 * have no work of their own. */
bool ss_device_call_begins_capture(struct ss_strview call);
bool ss_device_call_ends_capture(struct ss_strview call);
/* "sum" of what a collective makes of the ranks' values, in NCCL's order, plus one; empty: it is
 * none of those that have a name. */
struct ss_strview ss_nccl_reduction(uint64_t number);
/* True for scopes in which the host only queues the collective. */
bool ss_collective_is_queued(struct ss_strview scope);

/* True for functions of MPI. */
bool ss_collective_is_of_mpi(struct ss_strview name);
/* True for a call of MPI that only starts a transfer, or prepares one. */
bool ss_collective_is_started(struct ss_strview name);

/* True for the scopes with which torch.distributed's backends record their collectives. */
bool ss_collective_scope(struct ss_strview name);
/* Whether an event of that name and type (SS_EVENT_TYPE_NONE: unknown) lasts as long as its process
 * may have to wait. Of MPI, all calls in which the program is, such as its waits: those that only
 * start something return at once, and their ranges last until it is complete. A send or receive
 * between two ranks is waited for in a call of its own. */
bool ss_collective_is_waited_for(struct ss_strview name, enum ss_event_type type);

#endif
