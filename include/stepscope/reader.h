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
 * Opening reads the whole file once and keeps what the samples refer to: processes, threads,
 * frames, stacks, counts. The samples stay in the file and are handed out one by one, so that
 * memory does not grow with the length of a recording.
 *
 * Things are named by refs, from 1 to their count; 0 means "none". Strings are UTF-8 where the
 * recorded program had UTF-8, else bytes as they were; NUL-terminated; never NULL. Structs and
 * strings belong to the reader and live until it is closed. Later versions may append members to
 * the structs, so do not copy them by size across library versions. Times are CLOCK_MONOTONIC of
 * the recorded machine in nanoseconds.
 *
 * A reader is used by one thread at a time; different readers do not know of each other. Input is
 * taken as hostile: a damaged file costs an error or is read as far as it goes (see the summary).
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
    STEPSCOPE_E_DATA = 3,   /* no recording, or nothing of it can be read */
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
    uint64_t lost_bytes;        /* of the file, because of damage or a cut end */
    uint64_t lost_samples;      /* in readable parts, but what they refer to was lost */
    int sealed;                 /* the recording ended in order */
} stepscope_summary;

/* A fact of the whole recording, such as "command", "hostname" or "rate_hz". */
typedef struct stepscope_attribute {
    const char *key;
    const char *text; /* the number as digits when it is one */
    int is_integer;
    int64_t integer;
} stepscope_attribute;

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
    const char *label; /* "rank 3", …; may be empty */
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

/* A frame called from the stack `parent_ref` (0: it is the outermost). */
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

/* "0.1.0": of the library that is loaded. */
STEPSCOPE_API const char *stepscope_reader_version(void);

/* `error` may be NULL. *reader is NULL after a failure. A cut or damaged file of which something
 * can be read is no failure: see stepscope_reader_summary. */
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

/* By position, from 0; NULL beyond the last. */
STEPSCOPE_API const stepscope_attribute *stepscope_reader_attribute(const stepscope_reader *reader,
                                                                    size_t index);
STEPSCOPE_API const stepscope_counts *stepscope_reader_counts(const stepscope_reader *reader,
                                                              size_t index);
/* The text of an attribute, NULL when the recording has none of that key. */
STEPSCOPE_API const char *stepscope_reader_find_attribute(const stepscope_reader *reader,
                                                          const char *key);

/* Hands each sample to `visit`, in the order of the file (by time within a second); a value other
 * than 0 ends it. Returns STEPSCOPE_OK also then. Samples whose thread or stack was lost are left
 * out. */
typedef int (*stepscope_sample_visit)(void *context, const stepscope_sample *sample);
STEPSCOPE_API stepscope_status stepscope_reader_each_sample(const stepscope_reader *reader,
                                                            stepscope_sample_visit visit,
                                                            void *context, stepscope_error *error);

#ifdef __cplusplus
}
#endif

#endif
