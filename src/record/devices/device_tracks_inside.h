/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_device_tracks. Private to the implementation of device_tracks.h:
 * device_tracks.c (life, names, entities), device_tracks_work.c (work on streams),
 * device_tracks_calls.c (calls, and their launches), device_tracks_waits.c, device_tracks_memory.c,
 * device_tracks_compilations.c (also ids of the program), device_tracks_metrics.c,
 * device_tracks_samples.c,
 * device_tracks_stacks.c. */
#ifndef SS_RECORD_DEVICES_DEVICE_TRACKS_INSIDE_H
#define SS_RECORD_DEVICES_DEVICE_TRACKS_INSIDE_H

#include <uthash.h>

#include "base/vec.h"
#include "record/devices/device_tracks.h"
#include "trace/event_fields.h"

struct ss_device_name {
    uint32_t text;                     /* of context->names.texts */
    uint32_t kernel;                   /* name of the trace; 0: not defined yet */
    uint32_t calls[SS_DEVICE_DOMAINS]; /* by domain */
    enum ss_event_type type;           /* of calls */
};

/* A frame of Python. */
struct ss_device_frame {
    uint32_t file, function; /* texts of the ring */
    int32_t line;            /* 0: unknown */
};
struct ss_device_stack {
    uint32_t outer, frame;
    uint32_t text; /* as a field of the trace has it; of context->names.texts. 0: not needed yet */
};

struct ss_device_unit {
    uint32_t number, ref, group_ref;
};

struct ss_device_context {
    uint32_t number, device, null_stream, ref;
};

/* Operations of a stream may overlap: nodes of graphs, and by the error of the clock. */
struct ss_device_lane {
    uint32_t track_ref;
    uint64_t end_ns;
};

struct ss_device_stream {
    uint32_t device, context, number, ref;
    struct ss_vec_of(struct ss_device_lane) lanes;
};

struct ss_device_waits {
    uint32_t device;
    struct ss_device_lane lane;
};

struct ss_device_thread {
    uint32_t tid, track_ref;
};

/* What a launch of NCCL does: of several collectives the first, and the bytes of all. */
struct ss_device_collective {
    struct ss_device_collective_message first;
    uint32_t count;
    int64_t bytes; /* -1: unknown */
};

/* A node of a graph, and the stack that made it. */
struct ss_device_node {
    uint64_t node;
    uint32_t stack;
    UT_hash_handle hh;
};

/* Memory of a device that the process holds. */
struct ss_device_memory {
    uint32_t device, track_ref, counter_ref;
    uint64_t held_bytes;
};

/* What was allocated and not given back. */
struct ss_device_block {
    uint64_t address, bytes;
    uint32_t device;
    bool is_held; /* of the device's memory, not the host's */
    UT_hash_handle hh;
};

/* Counters of a device over time. */
struct ss_device_samples {
    uint32_t device;
    char uuid[48];  /* "": unknown */
    uint32_t known; /* bits: series that have a value */
    uint64_t end_ns;
    uint32_t tracks[SS_DEVICE_MOST_SERIES];
    double last[SS_DEVICE_MOST_SERIES];
};

/* The id that the program gave what a call does. */
struct ss_device_external {
    uint32_t correlation;
    uint64_t id;
    UT_hash_handle hh;
};

/* What is known of a launch or a call. */
struct ss_device_pending {
    uint32_t correlation;
    bool has_launch, has_call, has_work, is_written;
    uint64_t since_ns;
    struct ss_device_collective *collective; /* NULL: it is not a launch of NCCL */
    struct ss_device_launch_message launch;
    UT_hash_handle hh;
};

/* A range whose step may still stand out; its fields are in held_fields. */
struct ss_device_held {
    uint64_t at_ns, begin_ns, end_ns;
    uint32_t track_ref, name_ref;
    uint32_t field_count;
    size_t first_field;
};

struct ss_device_tracks {
    struct ss_record_context *context;
    struct ss_detail_filter *detail; /* NULL: all is written */
    struct ss_vec_of(struct ss_device_held) held;
    size_t first_held;
    struct ss_vec_of(struct ss_event_value) held_fields;
    struct ss_annotation_tracks *tracks;
    struct ss_recorded_process *process;
    struct ss_device_work_source *source;
    uint64_t now_ns;
    struct ss_device_totals totals;
    struct ss_vec_of(struct ss_device_name) texts;   /* by number */
    struct ss_vec_of(struct ss_device_frame) frames; /* by number */
    struct ss_vec_of(struct ss_device_stack) stacks; /* by number */
    struct ss_vec_of(struct ss_device_unit) devices;
    struct ss_vec_of(struct ss_device_context) contexts;
    struct ss_vec_of(struct ss_device_stream) streams;
    struct ss_vec_of(struct ss_device_thread) threads;
    struct ss_vec_of(struct ss_device_waits) waits;
    struct ss_vec_of(struct ss_device_waits) compilations;
    struct ss_vec_of(struct ss_device_samples) samples;
    struct ss_vec_of(struct ss_device_memory) memories;
    struct ss_vec_of(struct ss_device_memory_message) waiting; /* until all before has arrived */
    struct ss_device_block *blocks;                            /* by address */
    struct ss_device_external *externals;                      /* by correlation */
    struct ss_vec_of(struct ss_device_waits) measured; /* tracks of what counters measured */
    bool is_marked; /* what counters measure here is shown: doctor --gpu has passed */
    bool knows_mark;
    uint32_t recorded_track;           /* of the counter "device work recorded"; 0: none yet */
    struct ss_device_pending *pending; /* in the order of arrival */
    struct ss_device_node *nodes;
    struct ss_device_collective found; /* by ss_device_found_work */
};

/* A time that is not in the future, which nothing recorded is. The program writes on while its ring
 * is drained: the clock is read again for what has happened since. */
uint64_t ss_device_within(struct ss_device_tracks *devices, uint64_t time_ns);

struct ss_device_fields {
    struct ss_event_value values[SS_MAX_EVENT_FIELDS];
    uint32_t count;
};

/* 0 is "unknown", and left out. */
void ss_device_add_number(struct ss_device_fields *fields, uint32_t field, uint64_t number);
void ss_device_add_text(struct ss_device_fields *fields, uint32_t field, struct ss_strview text);
struct ss_strview ss_device_text_of(const struct ss_device_tracks *devices, uint32_t number);
/* The stack as a field of the trace; 0: "". */
struct ss_strview ss_device_stack_of(struct ss_device_tracks *devices, uint32_t number);
void ss_device_on_frame(void *context, const struct ss_device_frame_message *frame);
void ss_device_on_stack(void *context, const struct ss_device_stack_message *stack);
/* Ends follow begins on their track. `at_ns`: decides whose file has it, where each window has one:
 * the start of the launch. */
void ss_device_write_range(struct ss_device_tracks *devices, uint64_t at_ns, uint32_t track_ref,
                           uint32_t name_ref, uint64_t begin_ns, uint64_t end_ns,
                           const struct ss_event_value *fields, uint32_t field_count);
/* "GPU-…", as NVML has it; "" where CUPTI knows none. */
void ss_device_write_uuid(const uint8_t id[16], char *text, size_t size);
const struct ss_device_unit *ss_device_unit_of(struct ss_device_tracks *devices, uint32_t number);
const struct ss_device_context *ss_device_context_of(struct ss_device_tracks *devices,
                                                     uint32_t number, uint32_t device);

/* --- device_tracks_detail.c ------------------------------------------------------------------- */

/* The same, of steps that are recorded in full only. */
void ss_device_write(struct ss_device_tracks *devices, uint64_t at_ns, uint32_t track_ref,
                     uint32_t name_ref, uint64_t begin_ns, uint64_t end_ns,
                     const struct ss_device_fields *fields);
/* Writes or drops what is held of steps that are decided; `all`: at the end. */
void ss_device_release(struct ss_device_tracks *devices, bool all);

/* --- device_tracks_work.c --------------------------------------------------------------------- */

void ss_device_on_work(void *context, const struct ss_device_work_message *work);
/* Writes a kernel with more fields. */
void ss_device_write_kernel(struct ss_device_tracks *devices,
                            const struct ss_device_work_message *work,
                            struct ss_device_fields *fields);
void ss_device_on_node(void *context, const struct ss_device_node_message *node);
void ss_device_free_nodes(struct ss_device_tracks *devices);

/* As CUPTI numbers memories: "Device", "Pinned"; the field's text, or NULL; whether it is the
 * device's own. */
const char *ss_device_memory_shown(uint8_t number);
const char *ss_device_memory_field(uint8_t number);
bool ss_device_memory_is_device(uint8_t number);

/* --- device_tracks_memory.c ------------------------------------------------------------------- */

void ss_device_on_memory(void *context, const struct ss_device_memory_message *message);
void ss_device_on_pool(void *context, const struct ss_device_pool_message *message);
/* Writes what happened until then. */
void ss_device_settle_memory(struct ss_device_tracks *devices, uint64_t until_ns);
void ss_device_free_memory(struct ss_device_tracks *devices);

/* --- device_tracks_compilations.c ------------------------------------------------------------- */

void ss_device_on_compilation(void *context, const struct ss_device_compilation_message *message);
void ss_device_on_external(void *context, const struct ss_device_external_message *message);
/* 0: none. */
uint64_t ss_device_external_of(const struct ss_device_tracks *devices, uint32_t correlation);
void ss_device_free_externals(struct ss_device_tracks *devices);

/* --- device_tracks_samples.c ------------------------------------------------------------------ */

void ss_device_on_sampler(void *context, const struct ss_device_sampler_message *sampler);
void ss_device_on_sample(void *context, const struct ss_device_sample_message *sample);
void ss_device_end_samples(struct ss_device_tracks *devices);

/* --- device_tracks_waits.c -------------------------------------------------------------------- */

void ss_device_on_wait(void *context, const struct ss_device_wait_message *wait);

/* --- device_tracks_metrics.c ------------------------------------------------------------------ */

void ss_device_on_metrics(void *context, const struct ss_device_metrics_message *metrics,
                          const struct ss_device_metric *values);

/* --- device_tracks_calls.c -------------------------------------------------------------------- */

void ss_device_on_call(void *context, const struct ss_device_call_message *call);
void ss_device_on_launch(void *context, const struct ss_device_launch_message *launch);
void ss_device_on_collective(void *context, const struct ss_device_collective_message *collective);
/* Its work has arrived, which begins then. false: no such launch was observed. Sets when it was
 * launched, and what the launch does, if it is one of NCCL: borrowed until the next call. */
bool ss_device_found_work(struct ss_device_tracks *devices, uint32_t correlation, uint64_t begin_ns,
                          uint64_t *launched_ns, const struct ss_device_collective **collective);
/* Whether the work of a launch before then has not arrived. */
bool ss_device_waits_for_work(const struct ss_device_tracks *devices, uint64_t before_ns);
/* The text of the stack at the call that allocates; 0: unknown. */
uint32_t ss_device_found_allocation(struct ss_device_tracks *devices, uint32_t correlation);
/* Writes the launches whose calls do not come, and forgets what is old; `all`: at the end. */
void ss_device_settle(struct ss_device_tracks *devices, bool all);

#endif
