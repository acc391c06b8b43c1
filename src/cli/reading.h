/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands that read recordings have in common: the options that choose samples, and loading
 * the inputs (the newest recording of the folder when none is named). Main thread only.
 */
#ifndef SS_CLI_READING_H
#define SS_CLI_READING_H

#include <sys/types.h>

#include "analysis/selection.h"
#include "cli/command.h"
#include "view/frame_text.h"

/* Rows for a command's option table; ss_reading_parse expects all of them. The end of a time range
 * is `--to` but for export, where that names the format. */
#define SS_READING_FILTER_OPTIONS(end_option)                                                       \
    {"from",    0,                                                                                  \
     "SECONDS", "leave out what is earlier, counted from the first sample (of all files)",          \
     "Filter",  false},                                                                             \
        {end_option, 0, "SECONDS", "leave out what is later", NULL, false},                         \
        {"steps", 0,                                                                                \
         "A:B",   "only while steps A to B ran, both included; A, A: and :B are fine too",          \
         NULL,    false},                                                                           \
        {"thread", 0,    "PATTERN", "only threads with this tid, or whose name matches this regex", \
         NULL,     false},                                                                          \
        {"process",                                                                                 \
         0,                                                                                         \
         "PATTERN",                                                                                 \
         "only processes with this pid, or whose label, name or command line matches this regex",   \
         NULL,                                                                                      \
         false},                                                                                    \
        {"match", 0,    "REGEX", "only stacks with a frame \"function (path:line)\" that matches",  \
         NULL,    false},                                                                           \
        {"exclude", 0, "REGEX", "no stacks with a frame that matches", NULL, false},                \
        {"idle",  0,                                                                                \
         "WHICH", "idle samples that count: none, those of main threads (main), or all",            \
         NULL,    false},                                                                           \
        {NULL, 'i', NULL, "the same as --idle all", NULL, false},                                   \
        {"gil", 'g', NULL, "only samples that hold the GIL", NULL, false},                          \
        {"file",  0,     "INPUT", "the same as INPUT, as users of itwinai write it",                \
         "Input", false, true},                                                                     \
    {                                                                                               \
        "strict", 0, NULL, "an unreadable line, or an odd file in a folder, is an error", NULL,     \
            false                                                                                   \
    }

#define SS_READING_FRAME_OPTIONS                                                                   \
    {"function", 'F',  NULL, "one frame per function, named by its first line, not one per line",  \
     "Frames",   false},                                                                           \
        {"nolineno", 0, NULL, "no line numbers: one frame per function and file", NULL, false},    \
    {                                                                                              \
        "full-filenames", 0, NULL, "paths as recorded, not shortened to their package", NULL,      \
            false                                                                                  \
    }

struct ss_reading {
    struct ss_model_load load;
    struct ss_selection_options selection;
    struct ss_frame_style frames;
    bool is_again; /* which recording is the newest has been said */
};

/* The filter options alone, for commands without the frame options. */
bool ss_reading_parse_filters(const struct ss_arguments *arguments, const char *end_option,
                              enum ss_idle_policy idle, struct ss_reading *reading);
/* False: a usage error was printed. `idle` is the command's own default. */
bool ss_reading_parse(const struct ss_arguments *arguments, const char *end_option,
                      enum ss_idle_policy idle, struct ss_reading *reading);
/* Loads the positional inputs, or the newest recording here (and says which). `*named` is the
 * first input's path, borrowed from the model. */
enum ss_status ss_reading_load(const struct ss_arguments *arguments,
                               const struct ss_reading *reading, struct ss_model *model,
                               const char **named, struct ss_error *err);

/* SS_E_USAGE when the output is one of the files that were read: writing there would destroy it. */
enum ss_status ss_reading_check_output(const struct ss_model *model, const char *output,
                                       struct ss_error *err);

/* The permissions of a file that is made from what was read: those that all inputs have. A
 * recording is its owner's alone (0600), and so is what is exported of it. */
mode_t ss_reading_output_mode(const struct ss_model *model);

/* Tells on stderr what keeps the recording from being the whole truth; returns the exit status for
 * it: 0, or 3 for recordings that failed, are damaged or were not closed. `shows_tracks`: ranges
 * are shown, so that none but them is no problem. */
int ss_reading_tell_problems(const struct ss_arguments *arguments,
                             const struct ss_selection *selection, bool shows_tracks);

#endif
