/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/command_line.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/version.h"
#include "cli/line/command.h"
#include "cli/line/command_help.h"
#include "cli/line/suggestion.h"
#include "cli/line/translation.h"
#include "platform/descriptors.h"
#include "view/output/text_cell.h"

enum { MAX_NAME_BYTES = 1024, MAX_LINE_BYTES = 1 << 20, MAX_TABLE_BYTES = 1 << 18 };

/* Exact names first, then a prefix that only one command has ("rec"). */
static const struct ss_command *find_command(const char *name)
{
    const struct ss_command *found = NULL;
    int matches = 0;
    for (int i = 0; ss_commands[i] != NULL; i++) {
        if (strcmp(ss_commands[i]->name, name) == 0) {
            return ss_commands[i];
        }
        if (strncmp(ss_commands[i]->name, name, strlen(name)) == 0) {
            found = ss_commands[i];
            matches++;
        }
    }
    return matches == 1 ? found : NULL;
}

/* "record, report or repair": the commands that begin so, at least two; else nothing. */
static void append_commands(struct ss_strbuf *out, const char *prefix)
{
    size_t length = strlen(prefix), count = 0, at = 0;
    for (int i = 0; ss_commands[i] != NULL; i++) {
        count += strncmp(ss_commands[i]->name, prefix, length) == 0;
    }
    for (int i = 0; count > 1 && ss_commands[i] != NULL; i++) {
        if (strncmp(ss_commands[i]->name, prefix, length) == 0) {
            ss_strbuf_append_format(out, "%s%s",
                                    at == 0          ? ""
                                    : at + 1 < count ? ", "
                                                     : " or ",
                                    ss_commands[i]->name);
            at++;
        }
    }
}

static int fail_unknown_command(const char *name)
{
    struct ss_suggestion meant = {.word = name};
    struct ss_strbuf clean, several;
    ss_strbuf_init(&clean, MAX_NAME_BYTES);
    ss_strbuf_init(&several, MAX_NAME_BYTES);
    ss_text_append_clean(&clean, ss_strview_of(name));
    append_commands(&several, name[0] != '\0' ? name : "-");
    for (int i = 0; ss_commands[i] != NULL; i++) {
        ss_suggestion_offer(&meant, ss_commands[i]->name);
    }
    if (several.length > 0) {
        fprintf(ss_stderr(), "stepscope: \"%s\" may be %s\n", clean.data, several.data);
    } else if (meant.name != NULL) {
        fprintf(ss_stderr(), "stepscope: no command \"%s\"; did you mean \"%s\"?\n", clean.data,
                meant.name);
    } else {
        fprintf(ss_stderr(), "stepscope: no command \"%s\". \"stepscope --help\" lists them.\n",
                clean.data);
    }
    ss_strbuf_fini(&clean);
    ss_strbuf_fini(&several);
    return ss_status_exit_code(SS_E_USAGE);
}

static int run_command(const struct ss_command *command, int argc, char **argv)
{
    struct ss_arguments arguments;
    int status = ss_arguments_parse(command, argc, argv, &arguments);
    if (status < 0) {
        status = command->run(&arguments);
    }
    ss_arguments_fini(&arguments);
    return status;
}

static int print_translations(const char *tool)
{
    struct ss_strbuf table;
    ss_strbuf_init(&table, MAX_TABLE_BYTES);
    ss_translation_append_table(&table, tool);
    fwrite(table.data + 1, 1, table.length - 1, ss_stdout()); /* without the first empty line */
    ss_strbuf_fini(&table);
    return 0;
}

/* "nsys profile …": says what that is here, and runs it. */
static int run_translated(char **argv)
{
    struct ss_translation translation;
    struct ss_error err = {0};
    struct ss_strbuf line;
    ss_strbuf_init(&line, MAX_LINE_BYTES);
    enum ss_status status = ss_translate(argv, &translation, &err);
    int exit_status = ss_status_exit_code(status);
    if (status == SS_OK) {
        ss_translation_append_line(&translation, &line);
        fprintf(ss_stderr(), "%s\n%s", line.data, translation.remarks.data);
        exit_status = run_command(find_command(translation.words.data[0]),
                                  (int)translation.words.count, translation.words.data);
    } else {
        struct ss_strbuf clean;
        ss_strbuf_init(&clean, MAX_LINE_BYTES);
        ss_text_append_clean(&clean, ss_strview_of(err.message));
        fprintf(ss_stderr(), "stepscope %s: %s\n", argv[0], clean.data);
        ss_strbuf_fini(&clean);
    }
    ss_strbuf_fini(&line);
    ss_translation_fini(&translation);
    return exit_status;
}

int ss_command_line_run(int argc, char **argv)
{
    ss_descriptors_reserve();
    if (argc < 2) {
        ss_help_start(STDOUT_FILENO);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        fprintf(ss_stdout(), "stepscope %s\n", SS_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        ss_help_overview(STDOUT_FILENO);
        return 0;
    }
    if (ss_translation_has(argv[1])) {
        bool wants_help = argc == 2 || strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0;
        return wants_help ? print_translations(argv[1]) : run_translated(argv + 1);
    }
    const struct ss_command *command = find_command(argv[1]);
    return command == NULL ? fail_unknown_command(argv[1])
                           : run_command(command, argc - 1, argv + 1);
}
