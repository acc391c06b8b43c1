/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_recorded_process. Private to the implementation of recorded_process.h:
 * recorded_process.c (its life), recorded_process_threads.c (its threads and their samples). */
#ifndef SS_RECORD_PROCESSES_RECORDED_PROCESS_INSIDE_H
#define SS_RECORD_PROCESSES_RECORDED_PROCESS_INSIDE_H

#include "base/vec.h"
#include "record/processes/recorded_process.h"
#include "record/processes/torch_reach.h"

/* The position of a thread in the program's annotations. */
struct ss_sample_label {
    int64_t step;
    uint32_t window, phase_name, range_name;
};

/* A sample that is written once its frames are confirmed. */
struct ss_held_sample {
    struct ss_route route;
    struct ss_trace_sample record;
    uint32_t thread; /* id of the sampler */
    size_t first;    /* of its frames in held_frames */
    uint32_t depth;
};

struct ss_sampled_thread {
    uint32_t ref;
    uint32_t held_round;               /* in which its last stack is in held_frames… */
    size_t held_first;                 /* …from here on */
    struct ss_sample_label label;      /* at the last sample */
    uint32_t stack_ref;                /* of the last sample */
    bool truncated;                    /* the stack table was full */
    struct ss_vec_of(uint32_t) frames; /* of the last sample: sampler ids… */
    struct ss_vec_of(uint32_t) nodes;  /* …and their stack refs */
};

/* A thread that is defined in the trace, by the sampler or by its annotations. */
struct ss_known_thread {
    int32_t tid;
    uint32_t ref;
    bool is_sampled;
    bool is_named; /* by the program itself */
};

struct ss_recorded_process {
    struct ss_record_context *context;
    uint32_t ref, parent_ref;
    pid_t pid;
    bool is_written;
    bool seen;
    bool classified; /* known to be Python, not Python, or unreadable */
    uint64_t first_seen_ns, image_since_ns, next_try_ns, retry_ns;
    struct ss_python_sampler *sampler;
    struct ss_vec_of(uint32_t) frame_refs;              /* by frame id of the sampler */
    struct ss_vec_of(struct ss_sampled_thread) threads; /* by thread id of the sampler */
    struct ss_vec_of(struct ss_known_thread) tids;
    struct ss_vec_of(struct ss_held_sample) held;
    struct ss_vec_of(uint32_t) held_frames; /* ids of the sampler */
    uint32_t held_round;                    /* rises with each confirmation, from 1 */
    bool was_code_replaced;                 /* at the last confirmation */
    uint64_t next_confirm_ns;
    struct ss_record_client *annotated;
    bool is_in_window;             /* at the last tick… */
    uint32_t window;               /* …its own; 0: none */
    struct ss_sampler_counts base; /* of samplers before an exec */
    struct ss_torch_reach torch;
    struct ss_error error;
};

/* --- recorded_process_threads.c --------------------------------------------------------------- */

/* Where the sampler of the process writes. */
struct ss_sampler_sink ss_recorded_process_sink(struct ss_recorded_process *process);
/* Writes the samples that are held: a frame whose code object has been replaced since its sample is
 * unknown. */
void ss_recorded_process_confirm(struct ss_recorded_process *process);
/* The same if it is due. */
void ss_recorded_process_confirm_when_due(struct ss_recorded_process *process, uint64_t now_ns);
/* A schedule is active, and the process is outside its windows. */
bool ss_recorded_process_is_outside_windows(const struct ss_recorded_process *process,
                                            uint64_t now_ns);

#endif
