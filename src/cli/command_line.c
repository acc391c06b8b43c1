/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_line.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/command_help.h"
#include "cli/suggestion.h"
#include "platform/descriptors.h"
#include "view/text_cell.h"

enum { MAX_NAME_BYTES = 1024 };

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
    const struct ss_command *command = find_command(argv[1]);
    if (command == NULL) {
        return fail_unknown_command(argv[1]);
    }
    struct ss_arguments arguments;
    int status = ss_arguments_parse(command, argc - 1, argv + 1, &arguments);
    if (status < 0) {
        status = command->run(&arguments);
    }
    ss_arguments_fini(&arguments);
    return status;
}
