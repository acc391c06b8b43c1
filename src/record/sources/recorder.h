/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sources of record/ share with the session: the processes, the program, and what it
 * inherits. The session fills it before the sources start. Owned by the recorder's thread.
 */
#ifndef SS_RECORD_SOURCES_RECORDER_H
#define SS_RECORD_SOURCES_RECORDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/devices/device_tracks.h"
#include "record/processes/context.h"
#include "record/processes/process_table.h"
#include "record/run/options.h"
#include "record/run/shared.h"
#include "record/tracks/torch_profiles.h"

struct ss_recorder {
    const struct ss_record_options *options;
    struct ss_record_figures *figures; /* for the supervisor and the status line */
    struct ss_record_context context;
    pid_t program;                             /* 0: not created yet */
    struct ss_record_annotations *annotations; /* NULL: none, or not yet */
    struct ss_process_table *processes;        /* NULL: the program is not created, or the end */
    const char *ring_directory;                /* for the program's environment; "": none */
    struct ss_torch_profiles torch_profiles;
    struct ss_device_totals device_totals;
    bool is_duration_over;    /* the program runs on */
    bool flush_requested;     /* by the program, whose earlier events are drained */
    uint32_t capture_signals; /* that came for `--capture signal:…` */
    bool awaits_request;      /* nothing is sampled until `stepscope trigger` asks for a window */
};

#endif
