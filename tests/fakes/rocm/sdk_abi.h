/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of rocprofiler-sdk as the SDK's headers declare them, whole, for the fake that fills
 * them: declared apart from src/inject/rocm/, so that a mistake there is found here. "Old": before
 * 1.0, where ids of calls have no ancestor.
 */
#ifndef FAKE_ROCM_SDK_ABI_H
#define FAKE_ROCM_SDK_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t internal, external, ancestor;
} long_id;
typedef struct {
    uint64_t internal, external;
} short_id;
typedef struct {
    uint32_t x, y, z;
} dim3;

typedef struct {
    uint64_t size, agent, queue, kernel, dispatch;
    uint32_t private_bytes, group_bytes;
    dim3 workgroup, grid;
    uint8_t reserved[56];
} dispatch_info;
_Static_assert(sizeof(dispatch_info) == 128, "as the SDK promises");

typedef struct {
    uint64_t size;
    uint32_t kind;
    int32_t operation;
    short_id id;
    uint64_t thread, begin, end;
    dispatch_info info;
    int32_t pipe;
} kernel_record;

typedef struct {
    uint64_t size;
    uint32_t kind;
    int32_t operation;
    short_id id;
    uint64_t thread, begin, end, to, from, bytes, to_address, from_address;
} copy_record;

typedef struct {
    uint64_t size;
    uint32_t kind;
    int32_t operation;
    long_id id;
    uint64_t begin, end, thread;
} call_record;
typedef struct {
    uint64_t size;
    uint32_t kind;
    int32_t operation;
    short_id id;
    uint64_t begin, end, thread;
} old_call_record;

typedef struct {
    uint64_t context, thread;
    long_id id;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
} callback_event;
typedef struct {
    uint64_t context, thread;
    short_id id;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
} old_callback_event;

typedef struct {
    uint64_t size, kernel, code_object;
    const char *name;
    uint64_t object;
    uint32_t argument_bytes, argument_alignment, group_bytes, private_bytes, sgprs, vgprs,
        accumulators;
    int64_t entry;
    uint64_t address;
} symbol_data;

typedef struct {
    uint64_t size, stream, value;
} stream_data;

typedef struct {
    uint64_t size, id;
    uint32_t type, cores, simds, banks, caches, links, first_core, first_simd, waves, lds, gds, gws;
    uint32_t wavefront, xccs, units, arrays, shader_banks, arrays_per_engine, units_per_array;
    uint32_t simds_per_unit, slots, architecture;
    uint16_t vendor, device;
    uint32_t location, domain, render, sdmas, xgmis, sdma_queues, queues, cpu_clock, gpu_clock;
    uint32_t sdma_firmware, firmware, capability, units_per_engine, waves_per_unit, family;
    uint32_t most_in_group, most_in_grid;
    uint64_t memory, hive, gpu;
    dim3 group_dim, grid_dim;
    const void *bank_list, *cache_list, *link_list;
    const char *name, *vendor_name, *product, *model;
    uint32_t node;
    int32_t number, number_of_type;
    uint32_t visibility;
    uint8_t uuid[16];
} agent_data;

/* Of a callback at a call of RCCL: the arguments, as far as the fake has the functions, and room
 * for those of the others. */
typedef struct {
    char internal[128];
} rccl_id;
typedef struct {
    uint64_t size;
    union {
        struct {
            const void *sendbuff;
            void *recvbuff;
            size_t count;
            int datatype, op;
            void *comm, *stream;
        } ncclAllReduce;
        struct {
            const void *sendbuff;
            void *recvbuff;
            size_t count;
            int datatype;
            void *comm, *stream;
        } ncclAllToAll;
        struct {
            const void *sendbuff;
            size_t count;
            int datatype, peer;
            void *comm, *stream;
        } ncclSend;
        struct {
            void **newcomm;
            int nranks;
            rccl_id commId;
            int myrank;
        } ncclCommInitRank;
        struct {
            void **comms;
            int ndev;
            const int *devlist;
        } ncclCommInitAll;
        struct {
            void *comm;
            int color, key;
            void **newcomm;
            void *config;
        } ncclCommSplit;
        struct {
            void *comm;
        } ncclCommDestroy;
        uint64_t others[24];
    } args;
    uint64_t retval;
} rccl_data;

typedef struct {
    uint32_t category, kind;
    void *payload;
} record_header;
typedef struct {
    const char *name;
    uint32_t handle;
} client_id;
typedef struct {
    size_t size;
    int (*initialize)(void (*finalize)(client_id), void *data);
    void (*finalize)(void *data);
    void *data;
} tool;

/* --- what the fake runtime of HIP emits to the fake SDK ------------------------------------------
 */

enum { PHASE_ENTER = 1, PHASE_EXIT = 2 };
enum domain { OF_HIP, OF_COMPILER, OF_RCCL, OF_STREAM, OF_CODE };

typedef struct {
    uint64_t id, user[16]; /* of each callback */
    uint64_t begin;
    enum domain domain;
    const char *name;
    void *payload; /* of its callbacks */
} open_call;

/* Work that was queued: who wants a record of it. */
typedef struct {
    uint64_t id, external[16];
    uint32_t contexts; /* bits */
    uint64_t thread;
} queued;

void fake_sdk_begin(void); /* loads the tools, once */
uint64_t fake_sdk_now(void);
void fake_sdk_enter(open_call *call, enum domain domain, const char *name, void *payload);
void fake_sdk_leave(open_call *call);
void fake_sdk_symbol(uint64_t kernel, const char *name, uint32_t group_bytes, uint32_t vgprs,
                     uint32_t accumulators);
void fake_sdk_stream(uint64_t stream, int phase);
queued fake_sdk_queue(int is_copy);
/* When it is done. `begin`, `end`: by fake_sdk_now. */
void fake_sdk_kernel_done(const queued *of, const dispatch_info *info, uint64_t begin,
                          uint64_t end);
void fake_sdk_copy_done(const queued *of, int direction, uint64_t from, uint64_t to, uint64_t bytes,
                        uint64_t begin, uint64_t end);
int fake_sdk_has_fault(const char *name);

enum { CPU_AGENT = 70, FIRST_GPU_AGENT = 71, GPUS = 2 };

#endif
