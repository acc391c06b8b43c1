/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the program as a child of the recorder, held back until the recorder is ready. The
 * program gets the signal mask and dispositions that stepscope was started with, no file
 * descriptors of ours, and only the environment of child_env.def in addition.
 */
#ifndef SS_RECORD_LAUNCH_H
#define SS_RECORD_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/options.h"
#include "record/shared.h"

struct ss_launch {
    pid_t pid;
    int go_fd; /* write a byte: the program execs; close without: it execs, unrecorded */
};

/* What stepscope was started with and the program is to have. We ourselves want SIGCHLD's default
 * (ignored, there would be no statuses to wait for) and no death by SIGPIPE. */
struct ss_program_signals {
    sigset_t mask;
    struct sigaction child, pipe;
};

/* Exit statuses of a program that could not be run, as shells have them. */
enum { SS_EXIT_OURS = 125, SS_EXIT_NOT_EXECUTABLE = 126, SS_EXIT_NOT_FOUND = 127 };

/* What the values of child_env.def stand for, as far as the options do not say it. */
struct ss_handed {
    const char *rings;   /* the folder for the program's annotations; "": none */
    const char *library; /* libstepscope, for programs to load; "": none */
    const char *preload; /* preload.so; "": not wanted, or none */
    const char *python;  /* the folder for PYTHONPATH; "": the same */
    const char *torch;   /* what is to be recorded of PyTorch; "": nothing */
};

enum ss_status ss_launch_prepare(const struct ss_record_options *options,
                                 const struct ss_program_signals *signals,
                                 const struct ss_handed *handed, struct ss_record_shared *shared,
                                 struct ss_launch *launch, struct ss_error *err);
void ss_launch_go(struct ss_launch *launch);
/* Nobody can record it: this process becomes the program, with the signals it is to have (NULL: as
 * they are) and no environment of ours. `shared` (may be NULL) gets its pid, and why it could not
 * be run. */
_Noreturn void ss_launch_unrecorded(const struct ss_record_options *options,
                                    const struct ss_program_signals *signals,
                                    struct ss_record_shared *shared);

/* One row of child_env.def. */
struct ss_child_env {
    const char *name;
    const char *value; /* "%" and a letter: what stands for it; else itself */
    const char *help;
    const char *injected; /* NULL, or which source of the trace makes the program load us by it */
    char separator;       /* of a list that the value is added to; 0: it is none */
    bool comes_first;     /* in that list */
};
extern const struct ss_child_env ss_child_env_table[];
extern const size_t ss_child_env_count;

#endif
