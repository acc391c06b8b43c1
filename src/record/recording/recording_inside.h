/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_recording. Private to the implementation of recording.h: recording.c (life
 * and definitions), recording_events.c (routing, counts, notes), recording_windows.c (the files).
 */
#ifndef SS_RECORD_RECORDING_RECORDING_INSIDE_H
#define SS_RECORD_RECORDING_RECORDING_INSIDE_H

#include "base/pages.h"
#include "base/vec.h"
#include "record/recording/recording.h"

/* A window that is open, and the writer of its file. */
struct ss_open_window {
    struct ss_window window;
    struct ss_trace_writer *writer; /* NULL: the file was abandoned */
    struct ss_vec_of(struct ss_trace_counts) before;
    struct ss_error error;
};

/* Descendants find their window owner through it: it stays until the last of them is forgotten. */
struct ss_process_entry {
    uint32_t parent_ref;
    uint32_t children; /* with an entry */
    bool is_child;     /* counted by its parent's entry */
    bool is_forgotten;
    bool marks_steps;
    enum ss_process_role role;
};

/* A note that waits for a file; owns its texts. */
struct ss_cached_note {
    struct ss_trace_note note;
    struct ss_route route;
    bool is_permanent; /* goes to every file of its process */
};

struct ss_recording {
    uint32_t source_refs; /* reserved so far */
    const struct ss_record_options *options;
    struct ss_recording_hooks hooks;
    struct ss_trace_writer *single;                     /* NULL: a file per window */
    struct ss_vec_of(struct ss_trace_writer *) writers; /* all; some have an open file */
    struct ss_vec_of(struct ss_open_window *) open;
    struct ss_pages processes; /* struct ss_process_entry, by ref */
    struct ss_vec_of(struct ss_trace_counts) counts;
    struct ss_vec_of(struct ss_cached_note) notes;
    struct ss_window_files *files;
    struct ss_trace_writer_stats finished; /* of finished files */
    uint64_t windows;                      /* begun */
    uint64_t ticks_at_last_end;            /* ticks done at the end of the last window */
};

/* --- recording_events.c ----------------------------------------------------------------------- */

/* The notes that waited for a file, at the start of a window: they are older. */
void ss_recording_write_cached_notes(struct ss_recording *recording, struct ss_open_window *open);
void ss_recording_free_notes(struct ss_recording *recording);

/* --- recording_windows.c ---------------------------------------------------------------------- */

/* The window whose file the writer writes; NULL: it is idle. */
struct ss_open_window *ss_recording_window_of(struct ss_recording *recording,
                                              const struct ss_trace_writer *writer);
void ss_recording_add_stats(struct ss_trace_writer_stats *sum,
                            const struct ss_trace_writer *writer);
/* Unwritten data is lost; the writer keeps its definitions. */
void ss_recording_abandon_file(struct ss_recording *recording, struct ss_open_window *open,
                               const struct ss_error *err);
/* A writer without a file. */
enum ss_status ss_recording_new_writer(const struct ss_clock *clock,
                                       struct ss_trace_writer **writer, struct ss_error *err);

#endif
