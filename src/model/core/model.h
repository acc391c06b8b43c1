/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model: typed columns built from one or more inputs (native traces, py-spy raw files), the
 * only thing that analyses and exports see. Tables are struct-of-arrays or arrays of small structs
 * indexed by dense u32 ids; id 0 of every table is a reserved "none" row. Strings are ids of
 * `strings`. Built by one thread, immutable afterwards, then readable by any number of threads.
 */
#ifndef SS_MODEL_CORE_MODEL_H
#define SS_MODEL_CORE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"
#include "model/core/clock_fit.h"
#include "model/core/origin.h"
#include "model/core/owner.h"
#include "model/core/part_workers.h"
#include "trace/event_fields.h"
#include "trace/rank_runs.h"
#include "trace/reader.h"
#include "trace/records.h"

/* A process in the traces of two windows is one row, and so are its threads and tracks. Its
 * identity is boot id, pid namespace, pid and start time. */
struct ss_model_process {
    uint32_t input; /* index into inputs: the first that defines it */
    uint32_t parent;
    int32_t pid; /* -1: unknown (a raw file without process labels) */
    int32_t parent_pid;
    uint64_t start_time_ticks;
    uint64_t first_seen_ns;
    uint32_t name, cmdline, runtime, executable, label; /* strings */
    uint32_t host;                                      /* 0: the only one of its input */
    uint32_t rank, local_rank, node;
    uint32_t world_size; /* 0: unknown */
    enum ss_process_role role;
    bool has_rank, has_local_rank, has_node;
    bool has_exit_status;
    int32_t exit_status; /* as waitpid returns it */
};

struct ss_model_thread {
    uint32_t process;
    int64_t tid; /* -1: unknown */
    uint32_t name;
    bool is_main;
};

struct ss_model_frame {
    uint32_t function;   /* qualified name: what py-spy shows from CPython 3.11 on */
    uint32_t name;       /* plain name: what py-spy before 0.4 shows */
    uint32_t file;       /* full path as recorded */
    uint32_t short_file; /* path inside its package, as py-spy shows it */
    int32_t line;        /* -1: unknown */
    int32_t first_line;  /* -1: unknown */
    enum ss_frame_kind kind;
    enum ss_code_origin origin;
    enum ss_code_owner owner; /* set by ss_model_frame_id */
};

/* Node of the call tree of all inputs; parent 0 is the root (no frame). parent < own id. */
struct ss_model_stack {
    uint32_t parent;
    uint32_t frame;
    uint32_t depth; /* 1 for an outermost frame */
};

/* The step of its process that a sample fell into. The first step is separate: it does work that no
 * later step does. A step without a recorded end is not a step: what follows the last update of a
 * training (a final test, the interpreter's exit) is not training. */
enum ss_sample_step { SS_SAMPLE_NO_STEP, SS_SAMPLE_FIRST_STEP, SS_SAMPLE_LATER_STEP };

/* Whether the thread was inside an operator of PyTorch, or in Python's garbage collector. Unknown
 * where the sample's step has no recorded operators on that thread. A later value overrides an
 * earlier one. */
enum ss_sample_operator {
    SS_OPERATOR_UNKNOWN,
    SS_OPERATOR_OUTSIDE,
    SS_OPERATOR_INSIDE,
    SS_OPERATOR_COLLECTOR
};

/* Totals by (thread, stack, range, phase, step, in_operator, in_pass, state, gil, wait,
 * partial): all that tables and flame graphs need. */
struct ss_model_total {
    uint32_t thread;
    uint32_t stack;
    uint32_t range;      /* path of the enclosing ranges; 0 without sample_ranges */
    uint32_t phase;      /* string: of the step, as sampled; 0: none, or no sample_phases */
    uint8_t step;        /* enum ss_sample_step; with sample_phases */
    uint8_t in_operator; /* enum ss_sample_operator; of main threads, with sample_phases */
    /* In no phase, between forward, backward and optimizer: where losses are computed and gradients
     * clipped; set as in_operator. */
    bool in_pass;
    uint8_t state; /* enum ss_thread_state */
    uint8_t gil;   /* enum ss_gil_state */
    uint8_t wait;  /* enum ss_wait_kind; with sample_phases */
    bool partial;
    uint64_t samples; /* ticks: the sum of weights */
    uint64_t records; /* stored samples: ticks at which the stack was read */
};

/* One line of a raw file, in file order; only on request (one row per line in reports). */
struct ss_model_line {
    uint32_t thread;
    uint32_t stack;
    uint64_t samples;
};

/* One stored sample, in file order; only on request (exports). */
struct ss_model_sample {
    uint64_t time_ns;
    uint32_t thread;
    uint32_t stack;
    uint32_t weight;
    uint8_t state;
    uint8_t gil;
    bool partial;
};

/* Ticks at which a main thread waited for the GIL in a step after the first, or another thread held
 * it. [begin, end) extends half a period beyond the first and the last tick. */
struct ss_model_gil_span {
    uint64_t begin_ns, end_ns;
    uint32_t thread, stack;
    bool holds; /* else it waits */
};

enum ss_input_kind {
    SS_INPUT_TRACE,
    SS_INPUT_RAW,
    SS_INPUT_IMPORT /* another tool's: what that tool recorded, with times */
};

/* How the monotonic clock of a clock domain is mapped to the common time axis. */
enum ss_clock_mapping {
    SS_CLOCK_UNMAPPED,       /* not at all: a raw file, or a trace without its boot or clock */
    SS_CLOCK_IS_AXIS,        /* the domain of the first trace: its clock is the axis */
    SS_CLOCK_BY_SHARED_WALL, /* another time namespace of the same boot, which shares the wall
                              * clock: within error_ns */
    SS_CLOCK_BY_WALL, /* another machine or boot: within error_ns and the difference of the wall
                       * clocks, which no recording knows */
    SS_CLOCK_FITTED   /* the same, fitted to pings and collectives: within error_ns */
};

/* How the clock of an input was fitted to the axis (model/clock/clock_align.h). */
struct ss_model_alignment {
    bool is_fitted;
    bool is_contradictory; /* no line satisfies the bounds: compare its ranks with no others */
    size_t bounds, segments, first_segment; /* segments of clock_segments */
    size_t ping_bounds;                     /* of the bounds; the others are of collectives */
    int64_t offset_ns; /* of the first segment, beyond the shift of its clock domain */
    double drift;
    uint64_t error_ns; /* the largest; of inputs that needed no fit that of their domain */
};

/* A machine's boot and time namespace: all of its processes share CLOCK_MONOTONIC. Row 0 holds the
 * inputs without a mapping. */
struct ss_model_clock_domain {
    uint32_t boot;           /* string */
    uint64_t time_namespace; /* inode of /proc/self/ns/time; 0: unknown */
    enum ss_clock_mapping mapping;
    int64_t shift_ns;       /* added to its times */
    uint64_t error_ns;      /* of the mapping, by the readings alone */
    int64_t wall_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC, as first read together */
    uint64_t wall_error_ns; /* largest distance of a reading from that, and half its width */
    uint64_t readings;
};

/* The clocks of the recorder's machine, read together. */
struct ss_model_clock_reading {
    uint32_t input;
    struct ss_trace_clock clock; /* as read: not on the axis */
};

static inline int64_t ss_model_wall_offset_ns(const struct ss_model_clock_reading *reading)
{
    return (int64_t)(reading->clock.realtime_ns - reading->clock.monotonic_ns);
}

/* What could not be read of a file. */
struct ss_model_skipped {
    uint64_t events;
    uint64_t first_offset; /* of the first of them, in bytes */
    uint32_t reason;       /* string: of the first */
    bool is_cut;           /* the file ends within its events */
};

struct ss_model_input {
    enum ss_input_kind kind;
    uint32_t path;
    struct ss_trace_summary summary; /* traces */
    uint64_t lines, skipped_lines;   /* raw; blank lines are not counted */
    struct ss_model_skipped skipped; /* imports */
    /* No times: samples are weights only, as in raw files; events have durations, and lie one
     * behind the other. */
    bool is_untimed;
    uint32_t unit;           /* string: what its samples count; 0: ticks */
    uint32_t tool;           /* string: what wrote an import; 0 unknown */
    uint64_t samples;        /* ticks loaded, after filters */
    double rate_hz;          /* requested; 0 unknown */
    uint8_t halvings;        /* operators of 1 in 2^halvings steps were loaded */
    uint32_t clock_domain;   /* index into clock_domains; its times are shifted to the axis */
    uint32_t boot;           /* string; 0 unknown */
    uint64_t time_namespace; /* 0 unknown */
    bool has_clock;
    int64_t wall_offset_ns;      /* of its first reading */
    uint32_t processes, threads; /* that it defines; earlier inputs may define them too */
    uint32_t runtime;            /* string: of the first process with a runtime */
    struct ss_model_alignment alignment;
};

struct ss_model_attribute {
    uint32_t input, key, text;
    bool is_integer;
    int64_t integer;
};

struct ss_model_source {
    uint32_t input, name, reason;
    enum ss_source_status status;
};

/* An accelerator of a host, as its driver describes it; row 0 is "none". */
struct ss_model_device {
    uint32_t input;
    enum ss_device_kind kind;
    int32_t number;                    /* as the driver lists it; -1: unknown */
    uint32_t model, uuid, pci_address; /* strings */
    uint64_t memory_bytes;             /* 0: unknown */
};

/* A machine, as seen from one time namespace; row 0 is "none". */
struct ss_model_host {
    uint32_t boot, name;     /* strings */
    uint64_t time_namespace; /* 0: unknown */
};

/* A context of a process on a device; row 0 is "none". */
struct ss_model_context {
    uint32_t process, device;
    uint64_t number; /* as the driver numbers it */
};

/* A stream or queue of a device; row 0 is "none". */
struct ss_model_stream {
    uint32_t device, context; /* 0: unknown */
    uint64_t number;          /* as the driver numbers it */
    uint32_t name;            /* string */
    int32_t priority;         /* lower numbers go first */
    bool is_default;
};

/* The folder of a run that was loaded. */
struct ss_model_run {
    uint32_t folder, run_id, launcher;
    bool is_of_nodes;         /* a file for each node, with its ranks */
    uint32_t world_size;      /* 0: unknown */
    uint32_t expected;        /* ranks that were to be recorded; 0: unknown */
    uint32_t found;           /* ranks of the world that are in it */
    uint32_t files, left_out; /* recordings; those of an earlier run, which are not loaded */
    uint32_t missing_count;
    uint32_t missing; /* text: "3, 7-9" */
};

/* A communication group; row 0 is "none". Its ranks are `run_count` rows of rank_runs. */
struct ss_model_group {
    enum ss_group_kind kind;
    uint64_t number; /* as the library identifies it */
    uint32_t name;   /* string */
    uint32_t size;   /* number of ranks; 0: unknown */
    uint32_t first_run, run_count;
};

struct ss_model_counts {
    uint32_t input;
    uint32_t source;  /* index into sources */
    uint32_t process; /* 0: the source itself */
    struct ss_trace_counts totals;
};

struct ss_model_note {
    uint32_t input, process, kind, text;
    uint64_t time_ns;
    int64_t value;
};

struct ss_model_track {
    uint32_t input;
    enum ss_track_kind kind;
    uint32_t process, thread; /* 0: none */
    uint32_t device;          /* that it is about; 0: none */
    uint32_t stream;          /* whose work it has; 0: none */
    uint32_t parent;          /* a GROUP track */
    uint32_t name, unit;      /* strings */
    enum ss_counter_kind counter;
    enum ss_quantity quantity; /* of counters: what it measures */
    int32_t rank;
};

/* Names of ranges and marks; row 0 is "none". */
struct ss_model_name {
    uint32_t text, category; /* strings */
    uint32_t colour;         /* 0xAARRGGBB; 0: none */
    uint32_t file, line;     /* of functions: string and first line; 0: not a function */
    enum ss_event_type type; /* kind of its events; NONE: as their track has it */
};

/* A name and the names of its enclosing ranges; path 0 is the root. parent < own id. */
struct ss_model_path {
    uint32_t parent;
    uint32_t name;
    uint32_t depth; /* 1 for an outermost range */
};

enum ss_model_range_flag {
    /* As in struct ss_trace_event; a start without an end ends with the recording. */
    SS_RANGE_END_UNSEEN = SS_EVENT_END_UNSEEN,
    SS_RANGE_BEGIN_UNSEEN = SS_EVENT_BEGIN_UNSEEN,
    SS_RANGE_OUTSIDE = 128 /* began outside the requested time range */
};

/* Ranges of one track and lane are contiguous, sorted by begin, outer before inner. */
struct ss_model_range {
    uint64_t begin_ns, end_ns; /* begin ≤ end */
    uint32_t track;
    uint32_t path;    /* within its track */
    uint32_t payload; /* index into payloads; 0: none */
    uint16_t lane;    /* of an ASYNC track, from 1 */
    uint8_t flags;    /* enum ss_model_range_flag */
};

struct ss_model_mark {
    uint64_t time_ns;
    uint32_t track, name, payload;
};

/* A point where an arrow leaves or arrives. The points of one id, by time, are its path. */
struct ss_model_flow {
    uint64_t id, time_ns;
    uint32_t track;
    uint16_t lane;
    bool is_end;
    bool is_of_run; /* one id in all inputs: a send and its receive; else ids are an input's own */
};

/* What an event carries: one value, and typed fields. */
struct ss_model_payload {
    enum ss_value_type type;
    uint32_t first_field; /* row of fields; the next with field 0 ends them; 0: none */
    union {
        int64_t integer;
        uint64_t natural;
        double real;
        uint32_t text; /* string */
    };
};

/* A typed field of an event (trace/event_fields.h). */
struct ss_model_field {
    uint16_t field; /* enum ss_event_field_id; 0: end of the event's fields */
    uint8_t type;   /* enum ss_value_type */
    union {
        int64_t integer;
        uint64_t natural; /* of refs: row of the entity's table */
        double real;
        uint32_t text; /* string */
    };
};

/* What a hardware counter measures; row 0 is "none". */
struct ss_model_metric_kind {
    uint32_t name, unit; /* strings */
    uint32_t section;    /* string: names are unique within it and a unit; 0: none */
};

/* A counter's value for one event: the one with this payload. The rows of an event are contiguous,
 * in the order of their source. */
struct ss_model_metric {
    uint32_t payload;
    uint32_t kind; /* index into metric_kinds */
    bool is_text;
    union {
        double real;
        uint32_t text; /* string */
    };
};

/* Sorted by track, then by time. */
struct ss_model_value {
    uint64_t time_ns;
    uint32_t track;
    bool is_integer;
    union {
        int64_t integer;
        double real;
    };
};

/* Line times of one process: each (function, line) once, in order of first appearance. */
struct ss_model_line_time {
    uint32_t process;
    uint32_t name; /* the function: index into names */
    uint32_t line;
    uint64_t hits;
    uint64_t total_ns;
};

static inline double ss_model_real(const struct ss_model_value *value)
{
    return value->is_integer ? (double)value->integer : value->real;
}

/* What the samples of totals count. */
enum ss_total_weight {
    SS_WEIGHT_SAMPLES,
    SS_WEIGHT_DEVICE_NS /* time on devices, by what launched it (analysis/kernels/device_stacks.h)
                         */
};

struct ss_model {
    struct ss_intern strings;
    struct ss_vec_of(struct ss_model_input) inputs;
    struct ss_vec_of(struct ss_clock_segment) clock_segments;     /* of fitted inputs */
    struct ss_vec_of(struct ss_model_clock_domain) clock_domains; /* row 0 is "unmapped" */
    struct ss_vec_of(struct ss_model_clock_reading) clock_readings;
    struct ss_vec_of(struct ss_model_process) processes;
    struct ss_vec_of(struct ss_model_thread) threads;
    struct ss_vec_of(struct ss_model_frame) frames;
    struct ss_vec_of(struct ss_model_stack) stacks;
    struct ss_vec_of(struct ss_model_total) totals; /* in order of first appearance */
    enum ss_total_weight weight;
    struct ss_vec_of(struct ss_model_line) lines;
    struct ss_vec_of(struct ss_model_sample) samples;
    /* With sample_phases; in file order, the first 2^20. */
    struct ss_vec_of(struct ss_model_gil_span) gil_spans;
    struct ss_vec_of(struct ss_model_attribute) attributes;
    struct ss_vec_of(struct ss_model_source) sources;
    struct ss_vec_of(struct ss_model_device) devices; /* row 0 is "none", also in the next four */
    struct ss_vec_of(struct ss_model_host) hosts;
    struct ss_vec_of(struct ss_model_context) contexts;
    struct ss_vec_of(struct ss_model_stream) streams;
    struct ss_vec_of(struct ss_model_group) groups;
    struct ss_vec_of(struct ss_rank_run) rank_runs; /* of groups */
    struct ss_vec_of(struct ss_model_counts) counts;
    struct ss_vec_of(struct ss_model_note) notes;
    struct ss_vec_of(struct ss_model_track) tracks; /* row 0 is "none", also in the next two */
    struct ss_vec_of(struct ss_model_name) names;
    struct ss_vec_of(struct ss_model_path) paths;
    struct ss_vec_of(struct ss_model_range) ranges;
    struct ss_vec_of(struct ss_model_mark) marks;
    struct ss_vec_of(struct ss_model_flow) flows;
    struct ss_vec_of(struct ss_model_payload) payloads;
    struct ss_vec_of(struct ss_model_field) fields;             /* of payloads */
    struct ss_vec_of(struct ss_model_metric_kind) metric_kinds; /* row 0 is "none" */
    struct ss_vec_of(struct ss_model_metric) metrics;           /* sorted by payload */
    struct ss_vec_of(struct ss_model_value) values;
    struct ss_vec_of(struct ss_model_line_time) line_times;
    uint64_t unmatched_ends; /* ends without an open range: dropped */
    uint64_t open_ranges;    /* begins without an end */
    /* Events whose counters were measured where the self-test had not passed: not in `metrics`. */
    uint64_t untested_metrics;
    /* Ticks that the load filter excluded (see struct ss_model_load). */
    uint64_t filtered_samples;
    struct ss_vec_of(struct ss_model_run) runs;
    uint32_t skipped_files;       /* of folders: neither a trace nor a raw file */
    struct ss_model_index *index; /* lookup tables while building; private to model/ */
};

/* Selects what to load. Zero loads everything. Times are ns since the first sample of the
 * inputs. */
struct ss_model_load {
    size_t size;
    bool keep_samples; /* fill model.samples */
    bool keep_lines;   /* fill model.lines */
    bool no_tracks;    /* load no tracks: tables of samples do not need them */
    /* Of the tracks, load only steps, phases and work of devices, and the ranges and values of
     * tracks with these names; ends with NULL. NULL: all. And of counters that measure one of these
     * quantities: a bit 1 << SS_QUANTITY_… for each. */
    const char *const *only_tracks;
    unsigned only_quantities;
    bool sample_phases; /* the phase and step of each sample, in totals */
    bool sample_ranges; /* the enclosing ranges of each sample, in totals */
    bool strict;        /* an unreadable raw line, or file in a folder, is an error */
    /* Load only the time of steps with these numbers, in any process of the trace; excludes a time
     * range. */
    bool has_steps;
    int64_t first_step, last_step;
    bool has_time_range;
    bool on_axis; /* from_ns and to_ns are times on the axis, not since the first sample */
    uint64_t from_ns, to_ns;
    bool quiet; /* no messages about skipped lines */
    /* With keep_samples: more are SS_E_LIMIT. 0: 2^26, which need about 2 GB. */
    uint64_t max_samples;
    /* Above this number of PyTorch operators, loads those of randomly chosen steps; the counter
     * "operators recorded" is 0 for the others. 0: loads all. */
    uint64_t max_operators;
    /* Of memory for all inputs: more is SS_E_LIMIT. 0: by the size of each file, and what the
     * machine has (machine_bytes; 0: unknown). */
    uint64_t max_memory_bytes, machine_bytes;
    unsigned threads; /* that load several files beside each other; the result is the same. 0: 1 */
    bool loads_aside; /* in a thread even if it is one */
    const struct ss_part_workers *workers; /* other processes that load, too; NULL: none */
    /* Called while a trace is read; may be NULL. With threads, between files and each second, on
     * the caller's thread. */
    void (*progress)(void *context, const char *path, uint64_t done_bytes, uint64_t all_bytes);
    void *progress_context;
};

void ss_model_init(struct ss_model *model);
void ss_model_fini(struct ss_model *model);
/* `path` is a trace, a raw file, the folder of a run, or a folder of files (not recursive; no
 * hidden files; sorted by name, numbers by value); the content decides. May be called several
 * times; inputs share a process only by its identity. Unreadable lines of a raw file are reported
 * on stderr and counted; a file without readable content is SS_E_FORMAT. Raw files have no times: a
 * time range fails. */
enum ss_status ss_model_add_input(struct ss_model *model, const char *path,
                                  const struct ss_model_load *load, struct ss_error *err);
/* Loads several inputs, their traces on one time axis (enum ss_clock_mapping): from_ns and to_ns
 * count from the first sample of all, and the requested steps span from their first start to their
 * last end in any file. */
enum ss_status ss_model_add_inputs(struct ss_model *model, const char *const *paths, size_t count,
                                   const struct ss_model_load *load, struct ss_error *err);
/* As ss_model_add_input, for a raw file in memory (tests, fuzzing); `name` is its name in
 * messages. */
enum ss_status ss_model_add_raw_memory(struct ss_model *model, const char *name, const void *bytes,
                                       size_t length, const struct ss_model_load *load,
                                       struct ss_error *err);

/* Building blocks for importers and tests. New rows; return their ids. */
uint32_t ss_model_new_input(struct ss_model *model, enum ss_input_kind kind, const char *path);
uint32_t ss_model_add_process(struct ss_model *model, uint32_t input, int32_t pid, uint32_t parent);
uint32_t ss_model_add_thread(struct ss_model *model, uint32_t process, int64_t tid);
/* Ids of equal content are shared. */
uint32_t ss_model_frame_id(struct ss_model *model, const struct ss_model_frame *frame);
uint32_t ss_model_stack_id(struct ss_model *model, uint32_t parent, uint32_t frame);
uint32_t ss_model_path_id(struct ss_model *model, uint32_t parent, uint32_t name);
void ss_model_add_total(struct ss_model *model, const struct ss_model_total *total);
/* Removes all samples: totals, lines and stored ones. What counts in their place is added next. */
void ss_model_clear_samples(struct ss_model *model, enum ss_total_weight weight);

/* The field (enum ss_event_field_id) of an event with this payload; NULL: it has none. */
const struct ss_model_field *ss_model_field_of(const struct ss_model *model, uint32_t payload,
                                               uint32_t field);
/* "bytes", "grid_x", … */
const char *ss_model_field_name(uint32_t field);
/* "kernel", "copy", …; NULL for NONE. */
const char *ss_model_event_type_name(enum ss_event_type type);
/* True when any input has ranges, marks or counters, loaded or not. */
bool ss_model_has_events(const struct ss_model *model);
/* Whether the times of the input lie on the common axis. */
static inline bool ss_model_is_on_axis(const struct ss_model *model, uint32_t input)
{
    return model->clock_domains.data[model->inputs.data[input].clock_domain].mapping !=
           SS_CLOCK_UNMAPPED;
}
static inline const char *ss_model_text(const struct ss_model *model, uint32_t string)
{
    return ss_intern_text(&model->strings, string);
}

#endif
