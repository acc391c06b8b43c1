/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes the records of a recording to its one file, or to a file for each window of a schedule.
 * Callers tag each record with its owner; this module routes it to the owner's writers.
 *
 * One file: all records go there. The first write failure is returned and ends the recording.
 *
 * A file per window: definitions go to every writer, so that each knows all refs, and are written
 * to the files that refer to them. Events go to the windows that their route names. The file of a
 * window opens with the window and is finished when all of its events have arrived; its counts are
 * those of its own time. A file that cannot be written is abandoned and reported as failed; the
 * other files and the recording continue.
 *
 * Owned by the recorder's thread.
 */
#ifndef SS_RECORD_RECORDING_RECORDING_H
#define SS_RECORD_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/run/options.h"
#include "record/run/window_files.h"
#include "trace/writer.h"

struct ss_recording;

/* The owner of an event. {0, 0}: the machine or the recording: goes to every window that is open at
 * its time. {p, 0}: process p: of these, only to the windows of the nearest of p, its parent, its
 * grandparent… that marks steps; if none marks steps, to all. {p, w}: window w of process p. */
struct ss_route {
    uint32_t process_ref;
    uint32_t window; /* from 1 */
};

struct ss_recording_hooks {
    void *context;
    /* Emit pending data (counts, weights of idle threads): a file begins or is finished. */
    void (*refresh)(void *context);
    /* The file of a window is finished, including its conversion. */
    void (*sealed)(void *context, const struct ss_window *window);
};

enum ss_status ss_recording_open(const struct ss_record_options *options,
                                 const struct ss_recording_hooks *hooks,
                                 struct ss_recording **recording, struct ss_error *err);
/* Finishes open windows and waits for conversions. */
void ss_recording_finish(struct ss_recording *recording);
enum ss_status ss_recording_close(struct ss_recording *recording, struct ss_error *err);
bool ss_recording_is_per_window(const struct ss_recording *recording);

/* --- definitions ------------------------------------------------------------------------------ */

enum ss_status ss_recording_attribute(struct ss_recording *recording,
                                      const struct ss_trace_attribute *attribute,
                                      struct ss_error *err);
/* Reserves the ref of a source, from 1. */
uint32_t ss_recording_new_source(struct ss_recording *recording);
/* ss_recording_source(), _device(), _host(), …: the entities of trace/schema.def. */
#define SS_ENTITY(name, number, when, meaning)                                                     \
    enum ss_status ss_recording_##name(struct ss_recording *recording,                             \
                                       const struct ss_trace_##name *record,                       \
                                       struct ss_error *err);
#include "trace/schema.def"
enum ss_status ss_recording_process(struct ss_recording *recording,
                                    const struct ss_trace_process *process, struct ss_error *err);
/* What a process does, as soon as it is known: of several roles the process has the one that comes
 * first of "loads data", "trains", "launches". The parent of a process that trains launches. */
enum ss_status ss_recording_role(struct ss_recording *recording, uint32_t process_ref,
                                 enum ss_process_role role, struct ss_error *err);
enum ss_status ss_recording_thread(struct ss_recording *recording,
                                   const struct ss_trace_thread *thread, struct ss_error *err);
enum ss_status ss_recording_frame(struct ss_recording *recording,
                                  const struct ss_trace_frame *frame, struct ss_error *err);
enum ss_status ss_recording_stack(struct ss_recording *recording,
                                  const struct ss_trace_stack *stack, struct ss_error *err);
enum ss_status ss_recording_track(struct ss_recording *recording,
                                  const struct ss_trace_track *track, struct ss_error *err);
enum ss_status ss_recording_name(struct ss_recording *recording, const struct ss_trace_name *name,
                                 struct ss_error *err);

/* --- events ----------------------------------------------------------------------------------- */

enum ss_status ss_recording_sample(struct ss_recording *recording, struct ss_route route,
                                   const struct ss_trace_sample *sample, struct ss_error *err);
enum ss_status ss_recording_event(struct ss_recording *recording, struct ss_route route,
                                  const struct ss_trace_event *event, struct ss_error *err);
/* A range whose end is known: goes as a whole where an event at `at_ns` goes, such as the launch of
 * the work of a device. */
enum ss_status ss_recording_range(struct ss_recording *recording, struct ss_route route,
                                  uint64_t at_ns, const struct ss_trace_event *begin,
                                  const struct ss_trace_event *end, struct ss_error *err);
enum ss_status ss_recording_counter(struct ss_recording *recording, struct ss_route route,
                                    const struct ss_trace_counter *counter, struct ss_error *err);
enum ss_status ss_recording_line(struct ss_recording *recording, struct ss_route route,
                                 const struct ss_trace_line *line, struct ss_error *err);
enum ss_status ss_recording_async_begin(struct ss_recording *recording, struct ss_route route,
                                        uint64_t id, const struct ss_trace_event *event,
                                        bool *accepted, struct ss_error *err);
enum ss_status ss_recording_async_end(struct ss_recording *recording, struct ss_route route,
                                      uint64_t id, const struct ss_trace_event *end,
                                      struct ss_error *err);
/* Cumulative over the recording, per process or for the whole source. */
enum ss_status ss_recording_counts(struct ss_recording *recording,
                                   const struct ss_trace_counts *counts, struct ss_error *err);
/* A note without an open file goes to the start of the next file, a note of kind "fact" to every
 * file of its process. */
enum ss_status ss_recording_note(struct ss_recording *recording, struct ss_route route,
                                 const struct ss_trace_note *note, struct ss_error *err);

/* As in trace/writer.h. */
enum ss_status ss_recording_tick(struct ss_recording *recording, uint64_t now_ns, bool *restarted,
                                 struct ss_error *err);
enum ss_status ss_recording_flush(struct ss_recording *recording, struct ss_error *err);

/* --- windows; a recording of one file ignores their edges ------------------------------------- */

/* The process marks steps: it is the window owner of itself and its children. */
void ss_recording_marks_steps(struct ss_recording *recording, uint32_t process_ref);
/* Frees the data of a process that ended a while ago, except that it leads its descendants to their
 * window owner. No effect with a file per window: later files may still need it. */
void ss_recording_forget(struct ss_recording *recording, uint32_t process_ref);
/* The nearest of the process, its parent, … that marks steps; 0: none. In any recording. */
uint32_t ss_recording_window_owner(const struct ss_recording *recording, uint32_t process_ref);
/* Opens the file of a window; no effect for a window that is already open. */
void ss_recording_window_begin(struct ss_recording *recording, const struct ss_window *window);
bool ss_recording_has_window(const struct ss_recording *recording, struct ss_route route);
/* The end of the window is known… */
void ss_recording_window_end(struct ss_recording *recording, struct ss_route route, uint64_t end_ns,
                             int64_t last_step, bool partial);
/* …and all of its events have arrived: finishes the file. */
void ss_recording_window_drained(struct ss_recording *recording, struct ss_route route);
uint64_t ss_recording_windows(const struct ss_recording *recording); /* begun so far */
/* Children of the recorder that convert files; not part of the program. */
bool ss_recording_is_own_child(const struct ss_recording *recording, pid_t pid);
bool ss_recording_child_ended(struct ss_recording *recording, pid_t pid, int status);

/* --- figures ---------------------------------------------------------------------------------- */

void ss_recording_get_stats(const struct ss_recording *recording,
                            struct ss_trace_writer_stats *stats);
/* Of the file system of an open file. */
void ss_recording_get_space(const struct ss_recording *recording,
                            struct ss_trace_writer_space *space);
void ss_recording_get_files(const struct ss_recording *recording,
                            struct ss_window_file_figures *figures);

#endif
