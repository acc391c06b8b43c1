/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of windows as the user sees them: their names, their conversion when they are finished,
 * and which of them stay.
 *
 * Names come from a template (record/run/window_name.h). A name that this recording has already
 * used gets a suffix: no window overwrites another. A conversion runs in a process of its own, one
 * at a time; its input is a hidden file beside the output, which is removed after success.
 *
 * Owned by the recorder's thread.
 */
#ifndef SS_RECORD_RUN_WINDOW_FILES_H
#define SS_RECORD_RUN_WINDOW_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/run/options.h"

struct ss_window {
    uint32_t process_ref;
    uint32_t number; /* of the process, from 1 */
    pid_t pid;
    int64_t epoch, batch; /* where it began; batch: of the epoch */
    int64_t first_step, last_step;
    uint64_t begin_ns, end_ns; /* end: UINT64_MAX while it is open */
    bool partial;
    bool failed;       /* its file is incomplete or missing */
    char *trace_path;  /* NULL: it has no name */
    char *output_path; /* the user's file; the same for native */
};

struct ss_window_file_figures {
    uint64_t finished, failed, removed;
    char last[1024]; /* the newest finished file; "": none */
    char first_error[256];
};

struct ss_window_files;

struct ss_window_files *ss_window_files_new(const struct ss_record_options *options);
/* Discards pending conversions. */
void ss_window_files_free(struct ss_window_files *files);

/* Sets the paths and creates their folder; on failure there are no paths. If the name contains how
 * the window ends, output_path is preliminary, for a window that ends with its first step, and the
 * trace is hidden until the window is finished. */
enum ss_status ss_window_files_name(struct ss_window_files *files, struct ss_window *window,
                                    struct ss_error *err);
/* Its trace is closed. Takes the paths. `error`: why it failed. Calls `sealed` at once, or after
 * the conversion. */
typedef void ss_window_sealed(void *context, const struct ss_window *window);
void ss_window_files_finished(struct ss_window_files *files, struct ss_window *window,
                              const char *error, ss_window_sealed *sealed, void *context);
bool ss_window_files_is_converter(const struct ss_window_files *files, pid_t pid);
bool ss_window_files_child_ended(struct ss_window_files *files, pid_t pid, int status);
/* Waits for all conversions. */
void ss_window_files_wait(struct ss_window_files *files);
void ss_window_files_get_figures(const struct ss_window_files *files,
                                 struct ss_window_file_figures *figures);

/* Checks a template before there is a window. SS_E_USAGE: invalid. */
enum ss_status ss_window_files_check(const char *template, struct ss_error *err);

#endif
