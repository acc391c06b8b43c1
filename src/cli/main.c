/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/terminal.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/command_help.h"
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

static int fail_unknown_command(const char *name)
{
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, MAX_NAME_BYTES);
    ss_text_append_clean(&clean, ss_strview_of(name));
    fprintf(ss_stderr(), "stepscope: no command \"%s\". \"stepscope --help\" lists them.\n",
            clean.data);
    ss_strbuf_fini(&clean);
    return ss_status_exit_code(SS_E_USAGE);
}

int main(int argc, char **argv)
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
    ss_alloc_return_blocks();
    struct ss_arguments arguments;
    int status = ss_arguments_parse(command, argc - 1, argv + 1, &arguments);
    if (status < 0) {
        status = command->run(&arguments);
    }
    ss_arguments_fini(&arguments);
    return status;
}
