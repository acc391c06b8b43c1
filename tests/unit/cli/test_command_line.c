/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for the command line as a whole: commands by name, help, wrong options. */
#include "command_line.h"

#include "base/version.h"
#include "cli/line/command.h"

static void test_the_start_page_names_the_first_commands(void **state)
{
    (void)state;
    struct ran ran = stepscope_to(-1, (const char *const[]){"stepscope", NULL});
    expect_status(&ran, 0);
    size_t lines = 0;
    for (const char *at = ran.out; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    assert_int_equal(lines, 5);
    expect_text(ran.out, "  stepscope record -- python train.py   record it");
    assert_string_equal(ran.err, "");
}

static void test_the_version_is_one_line(void **state)
{
    (void)state;
    assert_string_equal(stepscope("--version").out, "stepscope " SS_VERSION "\n");
    assert_string_equal(stepscope("-V").out, "stepscope " SS_VERSION "\n");
}

static void test_each_command_is_listed_and_has_help(void **state)
{
    (void)state;
    const char *overview = stepscope("--help").out;
    assert_string_equal(stepscope("-h").out, overview);
    for (int i = 0; ss_commands[i] != NULL; i++) {
        char line[200];
        const char *name = ss_commands[i]->name;
        snprintf(line, sizeof line, "\n  %-12s%s\n", name, ss_commands[i]->summary);
        expect_text(overview, line);
        struct ran ran = stepscope(name, "--help");
        expect_status(&ran, 0);
        snprintf(line, sizeof line, "stepscope %s %s\n\n", name, ss_commands[i]->synopsis);
        assert_memory_equal(ran.out, line, strlen(line));
        assert_string_equal(stepscope("help", name).out, ran.out);
        assert_string_equal(stepscope(name, "-h").out, ran.out);
        assert_string_equal(ran.err, "");
        expect_no_text(ran.out, "\033");
    }
}

/* Every shown option of every command, with its argument and the choices of another table. */
static void test_help_has_each_option(void **state)
{
    (void)state;
    for (int i = 0; ss_commands[i] != NULL; i++) {
        const char *help = stepscope(ss_commands[i]->name, "--help").out;
        const struct ss_option *option = ss_commands[i]->options;
        for (; option->long_name != NULL || option->short_name != 0; option++) {
            char left[120];
            const char *argument = option->argument != NULL ? option->argument : "";
            snprintf(left, sizeof left, "%s%s%s%s", option->long_name != NULL ? "  --" : "  -",
                     option->long_name != NULL ? option->long_name
                                               : (const char[]){option->short_name, '\0'},
                     argument[0] == '\0' || argument[0] == '[' ? "" : " ", argument);
            if (option->short_name != 0 && option->long_name != NULL) {
                left[1] = ','; /* "-f, --format FORMAT" */
                memmove(left + 2, left + 1, strlen(left));
                left[2] = ' ';
                memmove(left, left + 1, strlen(left));
            }
            assert_int_equal(has_text(help, left), !option->hidden);
        }
    }
}

static void test_choices_of_other_tables_are_in_the_help(void **state)
{
    (void)state;
    const char *help = stepscope("report", "--help").out;
    expect_text(help, "\n            markdown      as text, for GitHub and wikis\n");
    expect_text(help, "\n            json          all figures, with units, for programs\n");
}

static void test_hidden_options_are_accepted_but_not_shown(void **state)
{
    (void)state;
    expect_no_text(stepscope("help", "help").out, "--format");
    expect_text(stepscope("help", "--format", "markdown").out, "## stepscope report\n");
    struct ran ran = stepscope("help", "--format", "man", "doctor");
    expect_status(&ran, 2);
    assert_string_equal(ran.out, "");
}

static void test_a_full_device_is_an_error(void **state)
{
    (void)state;
    static const char *const pages[] = {"markdown", "man", "bash"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        assert_true(full >= 0);
        struct ran ran = stepscope_to(
            full, (const char *const[]){"stepscope", "help", "--format", pages[i], NULL});
        close(full);
        expect_status(&ran, 4);
        expect_text(ran.err, "standard output");
    }
}

static void test_commands_by_the_begin_of_their_name(void **state)
{
    (void)state;
    assert_string_equal(stepscope("doc", "--help").out, stepscope("doctor", "--help").out);
    assert_string_equal(stepscope("h", "doctor").out, stepscope("help", "doctor").out);
}

static void expect_refused(const char *word, const char *message)
{
    struct ran ran = stepscope(word, "x");
    expect_status(&ran, 2);
    assert_string_equal(ran.out, "");
    assert_string_equal(ran.err, message);
}

static void test_unknown_commands(void **state)
{
    (void)state;
    expect_refused("nonsense",
                   "stepscope: no command \"nonsense\". \"stepscope --help\" lists them.\n");
    expect_refused("reprot", "stepscope: no command \"reprot\"; did you mean \"report\"?\n");
    expect_refused("rep", "stepscope: \"rep\" may be report or repair\n");
    expect_refused("re", "stepscope: \"re\" may be record, report or repair\n");
    expect_refused("", "stepscope: no command \"\". \"stepscope --help\" lists them.\n");
    expect_refused("\033[31mx\nWARNING",
                   "stepscope: no command \"\357\277\275[31mx\357\277\275WARNING\". \"stepscope "
                   "--help\" lists them.\n");
}

static void test_unknown_options(void **state)
{
    (void)state;
    static const struct {
        const char *words[4];
        const char *message;
    } cases[] = {
        {{"report", "--bogus"}, "stepscope report: unknown option --bogus\n"},
        {{"report", "--bye", "x"}, "unknown option --bye; did you mean --by?\n"},
        {{"report", "--hlep"}, "unknown option --hlep; did you mean --help?\n"},
        {{"record", "--outptu=x"}, "unknown option --outptu; did you mean --output?\n"},
        {{"report", "--li", "x"}, "option --li may be --library-name, --library-substring\n"},
        {{"report", "--li=x"}, "option --li may be --library-name, --library-substring\n"},
        {{"record", "--counters-k", "x", "-Z"}, "unknown option -Z\n"}, /* hidden, yet accepted */
        {{"record", "--counters-kernels"},
         "unknown option --counters-kernels\n"}, /* not suggested */
        {{"report", "-Z"}, "unknown option -Z\n"},
        {{"report", "-iZ"}, "unknown option -Z\n"},
        {{"report", "--by"}, "option --by needs a value\n"},
        {{"report", "-o"}, "option -o needs a value\n"},
        {{"flame", "--nolineno=3"}, "option --nolineno=3 takes no value\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words[6] = {"stepscope"};
        memcpy(words + 1, cases[i].words, sizeof cases[i].words);
        struct ran ran = stepscope_to(-1, words);
        expect_usage_error(&ran, cases[i].message);
    }
    expect_text(stepscope("help", "--bogus").err, "Try \"stepscope help --help\".\n");
}

static void test_names_in_messages_are_one_clean_line(void **state)
{
    (void)state;
    static const char evil[] = "\033[31mno\a\rWARNING\nWARNING";
    const char *const *const lines[] = {
        (const char *const[]){"stepscope", "report", evil, NULL},
        (const char *const[]){"stepscope", "flame", evil, NULL},
        (const char *const[]){"stepscope", "export", "--to", "raw", evil, NULL},
        (const char *const[]){"stepscope", "info", evil, NULL},
        (const char *const[]){"stepscope", "repair", evil, "-o", "x", NULL},
        (const char *const[]){"stepscope", "report", "--by", evil, NULL},
        (const char *const[]){"stepscope", "export", "--to", evil, NULL},
        (const char *const[]){"stepscope", "record", "-o", evil, "--schedule", evil, "--", "x",
                              NULL},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct ran ran = stepscope_to(-1, lines[i]);
        assert_int_not_equal(ran.status, 0);
        expect_text(ran.err, "WARNING");
        expect_no_text(ran.err, "\nWARNING");
        expect_no_text(ran.err, "\033");
        expect_no_text(ran.err, "\a");
        expect_no_text(ran.err, "\r");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(test_the_start_page_names_the_first_commands),
        in_folder(test_the_version_is_one_line),
        in_folder(test_each_command_is_listed_and_has_help),
        in_folder(test_help_has_each_option),
        in_folder(test_choices_of_other_tables_are_in_the_help),
        in_folder(test_hidden_options_are_accepted_but_not_shown),
        in_folder(test_a_full_device_is_an_error),
        in_folder(test_commands_by_the_begin_of_their_name),
        in_folder(test_unknown_commands),
        in_folder(test_unknown_options),
        in_folder(test_names_in_messages_are_one_clean_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
