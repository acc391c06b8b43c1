/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the model behind the ids in a file of Nsight Systems: processes, threads, devices,
 * contexts, streams and their tracks, each added when an event needs it. A global id has the number
 * of a process in bits 24 to 47, above it those of the machine, below it that of a thread. Context
 * and stream numbers are per process. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_NSYS_NSYS_ROWS_H
#define SS_MODEL_NSYS_NSYS_ROWS_H

#include "model/builder/builder.h"

/* What a key stands for, and what its entry holds. 0: there is none yet. */
enum ss_nsys_table {
    SS_NSYS_PROCESS,        /* process: row of the model */
    SS_NSYS_PROCESS_NAME,   /* process: string */
    SS_NSYS_RANK,           /* process: rank, plus one */
    SS_NSYS_THREAD,         /* thread: index into threads, plus one */
    SS_NSYS_THREAD_NAME,    /* thread: string */
    SS_NSYS_THREAD_TRACK,   /* thread, string of its name: track */
    SS_NSYS_PROCESS_TRACK,  /* process, string of its name: track */
    SS_NSYS_GPU,            /* GPU: index into gpus, plus one */
    SS_NSYS_GPU_OF_DEVICE,  /* pid, device as CUDA numbers it: GPU, plus one */
    SS_NSYS_GPU_OF_NUMBER,  /* device as CUDA numbers it, of all GPUs: GPU, plus one */
    SS_NSYS_DEVICE,         /* GPU: row of the model */
    SS_NSYS_GROUP,          /* process row, device row: its track */
    SS_NSYS_CONTEXT,        /* process, context: index into contexts, plus one */
    SS_NSYS_STREAM,         /* process, context, stream: index into streams, plus one */
    SS_NSYS_STREAM_FACTS,   /* pid, context, stream: index into stream_facts, plus one */
    SS_NSYS_NULL_STREAM,    /* pid, context: number of its default stream, plus one */
    SS_NSYS_DOMAIN,         /* process, NVTX domain: string */
    SS_NSYS_CATEGORY,       /* process, NVTX domain, category: string */
    SS_NSYS_COUNTER,        /* kind of counter, source, metric: track */
    SS_NSYS_METRIC,         /* kind of counter, list, metric: string */
    SS_NSYS_NIC,            /* network interface: string */
    SS_NSYS_NIC_OF_METRICS, /* id in metrics: network interface, plus one */
    SS_NSYS_NIC_PREFIX,     /* id in metrics, port: string */
    SS_NSYS_FRAME,          /* symbol, module, flags: frame of the model, plus one */
    SS_NSYS_GROUP_OF_RANKS, /* NCCL communicator: row of the model */
    SS_NSYS_FAMILY,         /* thread, domain, stem of step names: index, plus one */
    SS_NSYS_NAME            /* strings of text and category, type, colour: row of the model */
};

struct ss_nsys_thread {
    uint32_t row, process; /* of the model */
    bool has_operators;    /* of PyTorch, by its emit_nvtx */
};

/* A GPU as its driver describes it. */
struct ss_nsys_gpu {
    uint32_t name, uuid, pci_address; /* strings */
    uint64_t memory_bytes;            /* 0: unknown */
    uint32_t multiprocessors;         /* 0: unknown */
    uint32_t warp_threads;
};

struct ss_nsys_context {
    uint32_t process, device; /* rows of the model */
    int64_t gpu;              /* key of the GPU */
    uint32_t row;
    int64_t number;
};

struct ss_nsys_stream {
    uint32_t row, context; /* of the model; index into contexts */
    int64_t number;
    uint32_t track, wait_track; /* 0: not used yet */
};

struct ss_nsys_stream_facts {
    int32_t priority;
    uint32_t name; /* string */
    bool is_default;
};

struct ss_nsys_rows {
    struct ss_model_builder *builder;
    struct ss_intern keys;
    struct ss_vec_of(uint32_t) entries; /* by key */
    struct ss_vec_of(struct ss_nsys_thread) threads;
    struct ss_vec_of(struct ss_nsys_gpu) gpus;
    struct ss_vec_of(struct ss_nsys_context) contexts;
    struct ss_vec_of(struct ss_nsys_stream) streams;
    struct ss_vec_of(struct ss_nsys_stream_facts) stream_facts;
    int64_t first_process; /* key of the process of the first call of CUDA; -1: none */
};

void ss_nsys_rows_init(struct ss_nsys_rows *rows, struct ss_model_builder *builder);
void ss_nsys_rows_fini(struct ss_nsys_rows *rows);

/* The entry of a key; valid until the next call. */
uint32_t *ss_nsys_entry(struct ss_nsys_rows *rows, enum ss_nsys_table table, int64_t a, int64_t b,
                        int64_t c);

/* The key of the process in a global id, and its pid. */
static inline int64_t ss_nsys_process_key(int64_t global)
{
    return (int64_t)((uint64_t)global >> 24);
}
static inline int32_t ss_nsys_pid(int64_t process_key)
{
    return (int32_t)(process_key & 0xffffff);
}

/* Rows of the model. Key -1: a process of unknown pid. */
uint32_t ss_nsys_process(struct ss_nsys_rows *rows, int64_t process_key);
uint32_t ss_nsys_device(struct ss_nsys_rows *rows, int64_t gpu);
/* The GPU of a number that CUDA gives it in a process; facts of a GPU, NULL: unknown. */
int64_t ss_nsys_gpu_of(struct ss_nsys_rows *rows, int64_t process_key, int64_t device);
const struct ss_nsys_gpu *ss_nsys_gpu(struct ss_nsys_rows *rows, int64_t gpu);
/* Indices into the tables. */
uint32_t ss_nsys_thread(struct ss_nsys_rows *rows, int64_t global_tid);
/* A context belongs to the device of its first event. */
uint32_t ss_nsys_context(struct ss_nsys_rows *rows, int64_t process_key, int64_t number,
                         int64_t device);
uint32_t ss_nsys_stream(struct ss_nsys_rows *rows, int64_t process_key, uint32_t context,
                        int64_t number);

/* The row of a name, made once. */
uint32_t ss_nsys_put_name(struct ss_nsys_rows *rows, const struct ss_trace_name *name);

/* Tracks. `name`: of the domain of its ranges; empty: the track of the thread itself. */
uint32_t ss_nsys_thread_track(struct ss_nsys_rows *rows, uint32_t thread, enum ss_track_kind kind,
                              struct ss_strview name);
uint32_t ss_nsys_process_track(struct ss_nsys_rows *rows, uint32_t process_row,
                               struct ss_strview name);
/* Of the work of a stream; of the waits for it. */
uint32_t ss_nsys_stream_track(struct ss_nsys_rows *rows, uint32_t stream);
uint32_t ss_nsys_wait_track(struct ss_nsys_rows *rows, uint32_t stream);
/* The group of tracks of a device; of the host, if process_row is 0. */
uint32_t ss_nsys_device_group(struct ss_nsys_rows *rows, uint32_t process_row, uint32_t device);

#endif
