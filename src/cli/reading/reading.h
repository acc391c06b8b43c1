/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the commands that read recordings: the options that select samples, and loading the
 * inputs (default: the newest recording of the folder). Main thread only.
 */
#ifndef SS_CLI_READING_READING_H
#define SS_CLI_READING_READING_H

#include <stdio.h>
#include <sys/types.h>

#include "analysis/selection/selection.h"
#include "cli/line/command.h"
#include "view/output/frame_text.h"

/* Rows for a command's option table; ss_reading_parse requires all of them. The end of a time range
 * is `--to`, except in export, where `--to` names the format. */
#define SS_READING_FILTER_OPTIONS(end_option)                                                       \
    {"from",    0,                                                                                  \
     "SECONDS", "leave out everything earlier, counted from the first sample (of all files)",       \
     "Filter",  false},                                                                             \
        {end_option, 0, "SECONDS", "leave out everything later", NULL, false},                      \
        {"steps", 0,    "A:B", "only while steps A to B ran, both included; also A, A: or :B",      \
         NULL,    false},                                                                           \
        {"thread", 0,    "PATTERN", "only threads with this tid, or whose name matches this regex", \
         NULL,     false},                                                                          \
        {"process",                                                                                 \
         0,                                                                                         \
         "PATTERN",                                                                                 \
         "only processes with this pid, or whose label, name or command line matches this regex",   \
         NULL,                                                                                      \
         false},                                                                                    \
        {"rank", 0, "RANKS", "only processes of these ranks, such as 3 or 0,4-7", NULL, false},     \
        {"match", 0,    "REGEX", "only stacks with a frame \"function (path:line)\" that matches",  \
         NULL,    false},                                                                           \
        {"exclude", 0, "REGEX", "no stacks with a frame that matches", NULL, false},                \
        {"idle", 0,    "WHICH", "idle samples that count: none, main threads only (main), or all",  \
         NULL,   false},                                                                            \
        {NULL, 'i', NULL, "the same as --idle all", NULL, false},                                   \
        {"gil", 'g', NULL, "only samples that hold the GIL", NULL, false},                          \
        SS_READING_MEMORY_OPTION,                                                                   \
        {"file",  0,     "INPUT", "the same as INPUT, accepted for compatibility with itwinai",     \
         "Input", false, true},                                                                     \
    {                                                                                               \
        "strict", 0, NULL, "fail on an unreadable line, and on an unexpected file in a folder",     \
            NULL, false                                                                             \
    }

/* Also of commands without the filters: ss_reading_parse_memory requires it. */
#define SS_READING_MEMORY_OPTION                                                                   \
    {                                                                                              \
        "max-memory", 0, "SIZE",                                                                   \
            "refuse inputs that need more memory, such as 4G (default: 256M and 24 to 512 times "  \
            "the "                                                                                 \
            "size of a file, at most what the machine or container has)",                          \
            "Input", false, false                                                                  \
    }

#define SS_READING_FRAME_OPTIONS                                                                   \
    {"function", 'F',  NULL, "one frame per function, named by its first line, not one per line",  \
     "Frames",   false},                                                                           \
        {"nolineno", 0, NULL, "no line numbers: one frame per function and file", NULL, false},    \
    {                                                                                              \
        "full-filenames", 0, NULL, "paths as recorded, not shortened to their package", NULL,      \
            false                                                                                  \
    }

/* For commands that draw or export stacks: ss_reading_parse_weight requires it. */
#define SS_READING_WEIGHT_OPTION                                                                   \
    {                                                                                              \
        "weight", 0, "OF",                                                                         \
            "samples, or gpu: the time of devices by the code that launched it (default samples)", \
            NULL, false                                                                            \
    }

struct ss_reading {
    struct ss_model_load load;
    enum ss_total_weight weight; /* ss_reading_load applies it */
    struct ss_selection_options selection;
    struct ss_frame_style frames;
    bool name_printed; /* the name of the newest recording is printed already */
};

/* The limits of what inputs may cost. False: a usage error was printed. */
bool ss_reading_parse_memory(const struct ss_arguments *arguments, struct ss_model_load *load);
/* The filter options alone, for commands without the frame options. */
bool ss_reading_parse_filters(const struct ss_arguments *arguments, const char *end_option,
                              enum ss_idle_policy idle, struct ss_reading *reading);
/* False: a usage error was printed. `idle` is the command's own default. */
bool ss_reading_parse(const struct ss_arguments *arguments, const char *end_option,
                      enum ss_idle_policy idle, struct ss_reading *reading);
/* After ss_reading_parse. False: a usage error was printed. */
bool ss_reading_parse_weight(const struct ss_arguments *arguments, struct ss_reading *reading);
/* Processors that this process may use, 64 at most. */
unsigned ss_reading_processors(void);
/* After ss_reading_parse, of commands with the option --threads. False: a usage error was printed.
 */
bool ss_reading_parse_threads(const struct ss_arguments *arguments, struct ss_reading *reading);
/* Loads the positional inputs, or the newest recording here (and prints its name). `*named` is the
 * first input's path, borrowed from the model. */
enum ss_status ss_reading_load(const struct ss_arguments *arguments,
                               const struct ss_reading *reading, struct ss_model *model,
                               const char **named, struct ss_error *err);

/* The two parts of it: appends the path of the newest recording here, and prints it; loads the
 * inputs of these paths. */
enum ss_status ss_reading_newest(const struct ss_arguments *arguments,
                                 const struct ss_reading *reading, struct ss_strbuf *path,
                                 struct ss_error *err);
enum ss_status ss_reading_load_paths(const struct ss_arguments *arguments,
                                     const struct ss_reading *reading, const char *const *paths,
                                     size_t count, struct ss_model *model, struct ss_error *err);

/* SS_E_USAGE when the output is one of the input files: writing would destroy it. */
enum ss_status ss_reading_check_output(const struct ss_model *model, const char *output,
                                       struct ss_error *err);

/* The permissions of a file that is made from the inputs: those that all inputs have. A recording
 * is private to its owner (0600), and so are its exports. */
mode_t ss_reading_output_mode(const struct ss_model *model);

/* Prints on stderr how the recording is incomplete; returns the exit status: 0, or 3 for recordings
 * that failed, are damaged or were not closed. `shows_tracks`: the command shows ranges, so a
 * recording of ranges alone is not a problem. */
int ss_reading_report_problems(const struct ss_arguments *arguments,
                               const struct ss_selection *selection, bool shows_tracks);
/* The same, to another stream. */
int ss_reading_write_problems(const struct ss_arguments *arguments,
                              const struct ss_selection *selection, bool shows_tracks, FILE *out);
/* Where times of different files are not exactly comparable; loading prints it. */
void ss_reading_warn_axes(const struct ss_arguments *arguments, const struct ss_model *model,
                          FILE *out);

#endif
