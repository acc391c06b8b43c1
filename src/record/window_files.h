/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of windows as the user sees them: what they are called, what is made of them when they
 * are finished, and which of them stay.
 *
 * Names come from a template (record/window_name.h). A name that this recording has given already
 * gets a suffix: no window ever takes the place of another. A conversion runs in a process of its
 * own, one at a time; the trace it is made from lies hidden beside it, and goes when it worked.
 *
 * Owned by the recorder's thread.
 */
#ifndef SS_RECORD_WINDOW_FILES_H
#define SS_RECORD_WINDOW_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/options.h"

struct ss_window {
    uint32_t process_ref;
    uint32_t number; /* of the process, from 1 */
    pid_t pid;
    int64_t epoch, batch; /* where it began; batch: of the epoch */
    int64_t first_step, last_step;
    uint64_t begin_ns, end_ns; /* end: UINT64_MAX while it is open */
    bool partial;
    bool failed;       /* its file is not whole, or there is none */
    char *trace_path;  /* NULL: it got no name */
    char *output_path; /* what the user gets; the same for native */
};

struct ss_window_file_figures {
    uint64_t finished, failed, removed;
    char last[1024]; /* the newest that is finished; "" none */
    char first_error[256];
};

struct ss_window_files;

struct ss_window_files *ss_window_files_new(const struct ss_record_options *options);
/* With the conversions that are still to come. */
void ss_window_files_free(struct ss_window_files *files);

/* Fills in the paths, and makes their folder. On failure there are none. Where the name says how
 * the window ended, output_path is that of a window which ended with its first step, until it is
 * finished: the trace lies hidden until then. */
enum ss_status ss_window_files_name(struct ss_window_files *files, struct ss_window *window,
                                    struct ss_error *err);
/* Its trace is closed. Takes the paths. `error`: why it failed. Tells `sealed` at once, or when it
 * is converted. */
typedef void ss_window_sealed(void *context, const struct ss_window *window);
void ss_window_files_finished(struct ss_window_files *files, struct ss_window *window,
                              const char *error, ss_window_sealed *sealed, void *context);
bool ss_window_files_is_converter(const struct ss_window_files *files, pid_t pid);
bool ss_window_files_child_ended(struct ss_window_files *files, pid_t pid, int status);
/* Until all conversions are done. */
void ss_window_files_wait(struct ss_window_files *files);
void ss_window_files_get_figures(const struct ss_window_files *files,
                                 struct ss_window_file_figures *figures);

/* What a template can say before there is a window: for checking it. SS_E_USAGE otherwise. */
enum ss_status ss_window_files_check(const char *template, struct ss_error *err);

#endif
