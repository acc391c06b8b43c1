/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the records of a recording go: into its one file, or into a file for each window of a
 * schedule. Whoever tells something says whose it is, and this finds the files.
 *
 * One file. Everything goes there. The first failure to write it is returned, and ends the
 * recording.
 *
 * A file per window. Definitions go to every writer, so that each knows all refs, and stand in the
 * files that refer to them. Events go to the windows that their aim names. A window's file opens
 * with its window and is finished when all of it has come; its counts are those of its own time.
 * A file that cannot be written is given up and told as such; the others and the recording go on.
 *
 * Owned by the recorder's thread.
 */
#ifndef SS_RECORD_RECORDING_H
#define SS_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/options.h"
#include "record/window_files.h"
#include "trace/writer.h"

struct ss_recording;

/* Whose an event is. {0, 0}: of the machine or of the recording: of every window that is open at
 * its time. {p, 0}: goes along with process p: with the windows of the nearest of p, its parent,
 * its grandparent… that marks steps, or, when none does, with every one. {p, w}: of that window. */
struct ss_aim {
    uint32_t process_ref;
    uint32_t window; /* from 1 */
};

struct ss_recording_hooks {
    void *context;
    /* Hand in what is pending: counts, weights of idle threads. A file begins or is finished. */
    void (*refresh)(void *context);
    /* The file of a window, and what was made of it, is finished. */
    void (*sealed)(void *context, const struct ss_window *window);
};

enum ss_status ss_recording_open(const struct ss_record_options *options,
                                 const struct ss_recording_hooks *hooks,
                                 struct ss_recording **recording, struct ss_error *err);
/* Finishes what is open, and waits for conversions. */
void ss_recording_finish(struct ss_recording *recording);
enum ss_status ss_recording_close(struct ss_recording *recording, struct ss_error *err);
bool ss_recording_is_per_window(const struct ss_recording *recording);

/* --- definitions ------------------------------------------------------------------------------ */

enum ss_status ss_recording_attribute(struct ss_recording *recording,
                                      const struct ss_trace_attribute *attribute,
                                      struct ss_error *err);
enum ss_status ss_recording_source(struct ss_recording *recording,
                                   const struct ss_trace_source *source, struct ss_error *err);
enum ss_status ss_recording_process(struct ss_recording *recording,
                                    const struct ss_trace_process *process, struct ss_error *err);
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

enum ss_status ss_recording_sample(struct ss_recording *recording, struct ss_aim aim,
                                   const struct ss_trace_sample *sample, struct ss_error *err);
enum ss_status ss_recording_event(struct ss_recording *recording, struct ss_aim aim,
                                  const struct ss_trace_event *event, struct ss_error *err);
enum ss_status ss_recording_counter(struct ss_recording *recording, struct ss_aim aim,
                                    const struct ss_trace_counter *counter, struct ss_error *err);
enum ss_status ss_recording_line(struct ss_recording *recording, struct ss_aim aim,
                                 const struct ss_trace_line *line, struct ss_error *err);
enum ss_status ss_recording_async_begin(struct ss_recording *recording, struct ss_aim aim,
                                        uint64_t id, const struct ss_trace_event *event,
                                        bool *taken, struct ss_error *err);
enum ss_status ss_recording_async_end(struct ss_recording *recording, struct ss_aim aim,
                                      uint64_t id, const struct ss_trace_event *end,
                                      struct ss_error *err);
/* Cumulative over the recording; of their process, or of the source. */
enum ss_status ss_recording_counts(struct ss_recording *recording,
                                   const struct ss_trace_counts *counts, struct ss_error *err);
/* A note that no file was open for stands at the beginning of the next; one of kind "fact" in every
 * file of its process. */
enum ss_status ss_recording_note(struct ss_recording *recording, struct ss_aim aim,
                                 const struct ss_trace_note *note, struct ss_error *err);

/* As the writer's (trace/writer.h). */
enum ss_status ss_recording_tick(struct ss_recording *recording, uint64_t now_ns, bool *restarted,
                                 struct ss_error *err);
enum ss_status ss_recording_flush(struct ss_recording *recording, struct ss_error *err);

/* --- windows: those of a recording of one file are told to nobody ----------------------------- */

/* The process marks steps: it and its children go with its windows. */
void ss_recording_marks(struct ss_recording *recording, uint32_t process_ref);
/* The nearest of the process, its parent, … that marks steps; 0: none. In any recording. */
/* The process ended a while ago: it costs no memory any more. Without effect where windows have
 * files of their own, for which it may still be wanted. */
void ss_recording_forget(struct ss_recording *recording, uint32_t process_ref);
uint32_t ss_recording_owner(const struct ss_recording *recording, uint32_t process_ref);
/* Opens its file. A window that is known already is not opened again. */
void ss_recording_window_begin(struct ss_recording *recording, const struct ss_window *window);
bool ss_recording_has_window(const struct ss_recording *recording, struct ss_aim aim);
/* What it ended with is known… */
void ss_recording_window_end(struct ss_recording *recording, struct ss_aim aim, uint64_t end_ns,
                             int64_t last_step, bool partial);
/* …and here, that all of it has come: finishes the file. */
void ss_recording_window_passed(struct ss_recording *recording, struct ss_aim aim);
uint64_t ss_recording_windows(const struct ss_recording *recording); /* begun so far */
/* Children of this process that convert files: none of the program's. */
bool ss_recording_is_own_child(const struct ss_recording *recording, pid_t pid);
bool ss_recording_child_ended(struct ss_recording *recording, pid_t pid, int status);

/* --- figures ---------------------------------------------------------------------------------- */

void ss_recording_get_stats(const struct ss_recording *recording,
                            struct ss_trace_writer_stats *stats);
void ss_recording_get_files(const struct ss_recording *recording,
                            struct ss_window_file_figures *figures);

#endif
