/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/info/info_facts.h"
#include "cli/info/info_model.h"
#include "cli/info/info_views.h"
#include "cli/line/command.h"
#include "cli/reading/reading.h"

static const char *const formats[] = {"text", "json", NULL};
enum { FORMAT_TEXT, FORMAT_JSON };

static int print_json(json_t *files)
{
    json_t *document = json_pack("{s:i,s:O}", "schema", 1, "files", files);
    bool printed = document != NULL && json_dumpf(document, ss_stdout_data(),
                                                  JSON_INDENT(2) | JSON_REAL_PRECISION(15)) == 0;
    fputc('\n', ss_stdout_data());
    json_decref(document);
    return printed && fflush(ss_stdout_data()) == 0 ? 0 : ss_status_exit_code(SS_E_IO);
}

/* A file of another tool, or a folder. */
static int print_model(const struct ss_arguments *arguments, const char *path, int format,
                       json_t *files, const struct ss_info_text_options *options)
{
    struct ss_model model;
    struct ss_model_load load = {.size = sizeof load, .sample_phases = true};
    struct ss_error err = {0};
    int exit_code = 0;
    if (!ss_reading_parse_memory(arguments, &load)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    ss_model_init(&model);
    if (ss_model_add_input(&model, path, &load, &err) != SS_OK) {
        exit_code = ss_cli_error(arguments, &err);
    } else if (format == FORMAT_JSON) {
        json_array_append_new(files, ss_info_model_to_json(&model, path));
    } else {
        ss_info_model_print(&model, path, options);
    }
    if (exit_code == 0 && ss_arguments_has(arguments, "check") &&
        strcmp(ss_info_model_state(&model), "complete") != 0) {
        exit_code = ss_status_exit_code(SS_E_CHECK);
    }
    ss_model_fini(&model);
    return exit_code;
}

static struct ss_info_text_options text_options(const struct ss_arguments *arguments)
{
    return (struct ss_info_text_options){
        .colour = ss_cli_use_colour(STDOUT_FILENO),
        .width = isatty(STDOUT_FILENO) ? ss_cli_terminal_width(STDOUT_FILENO) : 0,
        .all_threads = ss_arguments_has(arguments, "all")};
}

/* Prints one file; returns its exit status. */
static int print_file(const struct ss_arguments *arguments, const char *path, int format,
                      json_t *files, bool first)
{
    struct ss_info_facts facts;
    struct ss_error err = {0};
    struct ss_info_text_options options = text_options(arguments);
    int exit_code = 0;
    if (format == FORMAT_TEXT && !first) {
        fprintf(ss_stdout(), "\n");
    }
    if (ss_info_is_of_model(path)) {
        return print_model(arguments, path, format, files, &options);
    }
    if (ss_info_collect(path, &facts, &err) != SS_OK) {
        exit_code = ss_cli_error(arguments, &err);
    } else if (format == FORMAT_JSON) {
        json_array_append_new(files, ss_info_to_json(&facts));
    } else {
        ss_info_print_text(&facts, &options);
    }
    if (exit_code == 0 && ss_arguments_has(arguments, "check") &&
        strcmp(ss_info_state(&facts), "complete") != 0) {
        exit_code = ss_status_exit_code(SS_E_CHECK);
    }
    ss_info_fini(&facts);
    return exit_code;
}

static int run(const struct ss_arguments *arguments)
{
    int format;
    if (!ss_arguments_get_choice(arguments, "format", formats, FORMAT_TEXT, &format)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    if (arguments->positional_count == 0) {
        return ss_cli_usage(arguments, "needs the name of a trace");
    }
    json_t *files = json_array();
    int worst = 0;
    for (int i = 0; i < arguments->positional_count; i++) {
        int exit_code = print_file(arguments, arguments->positional[i], format, files, i == 0);
        worst = exit_code > worst ? exit_code : worst;
    }
    if (format == FORMAT_JSON) {
        int exit_code = print_json(files);
        worst = exit_code > worst ? exit_code : worst;
    }
    json_decref(files);
    return worst;
}

static const struct ss_option options[] = {
    {.long_name = "format", .argument = "FORMAT", .help = "text (the default) or json"},
    {.long_name = "all", .help = "show every process, thread and event"},
    SS_READING_MEMORY_OPTION,
    {.long_name = "check", .help = "exit with 1 unless every file is complete"},
    {0}};

static const char *const examples[] = {"stepscope info run.pftrace",
                                       "what was recorded, and how faithfully",
                                       "stepscope info --check --format json *.pftrace",
                                       "for scripts: facts about many files; status 1 unless "
                                       "all are complete",
                                       NULL};

const struct ss_command ss_command_info = {
    .name = "info",
    .summary = "show what a trace holds and how complete it is",
    .synopsis = "[options] TRACE…",
    .description =
        "Prints what was recorded, where and when, whether the file is complete, which sources "
        "ran or why they did not, what was lost, and the processes and threads with their "
        "samples. A damaged or truncated file is read as far as possible. Of files of other tools, "
        "it "
        "prints the processes, devices and events that were read.",
    .options = options,
    .examples = examples,
    .run = run,
};
