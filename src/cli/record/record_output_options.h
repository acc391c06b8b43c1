/* SPDX-License-Identifier: Apache-2.0 */
/* What `record` does with a trace when it is closed. Filled before the program starts. */
#ifndef SS_CLI_RECORD_RECORD_OUTPUT_OPTIONS_H
#define SS_CLI_RECORD_RECORD_OUTPUT_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "annot/schedule.h"
#include "base/capture.h"
#include "base/error.h"
#include "cli/reading/formats.h"
#include "cli/record/record_run.h"
#include "record/session/supervisor.h"

struct ss_record_output {
    const struct ss_format_row *format;
    const char *trace_path;  /* the native trace; removed after a successful conversion */
    const char *output_path; /* the path that the user requested */
    bool in_place;           /* a pipe, a device or stdout: not a file that can be read again */
    const char *command_line;
    double rate_hz;
    const struct ss_schedule *schedule; /* NULL: none */
    const struct ss_capture *capture;   /* NULL: none */
    bool per_window;                 /* output_path is a template; the files are finished already */
    const struct ss_record_run *run; /* whose folder has the trace; NULL: a file of its own */
    bool is_on_demand;
    bool quiet;
    bool keep_secrets; /* in command lines */
    bool keep_native;  /* with another format: trace_path is renamed, not removed */
    bool stats;        /* print the tables of `report` too */
    /* the content of a converted file, as py-spy's -t -g -i -F --nolineno … */
    bool threads, gil_only, idle, function_only, no_lines, full_filenames;
    /* Of what is at output_path before the program starts; 0: nothing. */
    ino_t replaced_inode;
    struct timespec replaced_time;
    bool failed; /* set when the recording or the conversion was not complete */
};

#endif
