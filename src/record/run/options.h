/* SPDX-License-Identifier: Apache-2.0 */
/* The options of one recording. Immutable while it runs; strings are borrowed. */
#ifndef SS_RECORD_RUN_OPTIONS_H
#define SS_RECORD_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

enum { SS_MOST_CONVERTER_WORDS = 16 };

struct ss_record_options {
    char *const *program; /* argv of the program, NULL-terminated; NULL when attaching */
    pid_t attach_pid;     /* 0: launch `program` */
    const char *path;     /* of the native trace */
    const char *output;   /* the user's file (== path for native) */
    int keep_fd;          /* inherited, for the output at the end; -1: none */
    double rate_hz;
    uint64_t duration_ns;      /* 0: until the program ends */
    uint64_t max_bytes;        /* of the files, for detail_budget.h; 0: all is kept in full */
    uint64_t host_interval_ns; /* between readings of host metrics; 0: none */
    bool follow_children;
    bool inject;       /* set the variables of child_env.def for the program */
    bool keep_secrets; /* do not redact command lines */
    bool no_mpi;       /* do not observe MPI */
    bool no_torch;     /* preload nothing */
    const char *torch; /* what to record of PyTorch: "depth=2,…"; NULL: the default */
    const char *gpu;   /* what to record of CUDA devices: "light", "default", "full"; NULL: off */
    const char *counters;  /* what to measure (counters/request.h); NULL: nothing */
    bool torch_profiler;   /* `torch` asks for a run of torch.profiler */
    bool overwrite_events; /* a full ring overwrites its oldest annotations */
    bool show_status;      /* a status line on stderr */
    /* Template (record/run/window_name.h) for a file per window; NULL: one file, `path`. */
    const char *window_name;
    int64_t windows_to_keep;      /* per process; below 0: all */
    const char *const *converter; /* stepscope's argv, without -o OUTPUT TRACE; NULL: none */
    bool keep_native;             /* keep the converted trace as a file beside the output */
    /* As processes get it: a schedule (annot/schedule_text.h), a capture (base/capture.h), or
     * "on-demand"; NULL: record always. */
    const char *schedule;
    const char *schedule_words;       /* of the user, for display; NULL: `schedule` */
    const struct ss_capture *capture; /* NULL: none */
    const char *command_line;         /* of the program, for display */
    const char
        *on_demand; /* folder for requests (record/windows/on_demand_folder.h); NULL: none count */
    const char *clock_sync; /* HOST:PORT to ask, :PORT to answer at, "auto"; NULL: neither */
    const char *run_folder; /* shared by the recorders of the run; NULL: the folder of `path` */
    const struct ss_clock *clock; /* NULL: the system's */
};

#endif
