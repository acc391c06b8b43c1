/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the model behind the ids in a file of Chrome's trace format: processes, threads,
 * devices, streams and names, each added when an event needs it. In the files of PyTorch, device
 * work has the number of its device in place of a process: it belongs to the process that the file
 * is about. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_CHROME_CHROME_ROWS_H
#define SS_MODEL_CHROME_CHROME_ROWS_H

#include "model/builder/builder.h"
#include "model/files/chrome_event.h"

/* What an event is, by its category. */
enum ss_chrome_kind {
    SS_CHROME_OTHER,
    SS_CHROME_OPERATOR,
    SS_CHROME_ANNOTATION, /* record_function of the program, also of its libraries */
    SS_CHROME_PYTHON,     /* calls of Python functions and modules */
    SS_CHROME_API,        /* calls of a device's runtime or driver */
    SS_CHROME_KERNEL,
    SS_CHROME_COPY,
    SS_CHROME_MEMSET,
    SS_CHROME_DEVICE_ANNOTATION, /* an annotation, drawn around the work that it launched */
    SS_CHROME_DEVICE_SYNC,
    SS_CHROME_OVERHEAD, /* of the profiler itself */
    SS_CHROME_SPAN,     /* of the whole profile */
    SS_CHROME_KINDS
};

/* The tracks of a thread. */
enum ss_chrome_track {
    SS_CHROME_OWN_TRACK,    /* categories of other programs */
    SS_CHROME_TORCH_TRACK,  /* operators, annotations, calls of the device's runtime */
    SS_CHROME_PYTHON_TRACK, /* calls of functions */
    SS_CHROME_MODULE_TRACK,
    SS_CHROME_MEMORY_TRACK,
    SS_CHROME_STEP_TRACK,
    SS_CHROME_TRACKS
};

struct ss_chrome_process {
    uint32_t row; /* of the model; 0: no event of its own yet */
    int64_t pid;  /* -1: unknown */
    char *name, *labels;
    bool is_device;       /* its events are a device's */
    bool is_named_device; /* by its name */
};

/* A step that XProf marked, until the next mark ends it. */
struct ss_chrome_marked_step {
    uint64_t begin_ns, end_ns; /* of the mark */
    int64_t number;
    uint64_t marks; /* of the loop so far */
};

struct ss_chrome_thread {
    uint32_t process; /* index into processes */
    uint32_t row;     /* of the model; 0: no event yet */
    int64_t tid;
    bool is_named; /* its id is a text: the number is none that the file has */
    char *name;
    uint64_t ranges;
    bool has_steps;
    uint32_t step_text; /* in texts: the name of the marks of its steps; 0: none yet */
    struct ss_chrome_marked_step marked;
    uint32_t tracks[SS_CHROME_TRACKS];      /* 0: not used yet */
    struct ss_vec_of(uint32_t) open_tracks; /* of ranges that have begun, the innermost last */
};

struct ss_chrome_device {
    int64_t number;
    uint32_t row, group_track; /* 0: no work yet */
    char *model;
    uint64_t memory_bytes;
};

struct ss_chrome_stream {
    uint32_t device; /* index into devices */
    uint32_t row, track, annotation_track;
};

/* A communication group. */
struct ss_chrome_group {
    uint32_t text; /* in texts */
    uint32_t row;
};

struct ss_chrome_names ss_vec_of(uint32_t);

struct ss_chrome_rows {
    struct ss_model_builder *builder;
    struct ss_intern keys;             /* of all tables below: a kind, and ids */
    struct ss_vec_of(uint32_t) by_key; /* index into the table of the key's kind, plus one */
    struct ss_vec_of(struct ss_chrome_process) processes;
    struct ss_vec_of(struct ss_chrome_thread) threads;
    struct ss_vec_of(struct ss_chrome_device) devices;
    struct ss_vec_of(struct ss_chrome_stream) streams;
    struct ss_vec_of(struct ss_chrome_group) groups;
    int64_t rank, world_size;        /* of the owner; -1: unknown */
    uint32_t owner;                  /* index of the process that the file is about, plus one */
    struct ss_intern categories;     /* as written */
    struct ss_vec_of(uint8_t) kinds; /* by category: enum ss_chrome_kind + 1 */
    struct ss_intern texts;          /* names, as written */
    struct ss_chrome_names names[SS_CHROME_KINDS]; /* by text: the name's row */
    bool is_ours;                                  /* an export of ours */
    bool is_xprof;                                 /* of JAX or TensorFlow */
    struct ss_strbuf text;                         /* of the name that is being read */
    struct ss_strbuf stack;                        /* of the arguments that are being read */
    uint32_t overhead_track;                       /* 0: not used yet */
};

void ss_chrome_rows_init(struct ss_chrome_rows *rows, struct ss_model_builder *builder);
void ss_chrome_rows_fini(struct ss_chrome_rows *rows);
/* What is known only at the end: main threads, names of processes and devices, and the rank of the
 * process that the file is about (-1: unknown). */
void ss_chrome_rows_finish(struct ss_chrome_rows *rows, int64_t rank, int64_t world_size);

enum ss_chrome_kind ss_chrome_kind_of(struct ss_chrome_rows *rows, struct ss_json_text category);
static inline bool ss_chrome_is_device_work(enum ss_chrome_kind kind)
{
    return kind == SS_CHROME_KERNEL || kind == SS_CHROME_COPY || kind == SS_CHROME_MEMSET ||
           kind == SS_CHROME_DEVICE_ANNOTATION || kind == SS_CHROME_DEVICE_SYNC;
}

/* Indices into the tables; valid until fini. */
uint32_t ss_chrome_process(struct ss_chrome_rows *rows, const struct ss_chrome_id *pid);
uint32_t ss_chrome_thread(struct ss_chrome_rows *rows, const struct ss_chrome_id *pid,
                          const struct ss_chrome_id *tid);
/* What has this tid lies beside other ranges of thread `of`: it is the same thread. */
void ss_chrome_lane(struct ss_chrome_rows *rows, const struct ss_chrome_id *pid,
                    const struct ss_chrome_id *tid, const struct ss_chrome_id *of);
uint32_t ss_chrome_device(struct ss_chrome_rows *rows, int64_t number);
uint32_t ss_chrome_stream(struct ss_chrome_rows *rows, int64_t device, int64_t number);

/* Rows of the model. */
uint32_t ss_chrome_process_row(struct ss_chrome_rows *rows, uint32_t process);
/* The process of the file: the one of its first event on a thread. */
uint32_t ss_chrome_owner_row(struct ss_chrome_rows *rows);
uint32_t ss_chrome_device_row(struct ss_chrome_rows *rows, uint32_t device);
uint32_t ss_chrome_context_row(struct ss_chrome_rows *rows, uint32_t device, int64_t number);
/* Groups by name: the properties of a file define them, events of other files only name them. */
void ss_chrome_define_group(struct ss_chrome_rows *rows, const struct ss_trace_group *group);
uint32_t ss_chrome_group(struct ss_chrome_rows *rows, struct ss_strview name);
uint32_t ss_chrome_thread_track(struct ss_chrome_rows *rows, uint32_t thread,
                                enum ss_chrome_track kind);
/* Of the process that the file is about: what the profiler itself did. */
uint32_t ss_chrome_overhead_track(struct ss_chrome_rows *rows);
uint32_t ss_chrome_stream_track(struct ss_chrome_rows *rows, uint32_t stream,
                                bool is_of_annotations);
/* Of the process of the thread; `name` of the series. */
uint32_t ss_chrome_counter_track(struct ss_chrome_rows *rows, uint32_t process,
                                 struct ss_json_text name, struct ss_json_text series);
/* The name of an event of this kind. */
uint32_t ss_chrome_name(struct ss_chrome_rows *rows, enum ss_chrome_kind kind,
                        struct ss_json_text name, struct ss_json_text category);
/* The text with its escapes resolved; valid until the next call. */
struct ss_strview ss_chrome_unescaped(struct ss_chrome_rows *rows, struct ss_json_text text);

#endif
