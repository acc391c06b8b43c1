/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of the recording: detects whether it is Python, samples it, and writes it to the
 * trace. Errors of the writer are sticky in the shared context and end the recording; errors of one
 * process never do. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_PROCESSES_RECORDED_PROCESS_H
#define SS_RECORD_PROCESSES_RECORDED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/processes/context.h"
#include "source/python_sampler.h"

struct ss_recorded_process;

struct ss_recorded_process *ss_recorded_process_new(struct ss_record_context *context, uint32_t ref,
                                                    uint32_t parent_ref, pid_t pid,
                                                    uint64_t now_ns);
/* Writes pending data and counts, then frees. */
void ss_recorded_process_free(struct ss_recorded_process *process, uint64_t now_ns);

/* Writes the process to the trace if it is not there yet (a parent before its child). Returns its
 * ref, or its parent's if it has already ended. */
uint32_t ss_recorded_process_define(struct ss_recorded_process *process);
/* The same for an ended process, from the given data. */
void ss_recorded_process_define_ended(struct ss_recorded_process *process, int32_t parent_pid,
                                      uint64_t start_time_ticks);

/* The trace ref of a thread, defined on first use. */
uint32_t ss_recorded_process_thread(struct ss_recorded_process *process, int32_t tid);
/* Whether the process has, or had, a thread of this id. */
bool ss_recorded_process_has_thread(struct ss_recorded_process *process, int32_t tid);
void ss_recorded_process_name_thread(struct ss_recorded_process *process, int32_t tid,
                                     struct ss_strview name);
/* The annotations that label its samples; NULL: none. They are notified when the process ends. */
void ss_recorded_process_set_annotated(struct ss_recorded_process *process,
                                       struct ss_record_client *annotated);
struct ss_record_client *ss_recorded_process_annotated(const struct ss_recorded_process *process);

bool ss_recorded_process_is_defined(const struct ss_recorded_process *process);

/* One tick. false: the process has ended. */
bool ss_recorded_process_tick(struct ss_recorded_process *process, uint64_t now_ns);
void ss_recorded_process_execed(struct ss_recorded_process *process, uint64_t now_ns);
void ss_recorded_process_threads_changed(struct ss_recorded_process *process);
/* Emits accumulated weights and writes the counts: once a second and at restart points. */
void ss_recorded_process_flush(struct ss_recorded_process *process, uint64_t now_ns, bool weights);

/* Whether its image was classified as Python or not; false if it ended while still loading. */
bool ss_recorded_process_is_classified(const struct ss_recorded_process *process);
/* Whether it was observed long enough to be sampled, or found not to be Python. */
bool ss_recorded_process_was_seen(const struct ss_recorded_process *process);
uint32_t ss_recorded_process_ref(const struct ss_recorded_process *process);
pid_t ss_recorded_process_pid(const struct ss_recorded_process *process);
/* Why the last attempt to open it was refused; SS_OK: not refused. */
const struct ss_error *ss_recorded_process_error(const struct ss_recorded_process *process);
/* The counts of the Python source for the trace; the caller adds its own. */
struct ss_trace_counts ss_recorded_counts(const struct ss_record_context *context,
                                          const struct ss_sampler_counts *sum, uint64_t now_ns);
void ss_recorded_process_add_counts(const struct ss_recorded_process *process,
                                    struct ss_sampler_counts *counts);

#endif
