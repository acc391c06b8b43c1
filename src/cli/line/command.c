/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/line/command.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/terminal.h"
#include "cli/line/command_help.h"
#include "cli/line/suggestion.h"
#include "view/output/text_cell.h"

#define SS_COMMAND(name) extern const struct ss_command ss_command_##name;
#include "cli/line/commands.def"
#undef SS_COMMAND

const struct ss_command *const ss_commands[] = {
#define SS_COMMAND(name) &ss_command_##name,
#include "cli/line/commands.def"
#undef SS_COMMAND
    NULL};

/* getopt_long's `val` for row i: above every character, so that it differs from short options. */
enum { LONG_VALUE = 1000, HELP_VALUE = 999, MAX_OPTIONS = 128, MAX_MESSAGE_BYTES = 4096 };

const struct ss_option_choices *ss_option_choices_of(const struct ss_command *command,
                                                     const struct ss_option *option)
{
    const struct ss_option_choices *choices = command->choices;
    for (; choices != NULL && choices->option != NULL; choices++) {
        if (option->long_name != NULL && strcmp(choices->option, option->long_name) == 0) {
            return choices;
        }
    }
    return NULL;
}

static int count_options(const struct ss_command *command)
{
    int count = 0;
    while (command->options[count].long_name != NULL || command->options[count].short_name != 0) {
        count++;
    }
    return count;
}

static void build_getopt(const struct ss_command *command, int count, struct option *longs,
                         char *shorts)
{
    char *at = shorts;
    *at++ = command->stops_at_positional ? '+' : '-';
    *at++ = ':';
    int used = 0;
    bool help_letter_free = true;
    for (int i = 0; i < count; i++) {
        const struct ss_option *option = &command->options[i];
        if (option->short_name != 0) {
            *at++ = option->short_name;
            if (option->argument != NULL) {
                *at++ = ':';
            }
            help_letter_free = help_letter_free && option->short_name != 'h';
        }
        if (option->long_name != NULL) {
            bool is_flag = option->argument == NULL;
            bool is_optional = !is_flag && option->argument[0] == '[';
            longs[used++] = (struct option){.name = option->long_name,
                                            .has_arg = is_flag       ? no_argument
                                                       : is_optional ? optional_argument
                                                                     : required_argument,
                                            .val = LONG_VALUE + i};
        }
    }
    if (help_letter_free) {
        *at++ = 'h';
    }
    *at = '\0';
    longs[used++] = (struct option){.name = "help", .has_arg = no_argument, .val = HELP_VALUE};
    longs[used] = (struct option){0};
}

static int row_of(const struct ss_command *command, int count, int value)
{
    if (value >= LONG_VALUE) {
        return value - LONG_VALUE;
    }
    for (int i = 0; i < count; i++) {
        if (command->options[i].short_name == value) {
            return i;
        }
    }
    return -1;
}

/* "--library-name, --library-substring": the options that begin so. */
static size_t list_options(const struct ss_command *command, const char *prefix, size_t length,
                           char *list, size_t size)
{
    size_t count = 0, used = 0;
    for (const struct ss_option *option = command->options;
         option->long_name != NULL || option->short_name != 0; option++) {
        if (option->long_name != NULL && !option->hidden && used < size &&
            strncmp(option->long_name, prefix, length) == 0) {
            used += (size_t)snprintf(list + used, size - used, "%s--%s", count > 0 ? ", " : "",
                                     option->long_name);
            count++;
        }
    }
    return count;
}

/* `word` is an option with two dashes, and maybe "=VALUE". */
static int unknown_option(const struct ss_arguments *arguments, const char *word)
{
    char name[64], list[512] = "";
    size_t length = strcspn(word + 2, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
    if (list_options(arguments->command, word + 2, length, list, sizeof list) > 1) {
        return ss_cli_usage(arguments, "option --%s may be %s", name, list);
    }
    struct ss_suggestion meant = {.word = name};
    for (const struct ss_option *option = arguments->command->options;
         option->long_name != NULL || option->short_name != 0; option++) {
        if (option->long_name != NULL && !option->hidden) {
            ss_suggestion_offer(&meant, option->long_name);
        }
    }
    ss_suggestion_offer(&meant, "help");
    if (meant.name != NULL) {
        return ss_cli_usage(arguments, "unknown option --%s; did you mean --%s?", name, meant.name);
    }
    return ss_cli_usage(arguments, "unknown option %s", word);
}

static int bad_option(const struct ss_arguments *arguments, int code, char **argv)
{
    const char *word = argv[optind - 1];
    if (code == ':') {
        return ss_cli_usage(arguments, "option %s needs a value", word);
    }
    if (optopt != 0 && optopt < HELP_VALUE && strncmp(word, "--", 2) != 0) {
        return ss_cli_usage(arguments, "unknown option -%c", optopt);
    }
    if (optopt >= LONG_VALUE) {
        return ss_cli_usage(arguments, "option %s takes no value", word);
    }
    return unknown_option(arguments, word);
}

static void add_positional(struct ss_arguments *arguments, char *text)
{
    arguments->positional[arguments->positional_count++] = text;
}

/* An option that the command has. */
static void put_option(struct ss_arguments *arguments, int row, char *value)
{
    if (arguments->command->options[row].is_input) {
        add_positional(arguments, value);
    }
    arguments->values[row] = value != NULL ? value : "";
    arguments->counts[row]++;
}

int ss_arguments_parse(const struct ss_command *command, int argc, char **argv,
                       struct ss_arguments *arguments)
{
    int count = count_options(command);
    if (count > MAX_OPTIONS) {
        ss_bug("too many options in %s", command->name);
    }
    struct option longs[MAX_OPTIONS + 2];
    char shorts[2 * MAX_OPTIONS + 8];
    build_getopt(command, count, longs, shorts);
    *arguments = (struct ss_arguments){
        .command = command,
        .values = ss_alloc_zero((size_t)count + 1, sizeof *arguments->values),
        .counts = ss_alloc_zero((size_t)count + 1, sizeof *arguments->counts),
        .positional = ss_alloc_zero((size_t)argc + 1, sizeof *arguments->positional)};
    opterr = 0;
    optind = 0; /* forgets what the last command line was */
    int code, longest = -1;
    while ((code = getopt_long(argc, argv, shorts, longs, &longest)) != -1) {
        if (code == 1) {
            add_positional(arguments, optarg);
            continue;
        }
        if (code == HELP_VALUE || (code == 'h' && row_of(command, count, 'h') < 0)) {
            ss_help_command(command, STDOUT_FILENO);
            return 0;
        }
        int row = code == '?' || code == ':' ? -1 : row_of(command, count, code);
        if (row < 0) {
            return bad_option(arguments, code == ':' ? ':' : '?', argv);
        }
        put_option(arguments, row, optarg);
    }
    arguments->dashes_at = arguments->positional_count;
    arguments->after_dashes = optind > 1 && optind <= argc && strcmp(argv[optind - 1], "--") == 0;
    while (optind < argc) {
        add_positional(arguments, argv[optind++]);
    }
    return -1;
}

void ss_arguments_fini(struct ss_arguments *arguments)
{
    ss_free(arguments->values);
    ss_free(arguments->counts);
    ss_free(arguments->positional);
    *arguments = (struct ss_arguments){0};
}

static int find_option(const struct ss_arguments *arguments, const char *name)
{
    const struct ss_option *options = arguments->command->options;
    for (int i = 0; options[i].long_name != NULL || options[i].short_name != 0; i++) {
        bool by_long = options[i].long_name != NULL && strcmp(options[i].long_name, name) == 0;
        bool by_letter = name[1] == '\0' && options[i].short_name == name[0];
        if (by_long || by_letter) {
            return i;
        }
    }
    ss_bug("%s has no option %s", arguments->command->name, name);
}

bool ss_arguments_has(const struct ss_arguments *arguments, const char *option)
{
    return arguments->values[find_option(arguments, option)] != NULL;
}

const char *ss_arguments_get(const struct ss_arguments *arguments, const char *option)
{
    return arguments->values[find_option(arguments, option)];
}

bool ss_arguments_get_integer(const struct ss_arguments *arguments, const char *option,
                              long long minimum, long long maximum, long long fallback,
                              long long *value)
{
    const char *text = ss_arguments_get(arguments, option);
    if (text == NULL) {
        *value = fallback;
        return true;
    }
    char *end;
    errno = 0;
    int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
    *value = strtoll(text, &end, base);
    if (end == text || *end != '\0' || errno != 0 || *value < minimum || *value > maximum) {
        ss_cli_usage(arguments, "--%s takes a whole number from %lld to %lld, not \"%s\"", option,
                     minimum, maximum, text);
        return false;
    }
    return true;
}

bool ss_arguments_get_number(const struct ss_arguments *arguments, const char *option,
                             double minimum, double maximum, double fallback, double *value)
{
    const char *text = ss_arguments_get(arguments, option);
    if (text == NULL) {
        *value = fallback;
        return true;
    }
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*value) || *value < minimum || *value > maximum) {
        ss_cli_usage(arguments, "--%s takes a number from %g to %g, not \"%s\"", option, minimum,
                     maximum, text);
        return false;
    }
    return true;
}

/* "K", "KB" and "KiB" alike; -1: no unit. */
static int exponent_of_unit(const char *unit)
{
    static const char letters[] = "KMGT";
    if (unit[0] == '\0' || strcmp(unit, "B") == 0) {
        return 0;
    }
    const char *letter = strchr(letters, unit[0] & ~0x20);
    bool is_unit = letter != NULL && *letter != '\0' &&
                   (unit[1] == '\0' || strcmp(unit + 1, "B") == 0 || strcmp(unit + 1, "iB") == 0);
    return is_unit ? (int)(letter - letters) + 1 : -1;
}

bool ss_arguments_get_bytes(const struct ss_arguments *arguments, const char *option,
                            uint64_t fallback, uint64_t *value)
{
    static const double least = 1 << 20, most = (double)(UINT64_C(1) << 60);
    const char *text = ss_arguments_get(arguments, option);
    *value = fallback;
    if (text == NULL) {
        return true;
    }
    char *end;
    double number = strtod(text, &end);
    int exponent = end != text ? exponent_of_unit(end) : -1;
    double bytes = exponent >= 0 && isfinite(number) ? ldexp(number, 10 * exponent) : -1;
    if (!(bytes >= least && bytes <= most)) {
        ss_cli_usage(arguments, "--%s takes a size of at least 1M, such as 500M or 4G, not \"%s\"",
                     option, text);
        return false;
    }
    *value = (uint64_t)bytes;
    return true;
}

bool ss_arguments_get_choice(const struct ss_arguments *arguments, const char *option,
                             const char *const *choices, int fallback, int *index)
{
    const char *text = ss_arguments_get(arguments, option);
    if (text == NULL) {
        *index = fallback;
        return true;
    }
    char list[512] = "";
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *index = i;
            return true;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", choices[i]);
    }
    ss_cli_usage(arguments, "--%s takes one of %s, not \"%s\"", option, list, text);
    return false;
}

static bool is_relayed;

void ss_cli_set_relayed(void)
{
    is_relayed = true;
}

bool ss_cli_is_terminal(int stream_fd)
{
    return !is_relayed && isatty(stream_fd) == 1;
}

bool ss_cli_use_colour(int stream_fd)
{
    const char *no_colour = ss_env_get(SS_ENV_NO_COLOR);
    const char *term = ss_env_get(SS_ENV_TERM);
    return ss_cli_is_terminal(stream_fd) && (no_colour == NULL || no_colour[0] == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

int ss_cli_terminal_width(int stream_fd)
{
    struct winsize size = {0};
    if (ioctl(stream_fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) {
        return size.ws_col;
    }
    return 80;
}

static void print_message(const struct ss_arguments *arguments, const char *message)
{
    bool colour = ss_cli_use_colour(STDERR_FILENO);
    struct ss_strbuf clean; /* one line: names in the message may contain newlines */
    ss_strbuf_init(&clean, MAX_MESSAGE_BYTES);
    ss_text_append_clean(&clean, ss_strview_of(message));
    fprintf(ss_stderr(), "%sstepscope %s:%s %s\n", colour ? ss_style(SS_STYLE_BOLD_RED) : "",
            arguments->command->name, colour ? SS_OFF : "", clean.data);
    ss_strbuf_fini(&clean);
}

int ss_cli_error(const struct ss_arguments *arguments, const struct ss_error *err)
{
    print_message(arguments, err->message);
    return ss_status_exit_code(err->status);
}

int ss_cli_usage(const struct ss_arguments *arguments, const char *format, ...)
{
    char message[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    print_message(arguments, message);
    fprintf(ss_stderr(), "Try \"stepscope %s --help\".\n", arguments->command->name);
    return ss_status_exit_code(SS_E_USAGE);
}
