/* SPDX-License-Identifier: Apache-2.0 */
/* What one recording is asked to do. Immutable once recording; strings are borrowed. */
#ifndef SS_RECORD_OPTIONS_H
#define SS_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SS_MOST_CONVERTER_WORDS = 16 };

struct ss_record_options {
    char *const *program; /* argv of the program, NULL-terminated; NULL when attaching */
    pid_t attach_pid;     /* 0: launch `program` */
    const char *path;     /* of the native trace */
    const char *output;   /* what the user gets in the end (== path for native) */
    int keep_fd;          /* inherited, and written to in the end; -1: none */
    double rate_hz;
    uint64_t duration_ns;      /* 0: until the program ends */
    uint64_t host_interval_ns; /* between readings of the host's figures; 0: none */
    bool follow_children;
    bool inject;           /* hand the environment of child_env.def to the program */
    bool keep_secrets;     /* command lines as they are */
    bool no_torch;         /* nothing is preloaded */
    const char *torch;     /* what to record of PyTorch: "depth=2,…"; NULL: the usual */
    bool overwrite_events; /* of annotations: a full ring forgets the oldest */
    bool show_status;      /* a status line on stderr */
    /* A template (record/window_name.h): a file for each window; NULL: one file, `path`. */
    const char *window_name;
    int64_t windows_to_keep;      /* of each process; below 0: all */
    const char *const *converter; /* words of our own program that make the output of a trace, but
                                     for -o OUTPUT TRACE; NULL: the trace is the output */
    bool keep_native;             /* what was converted stays, as a file beside the output */
    const char *schedule;         /* text form (annot/schedule_text.h); NULL: all the time */
    const char *command_line;     /* of the program, for people */
};

#endif
