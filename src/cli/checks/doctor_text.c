/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/checks/doctor_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/line/command.h"

enum { NAME_COLUMN = 10, TEXT_COLUMN = 31, LEAST_WIDTH = 40, MOST_WIDTH = 90 };

/* Breaks at blanks so that the text stays in its column. */
static void print_text(const char *text, int width)
{
    int column = 0;
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + word > width) {
            fprintf(ss_stdout(), "\n%*s", TEXT_COLUMN, "");
            column = 0;
        } else if (column > 0) {
            fputc(' ', ss_stdout());
            column++;
        }
        fprintf(ss_stdout(), "%.*s", word, text);
        column += word;
        text += word + (text[word] == ' ');
    }
    fputc('\n', ss_stdout());
}

void ss_doctor_print_line(const struct ss_doctor_line *line)
{
    bool colour = ss_cli_use_colour(STDOUT_FILENO);
    int width = ss_cli_terminal_width(STDOUT_FILENO) - TEXT_COLUMN - 1;
    width = width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;
    fprintf(ss_stdout(), "%s%-*s%s%-*s", colour ? ss_style(line->style) : "", NAME_COLUMN,
            line->level, colour ? SS_OFF : "", TEXT_COLUMN - NAME_COLUMN, line->name);
    print_text(line->text, width);
    if (line->fix[0] != '\0') {
        fprintf(ss_stdout(), "%*sfix: ", TEXT_COLUMN, "");
        print_text(line->fix, width);
    }
}
