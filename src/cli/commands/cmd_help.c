/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "cli/commands/reference.h"
#include "cli/line/command.h"
#include "cli/line/command_help.h"

enum { MAX_PAGE_BYTES = 1 << 20 };

static int print_reference(const struct ss_arguments *arguments, void (*write)(struct ss_strbuf *))
{
    if (arguments->positional_count > 0) {
        return ss_cli_usage(arguments, "--format describes all commands; leave \"%s\" out",
                            arguments->positional[0]);
    }
    struct ss_strbuf page;
    ss_strbuf_init(&page, MAX_PAGE_BYTES);
    write(&page);
    if (page.overflow) {
        ss_bug("the reference is longer than %d bytes", MAX_PAGE_BYTES);
    }
    bool written =
        fwrite(page.data, 1, page.length, ss_stdout()) == page.length && fflush(ss_stdout()) == 0;
    ss_strbuf_fini(&page);
    if (!written) {
        struct ss_error err;
        ss_fail(&err, SS_E_IO, "the page could not be written to standard output");
        return ss_cli_error(arguments, &err);
    }
    return 0;
}

static int run(const struct ss_arguments *arguments)
{
    static const char *const formats[] = {"text", "markdown", "man", "bash", NULL};
    static void (*const writers[])(struct ss_strbuf *) = {NULL, ss_reference_markdown,
                                                          ss_reference_man, ss_reference_bash};
    int format;
    if (!ss_arguments_get_choice(arguments, "format", formats, 0, &format)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    if (writers[format] != NULL) {
        return print_reference(arguments, writers[format]);
    }
    if (arguments->positional_count == 0) {
        ss_help_overview(STDOUT_FILENO);
        return 0;
    }
    const char *name = arguments->positional[0];
    for (int i = 0; ss_commands[i] != NULL; i++) {
        if (strcmp(ss_commands[i]->name, name) == 0) {
            ss_help_command(ss_commands[i], STDOUT_FILENO);
            return 0;
        }
    }
    return ss_cli_usage(arguments, "no command \"%s\"", name);
}

static const struct ss_option options[] = {
    {"format", 0, "text|markdown|man|bash",
     "everything as a reference page, a man page or a shell completion", NULL, true},
    {0},
};

static const char *const examples[] = {"stepscope help record", "the options of record", NULL};

const struct ss_command ss_command_help = {
    .name = "help",
    .summary = "describe a command",
    .synopsis = "[COMMAND]",
    .description = "Prints the commands, or the options and examples of one command.",
    .options = options,
    .examples = examples,
    .run = run,
};
