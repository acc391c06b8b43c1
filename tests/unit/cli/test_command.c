/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of options: what it fills in, on a command of this test. */
#include "cli/line/command.h"

#include "command_line.h"

static int no_run(const struct ss_arguments *arguments)
{
    (void)arguments;
    fail_msg("%s", "the parser runs nothing");
    return 0;
}

static const struct ss_option options[] = {
    {.long_name = "rate", .short_name = 'r', .argument = "HZ"},
    {.long_name = "quiet", .short_name = 'q'},
    {.long_name = "stats", .argument = "[=WHEN]"},
    {.long_name = "part", .argument = "FILE", .is_input = true},
    {.short_name = 'h', .argument = "HOST"},
    {0}};
static const struct ss_command reads = {
    .name = "reads", .synopsis = "", .description = "", .options = options, .run = no_run};
static const struct ss_command runs = {.name = "runs",
                                       .synopsis = "",
                                       .description = "",
                                       .options = options,
                                       .run = no_run,
                                       .stops_at_positional = true};

static struct ss_arguments arguments;

/* Frees what the last call parsed. */
static int parse_words(const struct ss_command *command, const char *const *words)
{
    static char *argv[16];
    int argc = 0;
    ss_arguments_fini(&arguments);
    for (; words[argc] != NULL; argc++) {
        argv[argc] = keep_text(strdup(words[argc]));
    }
    argv[argc] = NULL;
    return ss_arguments_parse(command, argc, argv, &arguments);
}

#define parse(command, ...) parse_words(command, (const char *const[]){"x", __VA_ARGS__, NULL})

static int forget(void **state)
{
    ss_arguments_fini(&arguments);
    return leave_folder(state);
}

#define parses(test) cmocka_unit_test_setup_teardown(test, enter_folder, forget)

static void expect_positional(const char *const *words)
{
    int count = 0;
    for (; words[count] != NULL; count++) {
        assert_true(count < arguments.positional_count);
        assert_string_equal(arguments.positional[count], words[count]);
    }
    assert_int_equal(arguments.positional_count, count);
    assert_null(arguments.positional[count]);
}

static void test_options_stand_anywhere(void **state)
{
    (void)state;
    assert_int_equal(parse(&reads, "a", "-r", "5", "b", "--quiet", "c"), -1);
    assert_string_equal(ss_arguments_get(&arguments, "rate"), "5");
    assert_string_equal(ss_arguments_get(&arguments, "r"), "5");
    assert_true(ss_arguments_has(&arguments, "quiet"));
    assert_string_equal(ss_arguments_get(&arguments, "quiet"), "");
    assert_false(ss_arguments_has(&arguments, "stats"));
    assert_null(ss_arguments_get(&arguments, "stats"));
    expect_positional((const char *const[]){"a", "b", "c", NULL});
    assert_false(arguments.after_dashes);
}

static void test_forms_of_a_value(void **state)
{
    (void)state;
    static const char *const forms[][3] = {{"--rate=7", NULL},  {"--rate", "7", NULL},
                                           {"-r7", NULL},       {"-r", "7", NULL},
                                           {"--ra", "7", NULL}, {"-qr7", NULL}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *words[4] = {"x"};
        memcpy(words + 1, forms[i], sizeof forms[i]);
        assert_int_equal(parse_words(&reads, words), -1);
        assert_string_equal(ss_arguments_get(&arguments, "rate"), "7");
        assert_int_equal(arguments.positional_count, 0);
    }
}

static void test_the_last_value_counts(void **state)
{
    (void)state;
    assert_int_equal(parse(&reads, "-r", "1", "--rate=", "-qq"), -1);
    assert_string_equal(ss_arguments_get(&arguments, "rate"), "");
    assert_int_equal(arguments.counts[0], 2);
    assert_int_equal(arguments.counts[1], 2);
    assert_int_equal(arguments.counts[2], 0);
}

static void test_a_value_that_may_be_left_out(void **state)
{
    (void)state;
    assert_int_equal(parse(&reads, "--stats", "a"), -1);
    assert_string_equal(ss_arguments_get(&arguments, "stats"), "");
    expect_positional((const char *const[]){"a", NULL});
    assert_int_equal(parse(&reads, "--stats=late", "a"), -1);
    assert_string_equal(ss_arguments_get(&arguments, "stats"), "late");
}

static void test_an_option_that_is_an_input(void **state)
{
    (void)state;
    assert_int_equal(parse(&reads, "a", "--part", "b", "c", "--part=d"), -1);
    assert_string_equal(ss_arguments_get(&arguments, "part"), "d");
    expect_positional((const char *const[]){"a", "b", "c", "d", NULL});
}

static void test_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(parse(&reads, "a", "--", "-r", "--quiet"), -1);
    assert_false(ss_arguments_has(&arguments, "rate"));
    expect_positional((const char *const[]){"a", "-r", "--quiet", NULL});
    assert_true(arguments.after_dashes);
    assert_int_equal(arguments.dashes_at, 1);
    assert_int_equal(parse(&reads, "a", "--"), -1);
    assert_true(arguments.after_dashes);
    assert_int_equal(arguments.dashes_at, 1);
}

static void test_the_options_of_a_program_are_its_own(void **state)
{
    (void)state;
    assert_int_equal(parse(&runs, "-r", "9", "train.py", "-q", "--rate", "1"), -1);
    assert_string_equal(ss_arguments_get(&arguments, "rate"), "9");
    assert_false(ss_arguments_has(&arguments, "quiet"));
    expect_positional((const char *const[]){"train.py", "-q", "--rate", "1", NULL});
    assert_false(arguments.after_dashes);
    assert_int_equal(parse(&runs, "-q", "--", "-r", "1"), -1);
    assert_true(ss_arguments_has(&arguments, "quiet"));
    assert_false(ss_arguments_has(&arguments, "rate"));
    expect_positional((const char *const[]){"-r", "1", NULL});
    assert_true(arguments.after_dashes);
    assert_int_equal(arguments.dashes_at, 0);
}

/* What a command has, the parser does not take from it. */
static void test_a_letter_of_help_may_be_an_option(void **state)
{
    (void)state;
    assert_int_equal(parse(&reads, "-h", "node1"), -1);
    assert_string_equal(ss_arguments_get(&arguments, "h"), "node1");
}

/* --- values ----------------------------------------------------------------------------------- */

static void expect_integer(const char *text, bool is_valid, long long wanted)
{
    long long value = 77;
    assert_int_equal(text != NULL ? parse(&reads, "--rate", text) : parse(&reads, "a"), -1);
    assert_int_equal(ss_arguments_get_integer(&arguments, "rate", -5, 300, 42, &value), is_valid);
    if (is_valid) {
        assert_int_equal(value, wanted);
    }
}

static void test_whole_numbers(void **state)
{
    (void)state;
    expect_integer(NULL, true, 42);
    expect_integer("-5", true, -5);
    expect_integer("300", true, 300);
    expect_integer("0x12c", true, 300);
    expect_integer("010", true, 10); /* not octal */
    static const char *const wrong[] = {
        "-6", "301", "", "x", "1.5", "1 ", "0x", "99999999999999999999", "1e2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_integer(wrong[i], false, 0);
    }
}

static void expect_number(const char *text, bool is_valid, double wanted)
{
    double value = 77;
    assert_int_equal(text != NULL ? parse(&reads, "--rate", text) : parse(&reads, "a"), -1);
    assert_int_equal(ss_arguments_get_number(&arguments, "rate", 0.5, 1e9, 2, &value), is_valid);
    if (is_valid) {
        assert_true(value == wanted);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    expect_number(NULL, true, 2);
    expect_number("0.5", true, 0.5);
    expect_number("1e9", true, 1e9);
    expect_number(".75", true, 0.75);
    static const char *const wrong[] = {"0.4", "1.1e9", "nan", "inf", "", "1s", "-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_number(wrong[i], false, 0);
    }
}

static void test_choices(void **state)
{
    (void)state;
    static const char *const choices[] = {"off", "on", NULL};
    int index = 77;
    assert_int_equal(parse(&reads, "a"), -1);
    assert_true(ss_arguments_get_choice(&arguments, "rate", choices, -1, &index));
    assert_int_equal(index, -1);
    assert_int_equal(parse(&reads, "--rate", "on"), -1);
    assert_true(ss_arguments_get_choice(&arguments, "rate", choices, 0, &index));
    assert_int_equal(index, 1);
    static const char *const wrong[] = {"o", "On", "", "on,off"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(parse(&reads, "--rate", wrong[i]), -1);
        assert_false(ss_arguments_get_choice(&arguments, "rate", choices, 0, &index));
    }
}

static void test_the_width_of_no_terminal(void **state)
{
    (void)state;
    int file = open("x", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(ss_cli_terminal_width(file), 80);
    assert_false(ss_cli_is_terminal(file));
    assert_false(ss_cli_use_colour(file));
    close(file);
}

static void test_each_failure_has_its_exit_status(void **state)
{
    (void)state;
    static const int statuses[SS_STATUS_COUNT] = {
        [SS_E_CHECK] = 1,    [SS_E_USAGE] = 2,    [SS_E_FORMAT] = 3,     [SS_E_TRUNCATED] = 3,
        [SS_E_CHECKSUM] = 3, [SS_E_LIMIT] = 3,    [SS_E_EMPTY] = 3,      [SS_E_IO] = 4,
        [SS_E_NOSPACE] = 4,  [SS_E_NOTFOUND] = 4, [SS_E_PERMISSION] = 4, [SS_E_UNSUPPORTED] = 4,
        [SS_E_BUSY] = 4,     [SS_E_GONE] = 4,     [SS_E_AGAIN] = 4,      [SS_E_NOMEM] = 4,
        [SS_E_BUG] = 5};
    assert_int_equal(parse(&reads, "file"), -1);
    for (int kind = SS_OK + 1; kind < SS_STATUS_COUNT; kind++) {
        struct ss_error err;
        ss_fail(&err, (enum ss_status)kind, "why");
        assert_int_equal(ss_cli_error(&arguments, &err), statuses[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        parses(test_options_stand_anywhere),
        parses(test_forms_of_a_value),
        parses(test_the_last_value_counts),
        parses(test_a_value_that_may_be_left_out),
        parses(test_an_option_that_is_an_input),
        parses(test_dashes_end_the_options),
        parses(test_the_options_of_a_program_are_its_own),
        parses(test_a_letter_of_help_may_be_an_option),
        parses(test_whole_numbers),
        parses(test_numbers),
        parses(test_choices),
        parses(test_the_width_of_no_terminal),
        parses(test_each_failure_has_its_exit_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
