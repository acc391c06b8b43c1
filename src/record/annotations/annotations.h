/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotations of all processes of a recording: finds their ring files, drains them, and writes
 * the events to tracks of the trace. A file belongs to the process of its name if the start times
 * agree. A process that has already ended, or has another pid in its own pid namespace, gets an
 * entry from the data in its file.
 *
 * A launch recording has a ring directory of its own, which the program finds in its environment.
 * An attach recording uses the user's ring directory, where every process with libstepscope has its
 * ring file.
 *
 * Owned by the recorder's thread. Errors of the writer are sticky in the context.
 */
#ifndef SS_RECORD_ANNOTATIONS_ANNOTATIONS_H
#define SS_RECORD_ANNOTATIONS_ANNOTATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/records.h"

struct ss_record_annotations;
struct ss_record_context;
struct ss_record_options;
struct ss_process_table;
struct ss_torch_profiles;
struct ss_device_totals;
struct ss_window;

enum { SS_ANNOTATIONS_REASON_BYTES = 1024 };

/* `options`, `profiles` and `device_totals` are borrowed. Never fails: without a ring directory,
 * `reason` (SS_ANNOTATIONS_REASON_BYTES) contains the cause and nothing is recorded. */
struct ss_record_annotations *ss_record_annotations_open(struct ss_record_context *context,
                                                         const struct ss_record_options *options,
                                                         struct ss_torch_profiles *profiles,
                                                         struct ss_device_totals *device_totals,
                                                         char *reason);
/* Why the ring directory is not in the first root; "": it is. */
const char *ss_record_annotations_skipped_roots(const struct ss_record_annotations *annotations);
/* The ring directory, for the program's environment; "": none. */
const char *ss_record_annotations_ring_directory(const struct ss_record_annotations *annotations);
/* Readable when a process has finished a ring file; -1: none. */
int ss_record_annotations_fd(const struct ss_record_annotations *annotations);
/* `processes` exists now: scans the ring directory. */
void ss_record_annotations_begin(struct ss_record_annotations *annotations,
                                 struct ss_process_table *processes, uint64_t now_ns);
void ss_record_annotations_poll(struct ss_record_annotations *annotations, uint64_t now_ns);
/* Drains at least some records of each ring, and stops at `until_ns`. Returns when it is due again
 * (UINT64_MAX: only after a notification). */
uint64_t ss_record_annotations_drain(struct ss_record_annotations *annotations, uint64_t now_ns,
                                     uint64_t until_ns);
/* Once a second: writes the counts of produced and lost events. */
void ss_record_annotations_flush(struct ss_record_annotations *annotations, uint64_t now_ns);
/* Call before sampling: drains the processes whose window has changed. */
void ss_record_annotations_poll_windows(struct ss_record_annotations *annotations, uint64_t now_ns);
/* Whether a process waits for a flush; and: all data is written. */
bool ss_record_annotations_wants_flush(const struct ss_record_annotations *annotations);
void ss_record_annotations_flushed(struct ss_record_annotations *annotations);
/* Notifies the process that the file of a window is finished. */
void ss_record_annotations_sealed(struct ss_record_annotations *annotations,
                                  const struct ss_window *window);
struct ss_record_windows {
    uint64_t windows, partial;
    uint64_t steps, most_steps; /* of the process that marked most: in total; in one epoch or run */
};
void ss_record_annotations_get_windows(const struct ss_record_annotations *annotations,
                                       struct ss_record_windows *windows);
/* The end of the recording: closes all gates, writes the rest. */
void ss_record_annotations_end(struct ss_record_annotations *annotations, uint64_t now_ns);
void ss_record_annotations_close(struct ss_record_annotations *annotations);

#endif
