/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotations of all processes of a recording: finds their ring files, drains them, and puts
 * what comes out on tracks of the trace. A file belongs to the process of its name when the start
 * times agree; a process that is gone already, or lives under another number in a pid namespace of
 * its own, gets a row from what its file says.
 *
 * Launching, the recording has a folder of its own that the program finds in its environment.
 * Attaching, it is the user's folder, where every process with libstepscope has its page.
 *
 * Owned by the recorder's thread. Errors of the writer go into the context.
 */
#ifndef SS_RECORD_ANNOTATIONS_H
#define SS_RECORD_ANNOTATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/records.h"

struct ss_record_annotations;
struct ss_record_annotated; /* one process's */
struct ss_record_context;
struct ss_record_options;
struct ss_process_table;
struct ss_window;

enum { SS_ANNOTATIONS_SOURCE_REF = 64, SS_ANNOTATIONS_REASON_BYTES = 1024 };

/* `options` are borrowed. Never fails: where no folder can be made, `reason`
 * (SS_ANNOTATIONS_REASON_BYTES) says why and nothing is recorded. */
struct ss_record_annotations *ss_record_annotations_open(struct ss_record_context *context,
                                                         const struct ss_record_options *options,
                                                         char *reason);
/* Why the folder is not in the first of all places; "": it is. */
const char *ss_record_annotations_passed_over(const struct ss_record_annotations *annotations);
/* For the program's environment; "" when there is none. */
const char *ss_record_annotations_folder(const struct ss_record_annotations *annotations);
/* Becomes readable when a process appears; -1: none. */
int ss_record_annotations_fd(const struct ss_record_annotations *annotations);
/* The processes are known now: looks at the files that are there. */
void ss_record_annotations_begin(struct ss_record_annotations *annotations,
                                 struct ss_process_table *processes, uint64_t now_ns);
void ss_record_annotations_news(struct ss_record_annotations *annotations, uint64_t now_ns);
/* Drains, some of each ring at least and no more after `until_ns`. Returns when it wants to be
 * called again (UINT64_MAX: not before there is news). */
uint64_t ss_record_annotations_drain(struct ss_record_annotations *annotations, uint64_t now_ns,
                                     uint64_t until_ns);
/* Once a second: the counts of what was produced and lost. */
void ss_record_annotations_flush(struct ss_record_annotations *annotations, uint64_t now_ns);
/* Drains what a process has left that has ended. */
void ss_record_annotations_process_ended(struct ss_record_annotations *annotations,
                                         struct ss_record_annotated *annotated, uint64_t now_ns);
/* It ended a while ago: what is left of it is freed. */
void ss_record_annotations_forget(struct ss_record_annotations *annotations, uint32_t process_ref);
/* It called exec: the same, unless the new image has taken its place already. */
void ss_record_annotations_image_ended(struct ss_record_annotations *annotations,
                                       struct ss_record_annotated *annotated, uint64_t now_ns);
/* Step, phase and innermost range of a thread, now. */
void ss_record_annotations_label(struct ss_record_annotated *annotated, int32_t tid,
                                 struct ss_trace_sample *sample);
/* Before samples are taken: drains those that have come into another window. */
void ss_record_annotations_look(struct ss_record_annotations *annotations, uint64_t now_ns);
/* With a schedule: whether the nearest of the process, its parent, … that marks steps is in one of
 * its windows now; when none does (and for 0), whether any process is. Without: yes. */
bool ss_record_annotations_is_in_window(struct ss_record_annotations *annotations,
                                        uint32_t process_ref, uint64_t now_ns);
/* The process's own, from 1; 0: none. */
uint32_t ss_record_annotations_window(const struct ss_record_annotated *annotated);
/* A sample lies in it: opens its file if that was not done yet. */
void ss_record_annotations_meet_window(struct ss_record_annotated *annotated, uint32_t window);
/* Some process waits for all to be written; and: it is. */
bool ss_record_annotations_wants_flush(const struct ss_record_annotations *annotations);
void ss_record_annotations_flushed(struct ss_record_annotations *annotations);
/* Tells the process that a file of it is finished. */
void ss_record_annotations_sealed(struct ss_record_annotations *annotations,
                                  const struct ss_window *window);
struct ss_record_windows {
    uint64_t windows, partial;
    uint64_t steps, most_steps; /* of the process that marked most: in all; of one epoch or run */
};
void ss_record_annotations_get_windows(const struct ss_record_annotations *annotations,
                                       struct ss_record_windows *windows);
/* The recording is over: closes all gates, writes the rest. */
void ss_record_annotations_end(struct ss_record_annotations *annotations, uint64_t now_ns);
void ss_record_annotations_close(struct ss_record_annotations *annotations);

#endif
