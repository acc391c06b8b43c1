/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the recorders of a running job for a window, and prints what each rank answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/line/command.h"
#include "cli/trigger/trigger_request.h"
#include "cli/trigger/trigger_run.h"
#include "view/output/sink.h"

enum { DEFAULT_TIMEOUT_S = 30 };

/* The folder of requests of the recording with this name. */
static char *find_folder(const char *run)
{
    struct stat status;
    struct ss_strbuf path;
    bool is_folder = stat(run, &status) == 0 && S_ISDIR(status.st_mode);
    ss_strbuf_init(&path, 65536);
    ss_on_demand_path(run, is_folder, &path);
    return ss_strbuf_take(&path);
}

static enum ss_status open_folder(const char *run, struct ss_on_demand_folder *folder,
                                  struct ss_error *err)
{
    struct stat status;
    char *path = find_folder(run);
    enum ss_status code;
    if (lstat(path, &status) != 0 && stat(run, &status) == 0) {
        code = ss_fail(err, SS_E_NOTFOUND,
                       "%s takes no requests: no recorder with --on-demand writes it now, or its "
                       "machines do not share this folder",
                       run);
    } else {
        code = ss_on_demand_folder_open(folder, path, err);
    }
    ss_free(path);
    return code;
}

static bool parse(const struct ss_arguments *arguments, struct ss_trigger_options *options)
{
    const char *steps = ss_arguments_get(arguments, "steps");
    static const char *const formats[] = {"text", "json", NULL};
    int format;
    if (arguments->positional_count != 1) {
        ss_cli_usage(arguments, "takes one run: the folder or file that is being recorded");
        return false;
    }
    if ((steps != NULL) == ss_arguments_has(arguments, "seconds")) {
        ss_cli_usage(arguments, "needs either --steps or --seconds");
        return false;
    }
    if (!ss_arguments_get_number(arguments, "seconds", 0.001, 86400, 0, &options->seconds) ||
        !ss_arguments_get_number(arguments, "timeout", 0.1, 1e6, DEFAULT_TIMEOUT_S,
                                 &options->timeout_s) ||
        !ss_arguments_get_choice(arguments, "format", formats, 0, &format)) {
        return false;
    }
    if (steps != NULL && !ss_trigger_steps_parse(steps, &options->steps)) {
        ss_cli_usage(arguments,
                     "--steps takes the first and the last step, as in 100:110, or how far they "
                     "are ahead, as in +5 or +5:+14, not \"%s\"",
                     steps);
        return false;
    }
    options->has_timeout = ss_arguments_has(arguments, "timeout");
    options->has_steps = steps != NULL;
    options->waits = ss_arguments_has(arguments, "wait");
    options->is_json = format == 1;
    return true;
}

static int run(const struct ss_arguments *arguments)
{
    struct ss_trigger_options options = {0};
    struct ss_on_demand_folder folder;
    struct ss_error err = {0};
    bool is_recorded = false;
    if (!parse(arguments, &options)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    enum ss_status status = open_folder(arguments->positional[0], &folder, &err);
    if (status == SS_OK) {
        status = ss_trigger_run(&folder, &options, &is_recorded, &err);
        ss_on_demand_folder_close(&folder);
    }
    if (status != SS_OK) {
        return ss_cli_error(arguments, &err);
    }
    return is_recorded ? 0 : ss_status_exit_code(SS_E_CHECK);
}

static const struct ss_option options[] = {
    {.long_name = "steps",
     .argument = "A:B",
     .help = "the first and the last step of the window, or one step; +A:+B: so many steps ahead "
             "of the furthest rank, and more where a rank would have passed them before it is "
             "asked",
     .group = "Window"},
    {.long_name = "seconds",
     .argument = "S",
     .help = "a window of this length, at the same time in all processes, for programs without "
             "steps"},
    {.long_name = "wait",
     .help = "wait until the window of each rank is in its file",
     .group = "Answer"},
    {.long_name = "timeout",
     .argument = "SECONDS",
     .help =
         "how long to wait for the answer of each rank (default 30); if given, with --wait also "
         "between two changes of any answer"},
    {.long_name = "format", .argument = "FORMAT", .help = "text (the default) or json"},
    {0}};

static const char *const examples[] = {"stepscope trigger train-77.0.stepscope --steps 100:110",
                                       "eleven steps of each rank, which have not begun yet",
                                       "stepscope trigger run.pftrace --steps +5:+14 --wait",
                                       "ten steps, as soon as all ranks can begin together", NULL};

const struct ss_command ss_command_trigger = {
    .name = "trigger",
    .summary = "record a window of a running job, in all its ranks",
    .synopsis = "RUN (--steps A:B | --seconds S) [options]",
    .description =
        "Asks the recorders of RUN, which were started with --on-demand, to record the same steps "
        "in all ranks, and prints a line for each rank: armed, or why not. RUN is the folder of "
        "the run, or the file that is being recorded. Only the user whose run it is can ask.\n\n"
        "The exit status is 0 if each rank will record the window (with --wait: has recorded it), "
        "1 if one does not.",
    .options = options,
    .examples = examples,
    .run = run,
};
