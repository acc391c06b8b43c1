/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/line/command_help.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"

enum { OPTION_COLUMN = 30, TEXT_WIDTH = 78 };

struct style {
    const char *bold, *dim, *off;
};

static struct style style_of(int stream_fd)
{
    return ss_cli_use_colour(stream_fd) ? (struct style){SS_BOLD, SS_DIM, SS_OFF}
                                        : (struct style){"", "", ""};
}

/* Wraps `text` at blanks beside `indent` columns; keeps explicit newlines. */
static void print_wrapped(FILE *out, const char *text, int indent, int start_column)
{
    int column = start_column;
    while (*text != '\0') {
        size_t word = strcspn(text, " \n");
        if (column > indent && column + (int)word + 1 > TEXT_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += (int)word;
        text += word;
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        text += *text != '\0';
    }
    fputc('\n', out);
}

static FILE *stream_of(int stream_fd)
{
    return stream_fd == STDERR_FILENO ? ss_stderr() : ss_stdout();
}

static void print_option(FILE *out, const struct ss_option *option)
{
    char left[128];
    int used = option->short_name != 0 ? snprintf(left, sizeof left, "  -%c", option->short_name)
                                       : snprintf(left, sizeof left, "    ");
    if (option->long_name != NULL) {
        used += snprintf(left + used, sizeof left - (size_t)used, "%s--%s",
                         option->short_name != 0 ? ", " : "  ", option->long_name);
    }
    if (option->argument != NULL) {
        used += snprintf(left + used, sizeof left - (size_t)used, "%s%s",
                         option->argument[0] == '[' ? "" : " ", option->argument);
    }
    fputs(left, out);
    if (used + 2 > OPTION_COLUMN) {
        fprintf(out, "\n%*s", OPTION_COLUMN, "");
    } else {
        fprintf(out, "%*s", OPTION_COLUMN - used, "");
    }
    print_wrapped(out, option->help, OPTION_COLUMN, OPTION_COLUMN);
}

/* The choices of an option that another table declares. */
static void print_choices(FILE *out, const struct ss_command *command,
                          const struct ss_option *option)
{
    enum { WORD_COLUMN = 12, MEANING_COLUMN = 26 };
    const char *word, *meaning;
    const struct ss_option_choices *choices = ss_option_choices_of(command, option);
    for (size_t i = 0; choices != NULL && (word = choices->choice(i, &meaning)) != NULL; i++) {
        fprintf(out, "%*s%-*s", WORD_COLUMN, "", MEANING_COLUMN - WORD_COLUMN, word);
        print_wrapped(out, meaning, MEANING_COLUMN, MEANING_COLUMN);
    }
}

static void print_options(FILE *out, const struct style *style, const struct ss_command *command)
{
    const struct ss_option *option = command->options;
    const char *group = "Options";
    const char *printed = NULL;
    for (; option->long_name != NULL || option->short_name != 0; option++) {
        group = option->group != NULL ? option->group : group;
        if (option->hidden) {
            continue;
        }
        if (printed == NULL || strcmp(printed, group) != 0) {
            fprintf(out, "\n%s%s%s\n", style->bold, group, style->off);
            printed = group;
        }
        print_option(out, option);
        print_choices(out, command, option);
    }
}

void ss_help_command(const struct ss_command *command, int stream_fd)
{
    FILE *out = stream_of(stream_fd);
    struct style style = style_of(stream_fd);
    fprintf(out, "%sstepscope %s%s %s\n\n", style.bold, command->name, style.off,
            command->synopsis);
    print_wrapped(out, command->description, 0, 0);
    print_options(out, &style, command);
    if (command->examples != NULL && command->examples[0] != NULL) {
        fprintf(out, "\n%sExamples%s\n", style.bold, style.off);
        for (int i = 0; command->examples[i] != NULL; i += 2) {
            fprintf(out, "  %s\n      %s%s%s\n", command->examples[i], style.dim,
                    command->examples[i + 1], style.off);
        }
    }
    fflush(out);
}

void ss_help_overview(int stream_fd)
{
    FILE *out = stream_of(stream_fd);
    struct style style = style_of(stream_fd);
    fprintf(out,
            "%sstepscope%s: one timeline of a training run, and where its time went\n\n"
            "%sUsage%s\n  stepscope COMMAND [options] …\n\n%sCommands%s\n",
            style.bold, style.off, style.bold, style.off, style.bold, style.off);
    for (int i = 0; ss_commands[i] != NULL; i++) {
        fprintf(out, "  %-12s%s\n", ss_commands[i]->name, ss_commands[i]->summary);
    }
    fprintf(out,
            "\n\"stepscope nsys\", \"ncu\" and \"py-spy\" take the command lines of those tools.\n"
            "\"stepscope COMMAND --help\" describes one command; \"stepscope --version\" "
            "prints the version.\n");
    fflush(out);
}

void ss_help_start(int stream_fd)
{
    FILE *out = stream_of(stream_fd);
    struct style style = style_of(stream_fd);
    fprintf(out,
            "%sstepscope%s shows where the time of a training step goes.\n"
            "  %sstepscope record -- python train.py%s   record it: no code change, no root\n"
            "  %sstepscope report%s                      tables of the newest recording here\n"
            "  %sstepscope flame%s                       its flame graph, as SVG\n"
            "  %sstepscope doctor%s                      what works on this machine, and fixes\n",
            style.bold, style.off, style.bold, style.off, style.bold, style.off, style.bold,
            style.off, style.bold, style.off);
    fflush(out);
}
