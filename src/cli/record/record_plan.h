/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `record` is about to do: the options of the recorder and of the output, and the files. A
 * native recording is written in place; another format is converted from a native one hidden beside
 * it. Main thread only.
 */
#ifndef SS_CLI_RECORD_RECORD_PLAN_H
#define SS_CLI_RECORD_RECORD_PLAN_H

#include "annot/schedule_text.h"
#include "base/capture.h"
#include "cli/line/command.h"
#include "cli/record/record_output_options.h"
#include "cli/record/record_run.h"
#include "counters/request.h"
#include "record/run/options.h"

struct ss_record_plan {
    struct ss_record_options record;
    struct ss_schedule schedule;
    bool on_demand;
    char *on_demand_path; /* NULL: none */
    char schedule_text[SS_SCHEDULE_TEXT_BYTES];
    struct ss_capture capture;
    char capture_text[SS_CAPTURE_TEXT_BYTES], capture_words[SS_CAPTURE_TEXT_BYTES];
    char torch_text[256], gpu_text[64];
    char counters_text[SS_COUNTER_REQUEST_BYTES];
    const char *counters; /* of --counters; NULL: none */
    bool has_samples;     /* --gpu-metrics */
    int preflight;        /* of device_preflight.c */
    struct ss_record_output output;
    struct ss_record_run run;
    char **program;
    char *output_path, *trace_path, *command_line;
    char *temporary_folder; /* of trace_path, if it cannot be beside the output */
    const char *converter[SS_MOST_CONVERTER_WORDS];
    bool per_window, no_overwrite;
};

void ss_record_plan_fini(struct ss_record_plan *plan);
/* --on-demand: a schedule of windows that are not known yet. false: a usage error was printed. */
bool ss_record_plan_parse_on_demand(const struct ss_arguments *arguments,
                                    struct ss_record_plan *plan);
/* By -f, else by the ending of -o. False: a usage error was printed. */
bool ss_record_plan_choose_format(const struct ss_arguments *arguments,
                                  struct ss_record_plan *plan);
/* What is recorded of CUDA devices: --gpu and --gpu-metrics. False: as above. */
bool ss_record_plan_choose_gpu(const struct ss_arguments *arguments, struct ss_record_plan *plan);
/* --torch-profiler as settings for the program; "": not asked for. False: as above. */
bool ss_record_plan_choose_profiler(const struct ss_arguments *arguments, char *text, size_t size);
/* --max-size and --full. False: as above. */
bool ss_record_plan_choose_size(const struct ss_arguments *arguments, struct ss_record_plan *plan);
/* Expands the names of files, checks that they can be written, and makes their folders. */
enum ss_status ss_record_plan_choose_paths(const struct ss_arguments *arguments,
                                           struct ss_record_plan *plan, struct ss_error *err);
/* The temporary folder, if it is empty: a recording in it stays. */
void ss_record_plan_remove_folder(const struct ss_record_plan *plan);

#endif
