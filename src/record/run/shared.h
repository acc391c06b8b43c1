/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page that supervisor, recorder and (until exec) program share. With it the supervisor returns
 * the program's status even when the recorder, the program's parent, was killed.
 *
 * The comment of a field names its writer. Atomics are sequentially consistent: none is on a hot
 * path.
 */
#ifndef SS_RECORD_RUN_SHARED_H
#define SS_RECORD_RUN_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/run/window_files.h"

enum ss_record_end {
    SS_RECORD_RUNNING,
    SS_RECORD_PROGRAM_ENDED,
    SS_RECORD_DURATION, /* -d is over; the program continues */
    SS_RECORD_STOPPED,  /* by a signal, when attached */
    SS_RECORD_FAILED    /* `error` has the cause; the program, if started, continues */
};

/* A process of the program that lives when the recording ends. */
struct ss_outliving_process {
    pid_t pid;
    uint64_t start_time_ticks;
};

enum { SS_OUTLIVING_MOST = 4 };

struct ss_record_figures {
    uint64_t samples, due, done, skipped, late, ok, partial, lost, unchanged;
    uint64_t processes, python_processes, short_processes;
    uint64_t bytes_written;
    uint64_t samples_written;  /* certainly in the file */
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; of the sampling */
    uint64_t memory_bytes;
    uint64_t cpu_ns;        /* of the recorder, at the end */
    bool has_ended_program; /* the end of a capture has */
    /* With a schedule: of all processes; of the process that marked most. */
    uint64_t windows, partial_windows;
    uint64_t marked_steps, most_steps;
    struct ss_window_file_figures files; /* of a recording with a file per window */
    /* Where the program has ended: the first of its processes that have not. */
    struct ss_outliving_process outliving[SS_OUTLIVING_MOST];
    uint64_t outliving_count; /* of all */
};

enum { SS_SIGNAL_COUNT = 65 };

/* Notices from the recorder to the supervisor, one byte each. */
enum {
    SS_NOTICE_STOPPED = 'S', /* the program stopped: the supervisor stops too, for the shell */
    SS_NOTICE_LAUNCHED = 'L' /* the program runs */
};

struct ss_record_shared {
    atomic_int program_pid;    /* by the program's process, before exec */
    atomic_int exec_errno;     /* by the same, when exec failed */
    atomic_bool program_ended; /* by the recorder, after program_status */
    atomic_int program_status; /* as waitpid gives it */
    /* By the witness: when (CLOCK_MONOTONIC) it last received each signal. */
    atomic_ullong signal_ns[SS_SIGNAL_COUNT];
    atomic_int end;                   /* enum ss_record_end; by the recorder */
    struct ss_error error;            /* by the recorder, before `end` is FAILED */
    struct ss_record_figures figures; /* by the recorder, periodically and at the end */
};

#endif
