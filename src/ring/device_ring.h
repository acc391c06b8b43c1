/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared memory through which a program's collector of device work (inject/cupti/) sends it to
 * the recorder: one file per process that uses devices, PID.STARTTIME.N.gpu beside its ring file.
 *
 *     0       header: one page
 *     4096    a ring of bytes, whose messages are multiples of 8 bytes and may wrap
 *
 * One producer, a thread of the collector, which may wait for room: texts are defined once, before
 * the messages that refer to them. One consumer, the recorder, which trusts nothing: it copies each
 * message and checks the copy. Times are CLOCK_MONOTONIC in ns. Every field has one writer.
 */
#ifndef SS_RING_DEVICE_RING_H
#define SS_RING_DEVICE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SS_DEVICE_RING_MAGIC UINT64_C(0x3143495645445353) /* "SSDEVIC1" */
#define SS_DEVICE_RING_SUFFIX ".gpu"

enum {
    SS_DEVICE_RING_VERSION = 3,
    SS_DEVICE_RING_PAGE_BYTES = 4096,
    SS_DEVICE_RING_MIN_LOG2 = 16,
    SS_DEVICE_RING_MAX_LOG2 = 28,
    SS_DEVICE_RING_LOG2 = 22, /* 4 MiB: some 40,000 kernels */
    SS_DEVICE_MAX_TEXT_BYTES = 32 << 10,
    SS_DEVICE_MAX_MESSAGE_BYTES = SS_DEVICE_MAX_TEXT_BYTES + 64
};

enum ss_device_interface_of { SS_DEVICE_OF_CUPTI, SS_DEVICE_OF_ROCPROFILER };

enum ss_device_collector {
    SS_DEVICE_STARTING,
    SS_DEVICE_COLLECTS, /* in windows of the schedule, if there is one */
    SS_DEVICE_PAUSED,   /* another profiler of the process uses the interface */
    SS_DEVICE_REFUSED,  /* see the fact "gpu.problem" */
    SS_DEVICE_ENDED
};

/* Counts grow. */
struct ss_device_ring_header {
    /* Written by the program, once. `magic` publishes the rest of the line. */
    alignas(64) _Atomic uint64_t magic;
    uint32_t version, bytes_log2;
    int32_t pid; /* in the program's own pid namespace */
    uint32_t interface_version;
    uint32_t interface; /* enum ss_device_interface_of */

    alignas(64) _Atomic uint64_t head; /* bytes written; publishes them */
    alignas(64) _Atomic uint64_t tail; /* bytes read; written by the recorder */

    /* Written by the program. */
    alignas(64) _Atomic uint32_t collector; /* enum ss_device_collector */
    _Atomic uint32_t is_clock_calibrated;   /* times were converted from another clock */
    _Atomic uint64_t dropped_records;       /* by the interface, for lack of a buffer */
    _Atomic uint64_t refused_buffers;       /* that the interface asked for */
    _Atomic uint64_t untimed_kernels;       /* records without times */
    _Atomic uint64_t lost_messages;         /* the ring was full when the program ended */
    _Atomic uint64_t lost_launches;         /* launches whose place was not recorded */
    _Atomic uint64_t unknown_records;       /* of kinds that were not requested */
    _Atomic uint64_t flushed_ns;            /* what was collected until then is in the ring */
    _Atomic uint64_t overhead_ns;           /* of the interface, as it says itself */
};
_Static_assert(sizeof(struct ss_device_ring_header) <= SS_DEVICE_RING_PAGE_BYTES, "fits its page");

/* --- messages -------------------------------------------------------------------------------- */

enum ss_device_message_kind {
    SS_DEVICE_TEXT = 1, /* then `bytes` of text */
    SS_DEVICE_WORK,
    SS_DEVICE_CALL,
    SS_DEVICE_LAUNCH,
    SS_DEVICE_WAIT,
    SS_DEVICE_DEVICE,
    SS_DEVICE_CONTEXT,
    SS_DEVICE_SWITCH,
    SS_DEVICE_COLLECTIVE,
    SS_DEVICE_NODE,
    SS_DEVICE_MEMORY,
    SS_DEVICE_POOL,
    SS_DEVICE_EXTERNAL,
    SS_DEVICE_COMPILATION,
    SS_DEVICE_METRICS,
    SS_DEVICE_SAMPLER,
    SS_DEVICE_SAMPLE,
    SS_DEVICE_FRAME,
    SS_DEVICE_STACK,
    SS_DEVICE_MESSAGE_KINDS
};

struct ss_device_message {
    uint32_t kind;
    uint32_t bytes; /* with this head; a multiple of 8 */
};

/* A text has the number of the previous one plus one; 0 is "none". */
struct ss_device_text {
    struct ss_device_message head;
    uint32_t number, length;
};

/* Frames and stacks have numbers in the same way. A frame of a Python function. */
struct ss_device_frame_message {
    struct ss_device_message head;
    uint32_t number;
    uint32_t file, function; /* texts */
    int32_t line;            /* 0: unknown */
};

/* A frame that another stack called: an earlier one, 0: none. */
struct ss_device_stack_message {
    struct ss_device_message head;
    uint32_t number, outer, frame, unused;
};

enum ss_device_work_kind {
    SS_DEVICE_KERNEL = 1,
    SS_DEVICE_COPY,
    SS_DEVICE_MEMSET,
    SS_DEVICE_GRAPH /* all nodes of a graph launch */
};
enum { SS_DEVICE_ASYNC = 1 }; /* of flags */

struct ss_device_work_message {
    struct ss_device_message head;
    uint64_t begin_ns, end_ns;
    uint8_t work; /* enum ss_device_work_kind */
    uint8_t flags;
    uint8_t direction, from, to; /* of copies and memsets, as CUPTI numbers them */
    uint8_t unused[3];
    uint32_t device, context, stream, correlation;
    uint32_t name; /* text; of kernels */
    uint32_t registers, static_shared, dynamic_shared;
    uint32_t grid[3], block[3];
    uint32_t graph;
    uint32_t from_device, to_device; /* of copies between devices */
    uint32_t scratch;                /* of a kernel: private bytes of a thread in device memory */
    uint64_t graph_node;
    uint64_t bytes;
};

enum ss_device_domain {
    SS_DEVICE_RUNTIME,
    SS_DEVICE_DRIVER,
    SS_DEVICE_COMMUNICATION, /* RCCL */
    SS_DEVICE_DOMAINS
};

/* A call of a device's runtime, driver or library on a thread of the program. */
struct ss_device_call_message {
    struct ss_device_message head;
    uint64_t begin_ns, end_ns;
    uint32_t domain; /* enum ss_device_domain */
    uint32_t thread, correlation, result;
    uint32_t name; /* text */
    uint32_t unused;
};

enum {
    SS_DEVICE_LAUNCH_NESTED = 1,   /* a driver's call within a runtime's call */
    SS_DEVICE_LAUNCH_CAPTURED = 2, /* it made a node of a graph, and launched nothing */
    SS_DEVICE_LAUNCH_IS_CALL = 4   /* no message describes the call besides this one */
};

/* Where a launch was: known before its call and its work. */
struct ss_device_launch_message {
    struct ss_device_message head;
    uint64_t begin_ns, end_ns;
    uint32_t thread, correlation;
    uint32_t stack; /* of Python; 0: none */
    uint32_t name;  /* text: of the call */
    uint32_t flags;
    uint32_t domain;
    uint32_t outer; /* NESTED: the correlation of the runtime's call */
    uint32_t unused;
};

/* What a call waited for. */
struct ss_device_wait_message {
    struct ss_device_message head;
    uint64_t begin_ns, end_ns;
    uint32_t type; /* as CUPTI numbers it */
    uint32_t context, stream, correlation, event;
    uint32_t recorded_by; /* correlation of the call that recorded the event; 0: unknown */
};

struct ss_device_device_message {
    struct ss_device_message head;
    uint64_t memory_bytes;
    uint32_t number, name, multiprocessors, unused;
    uint8_t uuid[16];
};

struct ss_device_context_message {
    struct ss_device_message head;
    uint32_t context, device, null_stream, unused;
};

/* Whether work is recorded from now on. */
struct ss_device_switch_message {
    struct ss_device_message head;
    uint64_t time_ns;
    uint32_t is_on, unused;
};

/* Where a node of a graph was made. Before its work. */
struct ss_device_node_message {
    struct ss_device_message head;
    uint64_t node;
    uint32_t stack, unused;
};

/* What a launch of NCCL does. After the launch, before its work; several, if it does several. */
struct ss_device_collective_message {
    struct ss_device_message head;
    uint32_t correlation;
    uint32_t function, group, datatype, algorithm, protocol; /* texts */
    uint32_t module;                                         /* text: what the data belongs to */
    uint32_t size;                                           /* ranks of the group; 0: unknown */
    uint32_t channels;                                       /* 0: unknown */
    uint32_t reduction;                                      /* enum ss_ring_reduction */
    int64_t sequence;                                        /* number in the group; -1: none */
    int64_t bytes;                                           /* -1: unknown */
    int64_t root;                                            /* rank of the world; -1: none */
};

/* Memory is taken from a device, or from the host for copies, or given back. */
struct ss_device_memory_message {
    struct ss_device_message head;
    uint64_t time_ns, address, bytes;
    uint32_t device, context, stream, correlation;
    uint8_t memory; /* as CUPTI numbers kinds of memory */
    uint8_t is_release, is_async;
    uint8_t is_early; /* before the window: it only counts for what is held */
    uint32_t unused;
    uint64_t pool; /* its address; 0: none. This and the next: after the operation */
    uint64_t pool_bytes, pool_used_bytes;
};

enum ss_device_pool_operation {
    SS_DEVICE_POOL_MADE = 1,
    SS_DEVICE_POOL_ENDS,
    SS_DEVICE_POOL_TRIMS
};

/* A pool of memory, from which the program allocates in the order of a stream. */
struct ss_device_pool_message {
    struct ss_device_message head;
    uint64_t time_ns, pool;
    uint64_t pool_bytes, pool_used_bytes, threshold_bytes;
    uint32_t operation; /* enum ss_device_pool_operation */
    uint32_t device, correlation, unused;
};

/* An id that the program gave what a call does. */
struct ss_device_external_message {
    struct ss_device_message head;
    uint64_t id;
    uint32_t family, correlation;
};

enum ss_device_compilation_operation {
    SS_DEVICE_CACHE_LOADS = 1,
    SS_DEVICE_CACHE_STORES,
    SS_DEVICE_COMPILES
};

/* The driver compiles kernels, or has them from its cache. */
struct ss_device_compilation_message {
    struct ss_device_message head;
    uint64_t begin_ns, end_ns, bytes;
    uint32_t operation; /* enum ss_device_compilation_operation */
    uint32_t input;     /* 1: PTX; 2: NVVM IR */
    uint32_t device, correlation;
};

/* What one counter showed. */
struct ss_device_metric {
    uint32_t name, unit; /* texts */
    double value;
};

/* What hardware counters measured of one kernel, which CUPTI ran once for each pass, or of steps,
 * one for each pass. `count` values follow the message. */
struct ss_device_metrics_message {
    struct ss_device_message head;
    uint64_t begin_ns, end_ns;
    int64_t step; /* the first one; -1: unknown, or of a kernel */
    uint32_t device, context;
    uint32_t name; /* text: of the kernel; 0: of steps */
    uint32_t count;
    uint32_t correlation;
    uint32_t passes;
    uint32_t grid[3], block[3];                        /* of a kernel; 0: unknown */
    uint32_t identity;                                 /* text: the device's UUID, else its model */
    uint32_t registers, static_shared, dynamic_shared; /* of a kernel; 0: unknown, or none */
};

enum { SS_DEVICE_MOST_SERIES = 16 };

/* Counters of a device are sampled from then on, or no more. Before its samples. */
struct ss_device_sampler_message {
    struct ss_device_message head;
    uint64_t time_ns, interval_ns;
    uint32_t device, is_on;
    uint32_t series; /* bits, by enum ss_sample_series */
    uint32_t unused;
    uint8_t uuid[16]; /* 0: unknown */
};

/* What the counters of a device showed in an interval. */
struct ss_device_sample_message {
    struct ss_device_message head;
    uint64_t begin_ns, end_ns;
    uint32_t device;
    uint32_t series; /* bits: which values there are */
    double values[SS_DEVICE_MOST_SERIES];
};

/* --- producer: one thread of the program ------------------------------------------------------ */

struct ss_device_producer {
    struct ss_device_ring_header *header;
    uint8_t *data;
    uint64_t head, tail; /* tail: as last read */
    uint64_t mask;
};

/* `memory`: a page and 1 << bytes_log2 bytes, zeroed. */
void ss_device_producer_init(struct ss_device_producer *producer, void *memory, uint32_t bytes_log2,
                             int32_t pid);
/* Writes `bytes` of the message and, after it, `length` of `text`, padded. Sets head.bytes. false:
 * there is no room now. */
bool ss_device_put(struct ss_device_producer *producer, struct ss_device_message *message,
                   size_t bytes, const void *text, size_t length);
bool ss_device_is_drained(const struct ss_device_producer *producer);

/* --- consumer --------------------------------------------------------------------------------- */

struct ss_device_consumer {
    struct ss_device_ring_header *header;
    const uint8_t *data;
    uint64_t tail, mask, size;
    bool is_broken; /* its content is not a sequence of messages: nothing more is read */
};

/* `bytes` of the file are mapped at `memory`. false: no device ring, or of another version. */
bool ss_device_consumer_open(struct ss_device_consumer *consumer, void *memory, size_t bytes);
/* Copies the next message; `buffer` has SS_DEVICE_MAX_MESSAGE_BYTES and is aligned to 8. 0: none.
 * ss_device_consumer_release gives the room back to the program. */
size_t ss_device_next(struct ss_device_consumer *consumer, void *buffer);
void ss_device_consumer_release(struct ss_device_consumer *consumer);

#endif
