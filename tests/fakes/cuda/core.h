/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated CUDA device, without any of CUDA's or CUPTI's types: devices, streams, events,
 * memory, kernels, graphs. The fake libcuda and libcudart are thin layers over it; the fake
 * libcupti observes it through struct sim_tracer. All libraries of a process share this one.
 *
 * Time is the system's monotonic clock. Work on a stream gets its start and end when it is
 * submitted: start = max(now + launch latency, end of what it waits for). Kernels compute nothing;
 * copies, sets of memory and host functions are carried out in their time by a thread, the device
 * thread. Handles are pointers that stay valid to the end of the process.
 *
 * Threads: every function may be called from any thread. One lock (sim_lock) guards all state.
 */
#ifndef FAKE_CUDA_CORE_H
#define FAKE_CUDA_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_API __attribute__((visibility("default")))

enum { SIM_UUID = 0x5a /* its first byte; the last one is the device's number */ };
enum { SIM_MOST_DEVICES = 8, SIM_MOST_THREADS = 1024, SIM_MOST_ARGUMENTS = 4 };

/* Results, with the values that they have in CUDA's runtime and driver alike. */
enum sim_result {
    SIM_OK = 0,
    SIM_INVALID_VALUE = 1,
    SIM_OUT_OF_MEMORY = 2,
    SIM_NOT_INITIALIZED = 3,
    SIM_NO_DEVICE = 100,
    SIM_INVALID_DEVICE = 101,
    SIM_INVALID_HANDLE = 400,
    SIM_NOT_READY = 600,
    SIM_CAPTURE_UNSUPPORTED = 900,
    SIM_CAPTURE_INVALIDATED = 901,
    SIM_CAPTURE_UNMATCHED = 903,
    SIM_CAPTURE_UNJOINED = 904,
};

/* --- settings: the environment FAKE_CUDA_*, which `run` sets --- */

enum sim_fault {
    SIM_BUSY_OWNER = 1 << 0,          /* another tool has subscribed to CUPTI */
    SIM_NO_DRIVER = 1 << 1,           /* there is no driver: every call fails */
    SIM_REFUSED_CLOCK = 1 << 2,       /* CUPTI refuses callbacks for timestamps */
    SIM_LOST_RECORDS = 1 << 3,        /* every tenth record of a device is dropped and counted */
    SIM_LATE_RECORDS = 1 << 4,        /* records of a device arrive 200 ms after their end */
    SIM_EXHAUSTED_BUFFERS = 1 << 5,   /* no room on the device: kernels have start = end = 0 */
    SIM_NO_NULL_BUFFERS = 1 << 6,     /* a client that returns no buffer crashes, as before 12.9 */
    SIM_SLOW_FLUSH = 1 << 7,          /* each flush takes 300 ms */
    SIM_WRONG_CLOCK = 1 << 8,         /* the times of a device's work are 5 ms too early */
    SIM_NO_COUNTERS = 1 << 9,         /* the driver gives counters to administrators only */
    SIM_BUSY_COUNTERS = 1 << 10,      /* another program uses them */
    SIM_MIG_DEVICE = 1 << 11,         /* the device is a part of one, which has no counters */
    SIM_OLD_CHIP = 1 << 12,           /* the chip has no counters that can be sampled */
    SIM_NO_TIME_TRIGGER = 1 << 13,    /* samples are taken by cycles only, as on GA100 */
    SIM_OTHER_SAMPLE_CLOCK = 1 << 14, /* samples have the times of a timer of the device */
    SIM_SAMPLE_OVERFLOW = 1 << 15,    /* the device's buffer of samples overflows once */
    SIM_OLD_DRIVER = 1 << 16,         /* the driver is of the major version before CUPTI's */
    SIM_UNKNOWN_CHIP = 1 << 17,       /* CUPTI has no metrics of the chip */
    SIM_VIRTUAL_DEVICE = 1 << 18,     /* a vGPU whose host has not switched profiling on */
    SIM_NO_HOST_LIBRARY = 1 << 19,    /* CUPTI does not find libnvperf_host.so */
};

struct sim_settings {
    unsigned faults; /* of enum sim_fault */
    unsigned device_count;
    uint64_t device_bytes;  /* memory of each device */
    uint64_t launch_ns;     /* from the call to the earliest start */
    uint64_t pinned_mb_s;   /* copies between host and device, page-locked memory */
    uint64_t pageable_mb_s; /* the same, pageable memory */
    uint64_t device_mb_s;   /* within a device */
    uint64_t peer_mb_s;     /* between devices */
    unsigned cupti;         /* 1108, 1206 or 1300: the version whose records CUPTI writes */
    uint64_t compile_ns;    /* of a module of PTX */
    bool zero_scalars;      /* copies of at most 8 bytes to the host give zeros */
    bool nested_driver;     /* launches of the runtime call the driver's, callbacks included */
};

SIM_API const struct sim_settings *sim_settings(void);
static inline bool sim_has_fault(enum sim_fault fault)
{
    return (sim_settings()->faults & (unsigned)fault) != 0;
}
/* The duration of a kernel of this name, by the first pattern of FAKE_CUDA_DURATIONS that matches.
 */
SIM_API uint64_t sim_duration_ns(const char *kernel);
SIM_API bool sim_has_duration(const char *kernel);

/* --- calls of the API, for the tracer --- */

enum sim_domain { SIM_DRIVER = 1, SIM_RUNTIME = 2 }; /* as CUPTI counts its domains */

struct sim_call {
    enum sim_domain domain;
    uint32_t cbid;
    const char *name;
    const void *params; /* CUPTI's struct of the parameters */
    void *result;
    const void *kernel; /* of a launch: what the caller names it by */
    uint32_t correlation;
    uint64_t start_ns, end_ns;
    uint64_t user; /* the subscriber's */
    bool is_announced;
    struct sim_call *outer;
};

/* Initialises for a call of the runtime; what it returns the call fails with. */
SIM_API enum sim_result sim_call_begin(struct sim_call *call);
SIM_API void sim_call_end(struct sim_call *call, int result);
/* The last failure of a call of the runtime on this thread. */
SIM_API int sim_last_error(bool clear);
/* With FAKE_CUDA_VERBOSE: prints the name of a function that is not implemented. */
SIM_API void sim_note_missing(const char *name);
/* Of the innermost call of this thread; 0 outside. */
SIM_API uint32_t sim_correlation(void);
SIM_API uint64_t sim_now_ns(void);

/* --- devices and contexts --- */

#define SIM_DEVICE_NAME "Simulated A100"

struct sim_stream;
struct sim_event;
struct sim_graph;
struct sim_graph_exec;

struct sim_device {
    unsigned index;
    uint32_t context; /* the id of its primary context, from 1 */
    bool used;        /* its context exists */
    uint64_t allocated_bytes;
    uint64_t pool_bytes, pool_used_bytes; /* of its default pool, part of what is allocated */
    struct sim_stream *streams;           /* a list; the first made is the legacy null stream */
    struct sim_stream *null_stream;
    uint64_t *queue_ends_ns; /* of the last launches: a call waits while too many are open */
    size_t queue_at;
    uint64_t engine_ready_ns[3]; /* copies to the device, from it, between devices */
};

/* Starts the simulation, as cuInit; loads the library of CUDA_INJECTION64_PATH the first time. */
SIM_API enum sim_result sim_init(void);
SIM_API struct sim_device *sim_device(unsigned index); /* NULL when there is none */
SIM_API struct sim_device *sim_current_device(void);
SIM_API enum sim_result sim_set_device(unsigned index);
/* Makes the device's context if it does not exist. */
SIM_API void sim_use_device(struct sim_device *device);

/* --- memory --- */

enum sim_memory_kind { SIM_PAGEABLE, SIM_PINNED, SIM_ON_DEVICE, SIM_MANAGED };

struct sim_range {
    uintptr_t address;
    uint64_t bytes;
    enum sim_memory_kind kind;
    unsigned device;
    bool registered; /* the program's own memory, page-locked */
    bool is_pooled;  /* from the device's default pool */
    uint32_t stream; /* of that: where it was allocated */
};

SIM_API enum sim_result sim_allocate(struct sim_device *device, enum sim_memory_kind kind,
                                     uint64_t bytes, void **memory);
SIM_API enum sim_result sim_release(void *memory);
/* From the default pool of the stream's device, and to it. The pool keeps what it has reserved. */
SIM_API enum sim_result sim_allocate_async(struct sim_stream *stream, uint64_t bytes,
                                           void **memory);
SIM_API enum sim_result sim_release_async(struct sim_stream *stream, void *memory);
SIM_API void sim_trim_pool(struct sim_device *device);
SIM_API enum sim_result sim_register_host(void *memory, uint64_t bytes);
SIM_API enum sim_result sim_unregister_host(void *memory);
/* What is known of an address: pageable when nothing is. */
SIM_API struct sim_range sim_range_of(const void *memory);
SIM_API uint64_t sim_free_bytes(const struct sim_device *device);

/* --- modules --- */

/* The module of PTX is compiled, or is in the cache of this process. Takes its time. */
SIM_API void sim_compile(const char *ptx);

/* --- kernels --- */

struct sim_kernel;
struct sim_work;

/* A kernel that the simulation carries out (known.c). */
struct sim_known {
    const char *name;
    unsigned arguments; /* of 64 bits each */
    uint64_t (*duration_ns)(const struct sim_kernel *kernel);
    void (*effect)(const struct sim_work *work); /* NULL: none */
};

struct sim_function {
    const char *name; /* mangled */
    uint64_t duration_ns;
    const struct sim_known *known; /* NULL: computes nothing */
    bool has_duration;             /* a pattern's, which goes before the known kernel's */
    struct sim_function *next;
    int max_dynamic_shared;
};

SIM_API struct sim_function *sim_function_named(const char *name);
/* The runtime's names of kernels: addresses in the program. */
SIM_API void sim_register_kernel(const void *host, const char *name);
SIM_API struct sim_function *sim_kernel_at(const void *host); /* NULL when there is none */
/* The name of the kernel that the call launches, or NULL. */
SIM_API const char *sim_kernel_name(const struct sim_call *call);

/* --- work --- */

enum sim_kind { SIM_KERNEL, SIM_COPY, SIM_SET, SIM_HOST_CALL, SIM_EMPTY, SIM_GRAPH_LAUNCH };
enum sim_copy_kind { SIM_H2D, SIM_D2H, SIM_D2D, SIM_P2P, SIM_H2H };

struct sim_kernel {
    struct sim_function *function;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared;
    uint64_t arguments[SIM_MOST_ARGUMENTS]; /* of a known kernel */
};
struct sim_copy {
    enum sim_copy_kind kind;
    enum sim_memory_kind from_kind, to_kind;
    unsigned from_device, to_device;
    const void *from;
    void *to;
    uint64_t width, height, from_pitch, to_pitch; /* height rows of width bytes */
    bool is_async;
    void *staged; /* a copy of pageable memory, which the caller may reuse */
};
struct sim_set {
    void *to;
    uint32_t value;
    unsigned element;              /* bytes: 1, 2 or 4 */
    uint64_t width, height, pitch; /* in bytes */
    enum sim_memory_kind to_kind;
    bool is_async;
};

struct sim_work {
    enum sim_kind kind;
    unsigned device;
    uint32_t context, stream, correlation;
    uint64_t queued_ns, start_ns, end_ns;
    uint64_t graph_node;
    uint32_t graph;
    unsigned thread; /* slot of the thread that submitted it */
    union {
        struct sim_kernel kernel;
        struct sim_copy copy;
        struct sim_set set;
        struct {
            void (*function)(void *);
            void *argument;
        } host;
    };
};

SIM_API enum sim_result sim_launch(struct sim_stream *stream, const struct sim_kernel *kernel);
/* Finds out what memory the addresses are; waits for the end unless the copy is asynchronous, or as
   CUDA does when the memory of the host is pageable. */
SIM_API enum sim_result sim_copy(struct sim_stream *stream, struct sim_copy *copy);
SIM_API enum sim_result sim_set(struct sim_stream *stream, struct sim_set *set);
SIM_API enum sim_result sim_call_host(struct sim_stream *stream, void (*function)(void *),
                                      void *argument);

/* A kernel whose end depends on other processes. From its start on, `poll` is called until it
   returns true with the end; the device thread calls it with the lock held: it must not wait or
   call the core. */
struct sim_open {
    bool (*poll)(void *argument, uint64_t start_ns, uint64_t *end_ns);
    void *argument;
};
SIM_API enum sim_result sim_launch_open(struct sim_stream *stream, const struct sim_kernel *kernel,
                                        struct sim_open open);

/* --- streams and events --- */

enum { SIM_NON_BLOCKING = 1 };

/* The handles of CUDA's default streams (NULL, 1 and 2) give those of the current device. */
SIM_API struct sim_stream *sim_stream(void *handle);
SIM_API struct sim_stream *sim_stream_new(struct sim_device *device, unsigned flags, int priority);
SIM_API enum sim_result sim_stream_destroy(struct sim_stream *stream);
SIM_API enum sim_result sim_stream_query(struct sim_stream *stream);
SIM_API enum sim_result sim_stream_synchronize(struct sim_stream *stream);
SIM_API enum sim_result sim_device_synchronize(struct sim_device *device);
/* The same as a call of the program: it breaks the captures of the device's streams. */
SIM_API enum sim_result sim_context_synchronize(struct sim_device *device);
SIM_API void sim_each_stream(struct sim_device *device, void (*visit)(const struct sim_stream *));
SIM_API uint32_t sim_stream_id(const struct sim_stream *stream);
SIM_API struct sim_device *sim_stream_device(const struct sim_stream *stream);
SIM_API unsigned sim_stream_flags(const struct sim_stream *stream);
SIM_API int sim_stream_priority(const struct sim_stream *stream);

enum { SIM_NO_TIMING = 2 };

SIM_API struct sim_event *sim_event_new(unsigned flags);
SIM_API enum sim_result sim_event_destroy(struct sim_event *event);
SIM_API enum sim_result sim_event_record(struct sim_event *event, struct sim_stream *stream);
SIM_API enum sim_result sim_event_query(struct sim_event *event);
SIM_API enum sim_result sim_event_synchronize(struct sim_event *event);
SIM_API enum sim_result sim_event_elapsed_ms(const struct sim_event *from,
                                             const struct sim_event *to, float *ms);
SIM_API enum sim_result sim_stream_wait_event(struct sim_stream *stream, struct sim_event *event);

/* --- graphs --- */

SIM_API enum sim_result sim_capture_begin(struct sim_stream *stream);
SIM_API enum sim_result sim_capture_end(struct sim_stream *stream, struct sim_graph **graph);
/* The graph into which the stream is captured, or NULL. */
SIM_API struct sim_graph *sim_capture_of(const struct sim_stream *stream);
SIM_API bool sim_capture_is_broken(const struct sim_stream *stream);
SIM_API uint32_t sim_graph_id(const struct sim_graph *graph);
SIM_API size_t sim_graph_node_count(const struct sim_graph *graph);
/* The id of its node number `index`. */
SIM_API uint64_t sim_graph_node(const struct sim_graph *graph, size_t index);
SIM_API void sim_graph_destroy(struct sim_graph *graph);
SIM_API struct sim_graph_exec *sim_graph_instantiate(struct sim_graph *graph);
SIM_API uint32_t sim_graph_exec_id(const struct sim_graph_exec *exec);
SIM_API void sim_graph_exec_destroy(struct sim_graph_exec *exec);
SIM_API enum sim_result sim_graph_launch(struct sim_graph_exec *exec, struct sim_stream *stream);

/* --- the tracer: the fake CUPTI --- */

enum sim_wait_kind { SIM_WAIT_EVENT = 1, SIM_WAIT_STREAM_EVENT, SIM_WAIT_STREAM, SIM_WAIT_CONTEXT };

struct sim_wait {
    enum sim_wait_kind kind; /* as CUPTI counts them */
    uint64_t start_ns, end_ns;
    uint32_t correlation, context, stream, event;
    uint64_t event_sync;
};

/* An event is recorded on a stream. */
struct sim_event_record {
    uint32_t correlation, context, stream, event;
    uint64_t event_sync;
};

struct sim_allocation {
    bool is_release, is_async;
    enum sim_memory_kind kind;
    uintptr_t address;
    uint64_t bytes, at_ns;
    uint32_t correlation, device, context, stream;
    uint64_t pool_bytes, pool_used_bytes; /* of asynchronous ones, afterwards */
};

enum sim_pool_change { SIM_POOL_MADE = 1, SIM_POOL_TRIMMED = 3 }; /* as CUPTI counts them */

enum sim_compilation_kind { SIM_CACHE_LOADS = 1, SIM_CACHE_STORES, SIM_COMPILES }; /* as CUPTI */

struct sim_compilation {
    enum sim_compilation_kind kind;
    uint64_t start_ns, end_ns, bytes;
    uint32_t correlation, device;
};

enum sim_graph_event {
    SIM_GRAPH_MADE,
    SIM_GRAPH_ENDS,
    SIM_NODE_MADE,
    SIM_NODE_CLONED,
    SIM_EXEC_MADE,
    SIM_EXEC_ENDS,
};

struct sim_graph_change {
    enum sim_graph_event event;
    const struct sim_graph *graph, *original_graph;
    const struct sim_graph_exec *exec;
    uint64_t node, original_node; /* their ids are their handles */
    enum sim_kind node_kind;
};

struct sim_tracer {
    void (*call_begun)(struct sim_call *call);
    void (*call_ended)(struct sim_call *call, int result);
    /* Work has reached its end; on the device thread, or where records are asked for. */
    void (*work_done)(const struct sim_work *work);
    /* Its times are known, and begin now or later; with the lock held: it may call nothing. */
    void (*work_queued)(const struct sim_work *work);
    void (*waited)(const struct sim_wait *wait);
    void (*event_recorded)(const struct sim_event_record *record);
    void (*memory_changed)(const struct sim_allocation *allocation);
    void (*pool_changed)(const struct sim_device *device, enum sim_pool_change change,
                         uint64_t at_ns);
    void (*compiled)(const struct sim_compilation *compilation);
    void (*context_made)(const struct sim_device *device);
    void (*stream_made)(const struct sim_stream *stream, bool destroyed);
    void (*graph_changed)(const struct sim_graph_change *change);
    /* On the device thread, every few milliseconds. */
    void (*tick)(uint64_t now_ns);
};

SIM_API void sim_set_tracer(const struct sim_tracer *tracer);
/* Whether done work is kept for the tracer. */
SIM_API void sim_keep_done_work(bool keep);
/* Reports all work that has ended by now to the tracer. */
SIM_API void sim_report_done_work(void);
/* The slot of this thread, from 0; its kernel thread id. */
SIM_API unsigned sim_thread_slot(void);
SIM_API int sim_thread_id(void);

#endif
