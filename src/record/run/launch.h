/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the program as a child of the recorder and holds it back until the recorder is ready. The
 * program gets the signal mask and dispositions that stepscope was started with, no file
 * descriptors of stepscope, and only the variables of child_env.def in addition.
 */
#ifndef SS_RECORD_RUN_LAUNCH_H
#define SS_RECORD_RUN_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/run/options.h"
#include "record/run/shared.h"

struct ss_launch {
    pid_t pid;
    int go_fd; /* write a byte: the program execs; close without: it execs unrecorded */
};

/* The signal state that stepscope was started with, for the program. stepscope itself needs the
 * default SIGCHLD (when it is ignored, there are no statuses to wait for) and must not die of
 * SIGPIPE. */
struct ss_program_signals {
    sigset_t mask;
    struct sigaction child, pipe;
};

/* Exit statuses for a program that could not be run, as shells have them. */
enum { SS_EXIT_OURS = 125, SS_EXIT_NOT_EXECUTABLE = 126, SS_EXIT_NOT_FOUND = 127 };

/* Values for child_env.def that are not in the options. */
struct ss_program_environment {
    const char *rings;   /* the ring directory; "": none */
    const char *library; /* libstepscope, for programs to load; "": none */
    const char *preload; /* preload.so; "": not requested, or none */
    const char *mpi;     /* mpi.so; "": not requested, or none */
    const char *rocm;    /* rocm.so; "": it is not installed */
    const char *python;  /* the folder for PYTHONPATH; "": not requested, or none */
    const char *torch;   /* what to record of PyTorch; "": nothing */
};

enum ss_status ss_launch_prepare(const struct ss_record_options *options,
                                 const struct ss_program_signals *signals,
                                 const struct ss_program_environment *values,
                                 struct ss_record_shared *shared, struct ss_launch *launch,
                                 struct ss_error *err);
void ss_launch_go(struct ss_launch *launch);
/* Without a recorder: this process becomes the program, with `signals` (NULL: unchanged) and an
 * unchanged environment. `shared` (may be NULL) gets its pid, and the errno of a failed exec. */
_Noreturn void ss_launch_unrecorded(const struct ss_record_options *options,
                                    const struct ss_program_signals *signals,
                                    struct ss_record_shared *shared);

/* One row of child_env.def. */
struct ss_child_env {
    const char *name;
    const char *value; /* "%" and a letter: a value that launch.c fills in; else literal */
    const char *help;
    const char *injected; /* its source in the trace, if stepscope is loaded by it; else NULL */
    char separator;       /* of a list to which the value is added; 0: not a list */
    bool comes_first;     /* before the existing entries */
};
extern const struct ss_child_env ss_child_env_table[];
extern const size_t ss_child_env_count;

#endif
