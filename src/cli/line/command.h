/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subcommands and their options as tables. The parser, --help, the man page, the reference in
 * docs/ and shell completion all come from them. Everything is immutable; main thread only.
 */
#ifndef SS_CLI_LINE_COMMAND_H
#define SS_CLI_LINE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct ss_option {
    const char *long_name; /* without dashes; NULL for a short-only option */
    char short_name;       /* 0: none */
    const char *argument; /* its name in help, e.g. "FILE"; "[=LIST]": may be left out, and then the
                             value is ""; NULL: a flag */
    const char *help;     /* one sentence, no full stop; names units and the default */
    const char *group;    /* heading in help; NULL: as in the previous row */
    bool hidden;          /* accepted, not shown */
    bool is_input;        /* its value counts as a positional argument */
};

/* The parsed command line: values[i] belongs to options[i]. */
struct ss_arguments {
    const struct ss_command *command;
    const char **values; /* by option index; NULL: not given; "" for a flag */
    unsigned *counts;    /* by option index: how often it was given */
    char **positional;   /* NULL-terminated, borrowed from argv */
    int positional_count;
    bool after_dashes; /* positional[dashes_at …] follow "--" */
    int dashes_at;
};

/* The choices of an option that another table declares. */
struct ss_option_choices {
    const char *option; /* its long name; NULL: ends a list */
    /* Each choice with its meaning; NULL after the last. */
    const char *(*choice)(size_t index, const char **meaning);
};

struct ss_command {
    const char *name;
    const char *summary;             /* one line, imperative, for the command list */
    const char *synopsis;            /* after "stepscope NAME", e.g. "[options] INPUT…" */
    const char *description;         /* paragraphs for --help and the man page */
    const struct ss_option *options; /* ends with an all-zero row */
    const char *const *examples;     /* "command line\0meaning" pairs are two entries; NULL ends */
    bool stops_at_positional;        /* options after the first positional belong to the program */
    const struct ss_option_choices *choices; /* NULL: no option has any */
    /* Returns the exit status. Prints its own errors (ss_cli_error). */
    int (*run)(const struct ss_arguments *arguments);
};

/* NULL-terminated, in help order (commands.def). */
extern const struct ss_command *const ss_commands[];

/* NULL: no other table declares the choices of this option. */
const struct ss_option_choices *ss_option_choices_of(const struct ss_command *command,
                                                     const struct ss_option *option);

/* Fills *arguments. -1: run the command; else the exit status (help or a usage error was
 * printed). */
int ss_arguments_parse(const struct ss_command *command, int argc, char **argv,
                       struct ss_arguments *arguments);
void ss_arguments_fini(struct ss_arguments *arguments);

/* By long name, else by the single letter. A name that is not in the table is a bug. */
bool ss_arguments_has(const struct ss_arguments *arguments, const char *option);
const char *ss_arguments_get(const struct ss_arguments *arguments, const char *option);
/* Strict number parsing: whole text, range checked; prints the usage error and returns false. */
bool ss_arguments_get_integer(const struct ss_arguments *arguments, const char *option,
                              long long minimum, long long maximum, long long fallback,
                              long long *value);
bool ss_arguments_get_number(const struct ss_arguments *arguments, const char *option,
                             double minimum, double maximum, double fallback, double *value);
/* A size such as 500M, 1.5G or 4096: K, M, G and T are powers of 1024. At least 1 MiB; `fallback`
 * when the option is not given. */
bool ss_arguments_get_bytes(const struct ss_arguments *arguments, const char *option,
                            uint64_t fallback, uint64_t *value);
/* Index of the value in a NULL-terminated list of choices; `fallback` when the option is not given.
 * For a value outside the list: prints the usage error, with the choices, and returns false. */
bool ss_arguments_get_choice(const struct ss_arguments *arguments, const char *option,
                             const char *const *choices, int fallback, int *index);

/* Prints "stepscope NAME: message" on stderr (colour on a terminal) and returns the exit code. */
int ss_cli_error(const struct ss_arguments *arguments, const struct ss_error *err);
/* The same for wrong usage, with the line that points to --help; returns 2. */
int ss_cli_usage(const struct ss_arguments *arguments, const char *format, ...) SS_PRINTF(2, 3);

/* True when `stream_fd` is a terminal, TERM is not dumb, and NO_COLOR is not set. */
bool ss_cli_use_colour(int stream_fd);
/* A launcher relays what this process prints: it is plain, also if the launcher made a terminal for
 * it. */
void ss_cli_set_relayed(void);
bool ss_cli_is_terminal(int stream_fd);
int ss_cli_terminal_width(int stream_fd); /* columns; 80 when unknown */

#endif
