/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstepscope-reader: reads a recording made by stepscope.
 *
 *     stepscope_reader *reader;
 *     stepscope_error error;
 *     if (stepscope_reader_open("run.pftrace", &reader, &error) != STEPSCOPE_OK) …
 *     stepscope_reader_each_sample(reader, visit, context, &error);
 *     stepscope_reader_close(reader);
 *
 * Opening reads the whole file once and keeps the definitions: processes, threads, frames, stacks,
 * counts, tracks, names, hosts, devices, streams, groups. Samples, marks and values of counters
 * stay in the file and are passed to callbacks one by one, so that memory does not grow with the
 * length of a recording.
 *
 * Definitions are identified by refs, from 1 to their count; 0 means "none". Strings are UTF-8
 * where the recorded program had UTF-8, else the recorded bytes; NUL-terminated; never NULL.
 * Structs and strings belong to the reader and live until it is closed. Later versions may append
 * members to the structs, so do not copy them by size across library versions. Times are
 * CLOCK_MONOTONIC of the recorded machine in nanoseconds.
 *
 * A reader is used by one thread at a time; different readers are independent. Input is treated as
 * hostile: a damaged file is an error, or is read as far as possible (see the summary).
 */
#ifndef STEPSCOPE_READER_H
#define STEPSCOPE_READER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STEPSCOPE_API __attribute__((visibility("default")))
#else
#define STEPSCOPE_API
#endif

/* The same classes as the exit codes of the command line. */
typedef enum stepscope_status {
    STEPSCOPE_OK = 0,
    STEPSCOPE_E_USAGE = 2,  /* a wrong argument */
    STEPSCOPE_E_DATA = 3,   /* not a recording, or nothing of it can be read */
    STEPSCOPE_E_SYSTEM = 4, /* file not found, no permission, an I/O error */
    STEPSCOPE_E_BUG = 5
} stepscope_status;

/* One line for people; written only when a function fails. */
typedef struct stepscope_error {
    char message[512];
} stepscope_error;

typedef struct stepscope_reader stepscope_reader;

typedef enum stepscope_thread_state {
    STEPSCOPE_STATE_UNKNOWN = 0,
    STEPSCOPE_STATE_ON_CPU = 1,
    STEPSCOPE_STATE_RUNNABLE = 2, /* waits for a CPU */
    STEPSCOPE_STATE_SLEEPING = 3,
    STEPSCOPE_STATE_UNINTERRUPTIBLE = 4,
    STEPSCOPE_STATE_STOPPED = 5
} stepscope_thread_state;

typedef enum stepscope_gil_state {
    STEPSCOPE_GIL_UNKNOWN = 0,
    STEPSCOPE_GIL_NONE = 1, /* neither holds nor waits for it */
    STEPSCOPE_GIL_HELD = 2,
    STEPSCOPE_GIL_WAITED = 3
} stepscope_gil_state;

typedef struct stepscope_summary {
    uint64_t file_bytes;
    uint64_t samples;           /* records; each stands for one tick or more (weight) */
    uint64_t first_ns, last_ns; /* of the samples; 0 when there are none */
    uint64_t lost_bytes;        /* of the file, because of damage or truncation */
    uint64_t lost_samples;      /* in readable parts, but their definitions were lost */
    int sealed;                 /* the recorder closed the file */
    uint64_t events;            /* begins, ends and instants of tracks */
    uint64_t counter_values;    /* on counter tracks */
    uint64_t lost_events;       /* as lost_samples, counter values among them */
} stepscope_summary;

/* A fact of the whole recording, such as "command", "hostname" or "rate_hz". */
typedef struct stepscope_attribute {
    const char *key;
    const char *text; /* an integer as its digits */
    int is_integer;
    int64_t integer;
} stepscope_attribute;

typedef enum stepscope_process_role {
    STEPSCOPE_ROLE_UNKNOWN = 0,
    STEPSCOPE_ROLE_TRAINS = 1,     /* it marks steps */
    STEPSCOPE_ROLE_LOADS_DATA = 2, /* for another process */
    STEPSCOPE_ROLE_LAUNCHES = 3    /* other processes, such as ranks */
} stepscope_process_role;

typedef struct stepscope_process {
    uint32_t ref;
    uint32_t parent_ref;
    int32_t pid;
    int32_t parent_pid;
    uint64_t pid_namespace;
    uint64_t start_time_ticks;
    uint64_t first_seen_ns;
    const char *name;
    const char *cmdline;
    const char *runtime; /* "CPython 3.11.7", "" when not Python */
    const char *executable;
    const char *label;              /* "rank 3", …; may be empty */
    uint32_t host_ref;              /* 0: the only host of the recording */
    uint32_t world_size;            /* ranks in the world; 0: unknown */
    int64_t rank, local_rank, node; /* in the world, on its node, of its node; -1: unknown */
    stepscope_process_role role;
} stepscope_process;

typedef struct stepscope_thread {
    uint32_t ref;
    uint32_t process_ref;
    int32_t tid;
    int is_main;
    const char *name;
} stepscope_thread;

typedef struct stepscope_frame {
    uint32_t ref;
    int32_t line;       /* 1-based; 0 or less: unknown */
    int32_t first_line; /* of the function; 0: unknown */
    int32_t kind;       /* perfetto.protos.Frame.kind: 1 native, 2 kernel, 3 interpreted, … */
    const char *function;
    const char *name; /* without the classes and functions around it */
    const char *file;
    const char *short_file; /* the path inside its package; a part of `file` */
} stepscope_frame;

/* The frame `frame_ref`, called from the stack `parent_ref` (0: it is the outermost). */
typedef struct stepscope_stack {
    uint32_t ref;
    uint32_t parent_ref;
    uint32_t frame_ref;
} stepscope_stack;

/* Per tick due = done + skipped; per done tick seen = ok + partial + lost + unchanged. */
typedef struct stepscope_counts {
    const char *source;   /* "python", … */
    uint32_t process_ref; /* 0: of the source as a whole */
    uint64_t due, done, skipped, late;
    uint64_t seen, ok, partial, lost, unchanged;
    uint64_t dropped, retries, read_syscalls, processes_short;
} stepscope_counts;

/* `weight` ticks, the last of them at `time_ns`, found the thread with this stack and state. */
typedef struct stepscope_sample {
    uint64_t time_ns;
    uint32_t thread_ref;
    uint32_t stack_ref; /* 0: no frames known */
    uint32_t weight;
    stepscope_thread_state state;
    stepscope_gil_state gil;
    int partial;  /* only the outer part of the stack was verified */
    int64_t step; /* of the training; -1: none */
} stepscope_sample;

/* The version of the loaded library, such as "0.1.0". */
STEPSCOPE_API const char *stepscope_reader_version(void);

/* `error` may be NULL. *reader is NULL after a failure. A truncated or damaged file that can be
 * read in part is not a failure: see stepscope_reader_summary. */
STEPSCOPE_API stepscope_status stepscope_reader_open(const char *path, stepscope_reader **reader,
                                                     stepscope_error *error);
STEPSCOPE_API void stepscope_reader_close(stepscope_reader *reader); /* NULL is fine */

STEPSCOPE_API const stepscope_summary *stepscope_reader_summary(const stepscope_reader *reader);

STEPSCOPE_API uint32_t stepscope_reader_process_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_thread_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_frame_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_stack_count(const stepscope_reader *reader);

/* By ref, from 1 to the count; NULL for 0, for a ref beyond it and for one that was lost. */
STEPSCOPE_API const stepscope_process *stepscope_reader_process(const stepscope_reader *reader,
                                                                uint32_t ref);
STEPSCOPE_API const stepscope_thread *stepscope_reader_thread(const stepscope_reader *reader,
                                                              uint32_t ref);
STEPSCOPE_API const stepscope_frame *stepscope_reader_frame(const stepscope_reader *reader,
                                                            uint32_t ref);
STEPSCOPE_API const stepscope_stack *stepscope_reader_stack(const stepscope_reader *reader,
                                                            uint32_t ref);

/* By index, from 0; NULL beyond the last. */
STEPSCOPE_API const stepscope_attribute *stepscope_reader_attribute(const stepscope_reader *reader,
                                                                    size_t index);
STEPSCOPE_API const stepscope_counts *stepscope_reader_counts(const stepscope_reader *reader,
                                                              size_t index);
/* The text of an attribute; NULL when the recording has no such key. */
STEPSCOPE_API const char *stepscope_reader_find_attribute(const stepscope_reader *reader,
                                                          const char *key);

/* Calls `visit` with each sample, in the order of the file (by time within a second). A result
 * other than 0 ends the iteration, which still returns STEPSCOPE_OK. Samples whose thread or stack
 * was lost are left out. */
typedef int (*stepscope_sample_visit)(void *context, const stepscope_sample *sample);
STEPSCOPE_API stepscope_status stepscope_reader_each_sample(const stepscope_reader *reader,
                                                            stepscope_sample_visit visit,
                                                            void *context, stepscope_error *error);

/* --- tracks: ranges, marks, flows, counters, steps ----------------------------------------------
 */

typedef enum stepscope_track_kind {
    STEPSCOPE_TRACK_RANGES = 0,  /* nested ranges and instants; a thread has one for each domain */
    STEPSCOPE_TRACK_ASYNC = 1,   /* ranges that overlap in any way, separated into lanes */
    STEPSCOPE_TRACK_COUNTER = 2, /* one series of values */
    STEPSCOPE_TRACK_STEPS = 3,   /* numbered ranges: the payload is the number */
    STEPSCOPE_TRACK_PHASES = 4,  /* parts of steps */
    STEPSCOPE_TRACK_GROUP = 5    /* holds other tracks */
} stepscope_track_kind;

/* As stepscope.h calls them: STEPSCOPE_GAUGE, STEPSCOPE_DELTA, STEPSCOPE_CUMULATIVE. */
typedef enum stepscope_counter_kind {
    STEPSCOPE_VALUES_GAUGE = 0,
    STEPSCOPE_VALUES_DELTA = 1, /* visited as running totals */
    STEPSCOPE_VALUES_CUMULATIVE = 2
} stepscope_counter_kind;

typedef struct stepscope_track {
    uint32_t ref;
    stepscope_track_kind kind;
    uint32_t process_ref, thread_ref; /* both 0: the machine's */
    uint32_t parent_ref;              /* a GROUP track; 0: none */
    const char *name;                 /* domain, series, "step", "epoch"; may be empty */
    const char *unit;                 /* of a counter; may be empty */
    stepscope_counter_kind values;    /* of a counter */
    uint32_t device_ref;              /* the device that it is about; 0: none */
    uint32_t stream_ref;              /* the stream whose work it has; 0: none */
} stepscope_track;

/* The name of a range or an instant. */
typedef struct stepscope_event_name {
    uint32_t ref;
    const char *text;
    const char *category; /* may be empty */
    uint32_t colour;      /* 0xAARRGGBB; 0: none */
    const char *type;     /* kind of the events: "kernel", "copy", …; "": as the track has it */
} stepscope_event_name;

typedef enum stepscope_value_type {
    STEPSCOPE_VALUE_NONE = 0,
    STEPSCOPE_VALUE_SIGNED = 1,
    STEPSCOPE_VALUE_UNSIGNED = 2,
    STEPSCOPE_VALUE_REAL = 3,
    STEPSCOPE_VALUE_TEXT = 4
} stepscope_value_type;

typedef struct stepscope_value {
    stepscope_value_type type;
    int64_t signed_value; /* only the member of `type` is set; the others are 0 or "" */
    uint64_t unsigned_value;
    double real;
    const char *text; /* valid until the visit returns */
} stepscope_value;

/* A typed field of an event, such as the bytes of a copy; docs/reference.md lists them. Fields that
 * refer to a device, context, stream or group have its ref. */
typedef struct stepscope_field {
    const char *name;
    const char *unit; /* may be empty */
    stepscope_value value;
} stepscope_field;

/* From its start to its end, on one track; ranges of one track and lane nest. */
typedef struct stepscope_range {
    uint64_t begin_ns, end_ns;
    uint32_t track_ref;
    uint32_t lane;     /* of an ASYNC track, from 1; else 0 */
    uint32_t name_ref; /* 0 on STEPS tracks: the track has the name */
    uint32_t depth;    /* 0: outermost of its track and lane */
    int begin_unseen;  /* it began before the recording did */
    int end_unseen;    /* it ended after the recording: end_ns is the last known time */
    stepscope_value payload;
    const stepscope_field *fields; /* of its start and its end; valid during the call */
    uint32_t field_count;
} stepscope_range;

/* A moment. If it is part of a flow (an arrow) the flow's id is not 0; the points of one id, in
 * order of time, form the arrow. A flow also passes through begins of ranges: those are visited as
 * separate marks, with is_begin. */
typedef struct stepscope_mark {
    uint64_t time_ns;
    uint32_t track_ref;
    uint32_t lane;
    uint32_t name_ref;
    int is_begin;
    uint64_t flow_id;
    int flow_ends; /* here */
    stepscope_value payload;
    const stepscope_field *fields; /* valid during the call */
    uint32_t field_count;
} stepscope_mark;

typedef struct stepscope_counter_value {
    uint64_t time_ns;
    uint32_t track_ref;
    int is_integer;
    int64_t integer;
    double real; /* of an integer, the nearest double */
} stepscope_counter_value;

/* An event of the recording: kind "schedule" is the edge of a window ("record from step 12");
 * others are "process-exit", "rate-lowered", "fact"… */
typedef struct stepscope_note {
    uint64_t time_ns;
    uint32_t process_ref; /* 0: of the recording as a whole */
    const char *kind, *text;
    int64_t value;
} stepscope_note;

STEPSCOPE_API uint32_t stepscope_reader_track_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_event_name_count(const stepscope_reader *reader);
/* Like stepscope_reader_process. */
STEPSCOPE_API const stepscope_track *stepscope_reader_track(const stepscope_reader *reader,
                                                            uint32_t ref);
STEPSCOPE_API const stepscope_event_name *
stepscope_reader_event_name(const stepscope_reader *reader, uint32_t ref);

/* Like stepscope_reader_each_sample. Ranges are visited by track and lane, within these in order of
 * their begins, outer before inner; matching begins and ends takes 48 bytes of memory for each of
 * them. The others are visited in the order of the file and take no memory. */
typedef int (*stepscope_range_visit)(void *context, const stepscope_range *range);
typedef int (*stepscope_mark_visit)(void *context, const stepscope_mark *mark);
typedef int (*stepscope_counter_visit)(void *context, const stepscope_counter_value *value);
typedef int (*stepscope_note_visit)(void *context, const stepscope_note *note);
STEPSCOPE_API stepscope_status stepscope_reader_each_range(const stepscope_reader *reader,
                                                           stepscope_range_visit visit,
                                                           void *context, stepscope_error *error);
STEPSCOPE_API stepscope_status stepscope_reader_each_mark(const stepscope_reader *reader,
                                                          stepscope_mark_visit visit, void *context,
                                                          stepscope_error *error);
STEPSCOPE_API stepscope_status stepscope_reader_each_counter_value(const stepscope_reader *reader,
                                                                   stepscope_counter_visit visit,
                                                                   void *context,
                                                                   stepscope_error *error);
STEPSCOPE_API stepscope_status stepscope_reader_each_note(const stepscope_reader *reader,
                                                          stepscope_note_visit visit, void *context,
                                                          stepscope_error *error);

/* --- entities: what other records refer to ------------------------------------------------------
 */

/* A machine, as seen from one time namespace: the owner of a monotonic clock. */
typedef struct stepscope_host {
    uint32_t ref;
    const char *name;
    const char *boot_id;
    uint64_t time_namespace; /* inode; 0: unknown */
} stepscope_host;

typedef enum stepscope_device_kind {
    STEPSCOPE_DEVICE_OTHER = 0,
    STEPSCOPE_DEVICE_GPU = 1
} stepscope_device_kind;

/* An accelerator. Unknown texts are empty. */
typedef struct stepscope_device {
    uint32_t ref;
    stepscope_device_kind kind;
    int64_t number; /* as its driver numbers it, from 0; -1: unknown */
    const char *model;
    const char *uuid;
    const char *pci_address;
    uint64_t memory_bytes; /* 0: unknown */
} stepscope_device;

/* Of a process on a device. */
typedef struct stepscope_context {
    uint32_t ref;
    uint32_t process_ref, device_ref;
    uint64_t number; /* as the driver numbers it */
} stepscope_context;

/* A stream or queue of a device; tracks and events refer to it. */
typedef struct stepscope_stream {
    uint32_t ref;
    uint32_t device_ref, context_ref; /* 0: unknown */
    uint64_t number;                  /* as the driver numbers it */
    const char *name;                 /* as the program named it; may be empty */
    int32_t priority;                 /* lower numbers go first */
    int is_default;                   /* of its context */
} stepscope_stream;

typedef enum stepscope_group_kind {
    STEPSCOPE_GROUP_OTHER = 0,
    STEPSCOPE_GROUP_NCCL = 1,
    STEPSCOPE_GROUP_MPI = 2,
    STEPSCOPE_GROUP_GLOO = 3
} stepscope_group_kind;

/* The ranks first, first + stride, … */
typedef struct stepscope_rank_run {
    uint32_t first, count, stride;
} stepscope_rank_run;

/* A communication group. Its ranks, in their order, are those of the runs. */
typedef struct stepscope_group {
    uint32_t ref;
    stepscope_group_kind kind;
    uint64_t number;  /* as the library identifies it */
    const char *name; /* as the program named it; may be empty */
    uint32_t size;    /* number of its ranks; 0: unknown */
    uint32_t run_count;
    const stepscope_rank_run *runs;
} stepscope_group;

typedef enum stepscope_source_status {
    STEPSCOPE_SOURCE_OFF = 0,
    STEPSCOPE_SOURCE_RAN = 1,
    STEPSCOPE_SOURCE_UNAVAILABLE = 2,
    STEPSCOPE_SOURCE_FAILED = 3
} stepscope_source_status;

/* A source of the recorder. */
typedef struct stepscope_source {
    uint32_t ref;
    stepscope_source_status status;
    const char *name;   /* "python", "host", … */
    const char *reason; /* why it is unavailable, or what it used */
} stepscope_source;

STEPSCOPE_API uint32_t stepscope_reader_host_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_device_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_context_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_stream_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_group_count(const stepscope_reader *reader);
STEPSCOPE_API uint32_t stepscope_reader_source_count(const stepscope_reader *reader);

/* Like stepscope_reader_process. */
STEPSCOPE_API const stepscope_host *stepscope_reader_host(const stepscope_reader *reader,
                                                          uint32_t ref);
STEPSCOPE_API const stepscope_device *stepscope_reader_device(const stepscope_reader *reader,
                                                              uint32_t ref);
STEPSCOPE_API const stepscope_context *stepscope_reader_context(const stepscope_reader *reader,
                                                                uint32_t ref);
STEPSCOPE_API const stepscope_stream *stepscope_reader_stream(const stepscope_reader *reader,
                                                              uint32_t ref);
STEPSCOPE_API const stepscope_group *stepscope_reader_group(const stepscope_reader *reader,
                                                            uint32_t ref);
STEPSCOPE_API const stepscope_source *stepscope_reader_source(const stepscope_reader *reader,
                                                              uint32_t ref);

#ifdef __cplusplus
}
#endif

#endif
