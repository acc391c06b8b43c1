/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a trace: input of the writer, output of the reader. Plain values; strings are
 * borrowed for the duration of the call. Times are CLOCK_MONOTONIC in ns. `ref`s are handles: dense
 * u32 from 1, assigned by the caller when writing and by the reader (per file, never reused) when
 * reading; 0 means "none".
 */
#ifndef SS_TRACE_RECORDS_H
#define SS_TRACE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strview.h"
#include "trace/track_records.h"

enum ss_thread_state {
    SS_STATE_UNKNOWN,
    SS_STATE_ON_CPU,
    SS_STATE_RUNNABLE, /* waits for a CPU */
    SS_STATE_SLEEPING,
    SS_STATE_UNINTERRUPTIBLE, /* disk sleep, 'D' */
    SS_STATE_STOPPED,         /* job control or a debugger */
    SS_STATE_COUNT
};

enum ss_gil_state {
    SS_GIL_UNKNOWN,
    SS_GIL_NONE, /* neither holds nor waits for it; also in free-threaded builds */
    SS_GIL_HELD,
    SS_GIL_WAITED,
    SS_GIL_COUNT
};

/* What a sleeping thread waits for, derived from its system call. */
enum ss_wait_kind {
    SS_WAIT_UNKNOWN,
    SS_WAIT_FUTEX, /* a lock, a condition variable, another thread */
    SS_WAIT_TIMER,
    SS_WAIT_POLL, /* poll, select, epoll: any of several descriptors */
    SS_WAIT_SOCKET,
    SS_WAIT_PIPE, /* or a terminal, or another stream device */
    SS_WAIT_FILE, /* a file, its metadata, or a page that is read from disk */
    SS_WAIT_CHILD,
    SS_WAIT_OTHER, /* another call */
    SS_WAIT_COUNT
};

/* Values of perfetto.protos.Frame.kind. */
enum ss_frame_kind {
    SS_FRAME_UNKNOWN = 0,
    SS_FRAME_NATIVE = 1,
    SS_FRAME_KERNEL = 2,
    SS_FRAME_INTERPRETED = 3,
    SS_FRAME_JIT = 4,
    SS_FRAME_GC = 5
};

enum ss_process_role {
    SS_PROCESS_ROLE_UNKNOWN,
    SS_PROCESS_ROLE_TRAINS,
    SS_PROCESS_ROLE_LOADS_DATA, /* for another process */
    SS_PROCESS_ROLE_LAUNCHES,
    SS_PROCESS_ROLE_COUNT
};

/* Identity of a process: (boot id, pid namespace, pid, start time), never the pid alone. The boot
 * id is an attribute of the file. */
struct ss_trace_process {
    uint32_t ref;
    uint32_t parent_ref; /* 0: not recorded */
    int32_t pid;         /* in the recorder's pid namespace */
    int32_t parent_pid;
    uint64_t pid_namespace;    /* inode of /proc/PID/ns/pid; 0 unknown */
    uint64_t start_time_ticks; /* field 22 of /proc/PID/stat */
    struct ss_strview cmdline; /* argv joined by single spaces */
    struct ss_strview name;    /* short: program or script name */
    struct ss_strview runtime; /* "CPython 3.11.7", "" when not Python */
    struct ss_strview executable;
    struct ss_strview label; /* "rank 3", "DataLoader worker"…; may be empty */
    uint64_t first_seen_ns;
    uint32_t host_ref; /* 0: the only host of the recording */
    uint32_t rank, local_rank, node;
    uint32_t world_size; /* 0: unknown */
    enum ss_process_role role;
    bool has_rank, has_local_rank, has_node;
};

/* Repeated with the same ref when more becomes known later. */
struct ss_trace_thread {
    uint32_t ref;
    uint32_t process_ref;
    int32_t tid;
    bool is_main;
    struct ss_strview name; /* Python's thread name, else the kernel's comm */
};

struct ss_trace_frame {
    uint32_t ref;
    struct ss_strview function; /* qualified name where the runtime has one */
    struct ss_strview name;     /* the plain co_name; equals `function` before 3.11 */
    struct ss_strview file;     /* as in the code object */
    uint32_t short_file_offset; /* file + this = path inside its package, as py-spy shows it */
    int32_t line;               /* 1-based; 0 or less: unknown */
    int32_t first_line;         /* of the function; 0: unknown */
    enum ss_frame_kind kind;
    bool
        is_installed; /* of a package that an installer put beside its metadata, wherever that is */
};

/* A node of the stack tree: `frame_ref` called from `parent_ref` (0: outermost). */
struct ss_trace_stack {
    uint32_t ref;
    uint32_t parent_ref;
    uint32_t frame_ref;
};

/* The stack and state of a thread at `weight` ticks, the last one at `time_ns`. A weight > 1
 * continues an earlier sample of the thread, which has not moved since. */
struct ss_trace_sample {
    uint64_t time_ns;
    uint32_t thread_ref;
    uint32_t stack_ref; /* 0: no frames known */
    uint32_t weight;    /* ≥ 1 */
    enum ss_thread_state state;
    enum ss_gil_state gil;
    enum ss_wait_kind wait;
    bool partial;        /* only the root-side part of the stack was verified */
    uint32_t window;     /* 0: none */
    int64_t step;        /* -1: none */
    uint32_t phase_name; /* refs of struct ss_trace_name; 0: none */
    uint32_t range_name; /* the innermost open range */
};

/* Totals of one sampling source since its start, for one process (or 0: for the source itself).
 * Per tick due = done + skipped; per done tick seen = ok + partial + lost + unchanged; late = done
 * more than half a period after due. `unchanged` threads were not read again because they
 * cannot have moved. */
struct ss_trace_counts {
    uint32_t source_ref;
    uint32_t process_ref;
    uint64_t time_ns;
    uint64_t due, done, skipped, late;
    uint64_t seen, ok, partial, lost, unchanged;
    uint64_t dropped;         /* produced but not stored */
    uint64_t retries;         /* reads repeated because validation failed */
    uint64_t read_syscalls;   /* calls that read the target's memory */
    uint64_t processes_short; /* ended before they could be sampled */
};

enum ss_source_status {
    SS_SOURCE_OFF,
    SS_SOURCE_RAN,
    SS_SOURCE_UNAVAILABLE,
    SS_SOURCE_FAILED,
    SS_SOURCE_STATUS_COUNT
};

struct ss_trace_source {
    uint32_t ref;
    struct ss_strview name; /* "python", "host", … */
    enum ss_source_status status;
    struct ss_strview reason; /* why it is unavailable, or what it used */
};

enum ss_device_kind { SS_DEVICE_OTHER, SS_DEVICE_GPU, SS_DEVICE_KIND_COUNT };

/* An accelerator of the host, as its driver describes it. Tracks refer to it. */
struct ss_trace_device {
    uint32_t ref;
    enum ss_device_kind kind;
    uint32_t number;                            /* as the driver lists it, plus one; 0: unknown */
    struct ss_strview model, uuid, pci_address; /* "": unknown */
    uint64_t memory_bytes;                      /* 0: unknown */
};

/* A machine, as seen from one time namespace: the owner of a monotonic clock. */
struct ss_trace_host {
    uint32_t ref;
    struct ss_strview boot_id;
    uint64_t time_namespace; /* inode of /proc/self/ns/time; 0: unknown */
    struct ss_strview name;
};

struct ss_trace_context {
    uint32_t ref;
    uint32_t process_ref, device_ref;
    uint64_t number; /* as the driver numbers it */
};

/* A stream or queue of a device. Tracks and events refer to it. */
struct ss_trace_stream {
    uint32_t ref;
    uint32_t device_ref, context_ref; /* 0: unknown */
    uint64_t number;                  /* as the driver numbers it */
    struct ss_strview name;           /* as the program named it */
    int32_t priority;                 /* lower numbers go first */
    bool is_default;
};

enum ss_group_kind {
    SS_GROUP_OTHER,
    SS_GROUP_NCCL,
    SS_GROUP_MPI,
    SS_GROUP_GLOO,
    SS_GROUP_KIND_COUNT
};

/* A communication group. */
struct ss_trace_group {
    uint32_t ref;
    enum ss_group_kind kind;
    uint64_t number; /* as the library identifies it */
    struct ss_strview name;
    uint32_t size;           /* number of its ranks; 0: unknown */
    struct ss_strview ranks; /* of the world: runs (trace/rank_runs.h); empty: unknown */
};

/* A property of the whole recording; `text` is used when it is not an integer. Keys: "command",
 * "hostname", "boot_id", "rate_hz", "rank", … (docs/trace-format.md lists them). */
struct ss_trace_attribute {
    struct ss_strview key;
    struct ss_strview text;
    bool is_integer;
    int64_t integer;
};

/* A one-time event: "process-exit", "rate-lowered", "disk-full", … */
struct ss_trace_note {
    uint64_t time_ns;
    uint32_t process_ref; /* 0: the whole recording */
    struct ss_strview kind;
    struct ss_strview text;
    int64_t value; /* of "process-exit": the waitpid status; otherwise free */
};

/* Tracks, events and counter values: trace/track_records.h. */

struct ss_trace_clock {
    uint64_t monotonic_ns, boottime_ns, monotonic_raw_ns, realtime_ns, width_ns;
};

#endif
