/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of the recording: finds out whether it is Python, samples it, and tells the trace
 * writer. Errors of the writer are kept in the shared context and end the recording; trouble with
 * one process never does. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_RECORDED_PROCESS_H
#define SS_RECORD_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/annotations.h"
#include "record/frame_table.h"
#include "record/injection.h"
#include "record/recording.h"
#include "source/python_sampler.h"

/* What all processes of a recording share. */
struct ss_record_context {
    struct ss_recording *recording;
    struct ss_frame_table *frames;
    uint32_t python_source_ref;
    uint32_t next_thread_ref;
    uint64_t forget_after_ns; /* nobody tells anything of a process that ended so long ago */
    uint32_t track_refs;      /* given out so far */
    struct ss_record_annotations *annotations;
    const struct ss_injection *injection; /* what the program is handed; NULL: nothing */
    bool is_sampling;      /* within a tick: samplers must not be asked for anything */
    bool keeps_secrets;    /* of command lines */
    bool follows_schedule; /* samples only in windows, of every process */
    uint64_t samples;      /* written: rows, not ticks */
    struct ss_sampler_counts ended_counts; /* of processes that are gone */
    uint64_t python_processes;
    struct ss_error error; /* the writer's first; SS_OK: none */
};

struct ss_recorded_process;

struct ss_recorded_process *ss_recorded_process_new(struct ss_record_context *context, uint32_t ref,
                                                    uint32_t parent_ref, pid_t pid,
                                                    uint64_t now_ns);
/* Writes what is pending and the counts; frees. */
void ss_recorded_process_free(struct ss_recorded_process *process, uint64_t now_ns);

/* Puts it into the trace if it is not there yet (a parent, before its child). Returns its ref, or
 * its parent's when it is gone already. */
uint32_t ss_recorded_process_tell(struct ss_recorded_process *process);
/* The same for one that is gone: from what is known of it. */
void ss_recorded_process_tell_gone(struct ss_recorded_process *process, int32_t parent_pid,
                                   uint64_t start_time_ticks);

/* The trace's ref of a thread, by its id. */
uint32_t ss_recorded_process_thread(struct ss_recorded_process *process, int32_t tid);
/* Is there a thread of this id, or was there one? */
bool ss_recorded_process_has_thread(struct ss_recorded_process *process, int32_t tid);
void ss_recorded_process_name_thread(struct ss_recorded_process *process, int32_t tid,
                                     struct ss_strview name);
/* Whose annotations label its samples; NULL: none. It is told when the process ends. */
void ss_recorded_process_set_annotated(struct ss_recorded_process *process,
                                       struct ss_record_annotated *annotated);
struct ss_record_annotated *
ss_recorded_process_annotated(const struct ss_recorded_process *process);

bool ss_recorded_process_is_told(const struct ss_recorded_process *process);

/* One tick. false: the process has ended. */
bool ss_recorded_process_tick(struct ss_recorded_process *process, uint64_t now_ns);
void ss_recorded_process_execed(struct ss_recorded_process *process, uint64_t now_ns);
void ss_recorded_process_threads_changed(struct ss_recorded_process *process);
/* Hands out growing weights and writes the counts: once a second and at restart points. */
void ss_recorded_process_flush(struct ss_recorded_process *process, uint64_t now_ns, bool weights);

/* Is it known whether its image is a Python? Not of one that ended while it was still loading. */
bool ss_recorded_process_is_judged(const struct ss_recorded_process *process);
/* Was it looked at long enough to be sampled, or found not to be Python? */
bool ss_recorded_process_was_seen(const struct ss_recorded_process *process);
uint32_t ss_recorded_process_ref(const struct ss_recorded_process *process);
pid_t ss_recorded_process_pid(const struct ss_recorded_process *process);
/* Why it could not be opened the last time it was tried; SS_OK when it was not refused. */
const struct ss_error *ss_recorded_process_error(const struct ss_recorded_process *process);
/* As they go into the trace, for the Python source; the caller adds what else it knows. */
struct ss_trace_counts ss_recorded_counts(const struct ss_record_context *context,
                                          const struct ss_sampler_counts *sum, uint64_t now_ns);
void ss_recorded_process_add_counts(const struct ss_recorded_process *process,
                                    struct ss_sampler_counts *counts);

#endif
