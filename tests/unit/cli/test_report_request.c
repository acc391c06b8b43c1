/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of `report` ask for, and what they may not ask for together. */
#include "cli/reading/report_request.h"

#include "analysis/samples/hotspots.h"
#include "analysis/tables/overview.h"
#include "command_line.h"

static struct ss_arguments arguments;
static struct ss_report_request request;

static const struct ss_command *report_command(void)
{
    int i = 0;
    while (strcmp(ss_commands[i]->name, "report") != 0) {
        i++;
    }
    return ss_commands[i];
}

static bool ask_words(const char *const *words)
{
    static char *argv[16];
    int argc = 0;
    ss_arguments_fini(&arguments);
    for (; words[argc] != NULL; argc++) {
        argv[argc] = keep_text(strdup(words[argc]));
    }
    argv[argc] = NULL;
    assert_int_equal(ss_arguments_parse(report_command(), argc, argv, &arguments), -1);
    return ss_report_request_parse(&arguments, &request);
}

#define ask(...) ask_words((const char *const[]){"report", __VA_ARGS__, NULL})

static int forget(void **state)
{
    ss_arguments_fini(&arguments);
    return leave_folder(state);
}

#define asks(test) cmocka_unit_test_setup_teardown(test, enter_folder, forget)

static void test_the_defaults(void **state)
{
    (void)state;
    assert_true(ask("a"));
    assert_ptr_equal(request.kind, &ss_overview);
    assert_ptr_equal(request.view, &ss_report_views[0]);
    assert_null(request.output);
    assert_int_equal(request.style.width, 0); /* no terminal */
    assert_false(request.style.colour);
    assert_false(request.table.full_paths);
    assert_false(request.reading.load.has_steps);
    assert_false(request.reading.load.has_time_range);
    assert_int_equal(request.reading.selection.idle, SS_IDLE_MAIN);
}

/* Every table by its name: its own rows, idle samples and order, if the command line has none. */
static void test_each_table_has_its_defaults(void **state)
{
    (void)state;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        bool is_variant = ss_table_kind_find(kind->id, NULL) != kind;
        assert_true(is_variant ? ask("--by", kind->id, "--columns", kind->columns)
                               : ask("--by", kind->id));
        assert_ptr_equal(request.kind, kind);
        assert_int_equal(request.table.max_rows, kind->rows);
        assert_int_equal(request.table.sort, kind->sort);
        assert_int_equal(request.table.grouping, 0);
        assert_int_equal(request.reading.selection.idle, kind->idle);
        assert_int_equal(request.reading.load.no_tracks, (kind->needs & SS_NEEDS_TRACKS) == 0 &&
                                                             (kind->needs & SS_NEEDS_STEPS) == 0);
    }
}

static void test_names_of_other_tools_choose_a_table(void **state)
{
    (void)state;
    size_t aliases = 0;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        char *names = keep_text(strdup(kind->aliases != NULL ? kind->aliases : ""));
        char *rest = NULL;
        for (char *name = strtok_r(names, " ", &rest); name != NULL;
             name = strtok_r(NULL, " ", &rest)) {
            assert_true(ask("--by", name));
            assert_string_equal(request.kind->id, kind->id);
            aliases++;
        }
    }
    assert_true(aliases > 5);
    assert_true(ask("--by", "cuda_gpu_kern_sum")); /* of nsys stats */
    assert_string_equal(request.kind->id, "kernel");
}

static void test_options_of_itwinai_mean_its_table(void **state)
{
    (void)state;
    assert_true(ask("--library-name", "mylib"));
    assert_string_equal(request.kind->id, "leaf");
    assert_int_equal(request.table.leaf.rule, SS_LIBRARY_NAME);
    assert_string_equal(request.table.leaf.library, "mylib");
    assert_false(request.table.leaf.aggregate);
    assert_true(ask("--library-substring", "tor", "--aggregate-leaf-paths"));
    assert_string_equal(request.kind->id, "leaf");
    assert_int_equal(request.table.leaf.rule, SS_LIBRARY_SUBSTRING);
    assert_true(request.table.leaf.aggregate);
    assert_true(ask("--by", "leaf"));
    assert_int_equal(request.table.leaf.rule, SS_LIBRARY_OWN_CODE);
}

/* --- which view ------------------------------------------------------------------------------- */

static void expect_view(const char *name)
{
    assert_string_equal(request.view->name, name);
}

static void test_each_view_by_name_and_by_ending(void **state)
{
    (void)state;
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        char path[64];
        snprintf(path, sizeof path, "a%s", view->ending);
        assert_true(ask("-f", view->name));
        assert_ptr_equal(request.view, view);
        assert_null(request.output);
        assert_true(ask("-o", path));
        assert_ptr_equal(request.view, view);
        assert_string_equal(request.output, path);
    }
    assert_true(ask("-o", "a.html", "-f", "json")); /* the name wins */
    expect_view("json");
    assert_true(ask("-o", "a.pdf"));
    expect_view("text");
    assert_true(ask("-o", ".csv")); /* a name without anything before the ending */
    expect_view("text");
    assert_true(ask("--html", "page"));
    expect_view("html");
    assert_string_equal(request.output, "page");
}

static void test_a_page_has_room(void **state)
{
    (void)state;
    assert_true(ask("-f", "html"));
    assert_ptr_equal(request.kind, &ss_overview_of_page);
    assert_true(request.table.is_page);
    assert_true(ask("-f", "html", "--by", "function"));
    assert_int_equal(request.table.max_rows, 100);
    assert_true(ask("-f", "html", "--by", "function", "--num-rows", "7"));
    assert_int_equal(request.table.max_rows, 7);
    assert_true(ask("-f", "html", "--by", "tree")); /* of which all rows are shown */
    assert_int_equal(request.table.max_rows, 0);
}

static void test_csv_is_one_table(void **state)
{
    (void)state;
    assert_true(ask("-f", "csv"));
    assert_string_equal(request.kind->id, "function");
    assert_true(request.table.is_single);
    assert_true(ask("-f", "csv", "--by", "line", "--csv-formulas"));
    assert_string_equal(request.kind->id, "line");
    assert_true(request.style.keeps_formulas);
}

static void test_standard_output_by_its_names(void **state)
{
    (void)state;
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(ask("-o", names[i]));
        assert_null(request.output);
    }
}

/* --- rows, order, groups ---------------------------------------------------------------------- */

static void test_rows_order_and_groups(void **state)
{
    (void)state;
    assert_true(ask("--by", "function", "--num-rows", "all", "--sort", "total"));
    assert_int_equal(request.table.max_rows, 0);
    assert_int_equal(request.table.sort, SS_SORT_TOTAL);
    assert_true(ask("--by", "function", "--num-rows", "1"));
    assert_int_equal(request.table.max_rows, 1);
    assert_int_equal(request.table.sort, SS_SORT_SELF);
    assert_true(ask("--by", "tree", "--min-percent", "0"));
    assert_true(request.table.min_percent == 0);
    assert_true(ask("--by", "tree"));
    assert_true(request.table.min_percent == 1);
    const struct ss_table_kind *range = ss_table_kind_find("range", NULL);
    unsigned every = 0;
    struct ss_strbuf words;
    ss_strbuf_init(&words, 256);
    for (size_t i = 0; range->groups[i].word != NULL; i++) {
        assert_true(ask("--by", "range", "--group", range->groups[i].word));
        assert_int_equal(request.table.grouping, range->groups[i].value);
        every |= range->groups[i].value;
        ss_strbuf_append_format(&words, "%s%s", i > 0 ? "," : "", range->groups[i].word);
    }
    assert_true(ask("--by", "range", "--group", words.data));
    assert_int_equal(request.table.grouping, every);
    ss_strbuf_fini(&words);
}

/* --- filters ---------------------------------------------------------------------------------- */

static void test_filters(void **state)
{
    (void)state;
    assert_true(ask("--from", "1.5", "--to", "2", "--thread", "pin", "--process", "8", "--rank",
                    "0,4-7", "--match", "a", "--exclude", "b", "--gil", "--strict"));
    const struct ss_reading *reading = &request.reading;
    assert_true(reading->load.has_time_range && reading->load.strict &&
                reading->selection.gil_only);
    assert_int_equal(reading->load.from_ns, 1500000000);
    assert_int_equal(reading->load.to_ns, 2000000000);
    assert_string_equal(reading->selection.thread, "pin");
    assert_string_equal(reading->selection.process, "8");
    assert_string_equal(reading->selection.rank, "0,4-7");
    assert_string_equal(reading->selection.match, "a");
    assert_string_equal(reading->selection.exclude, "b");
    assert_true(ask("--from", "3"));
    assert_true(reading->load.has_time_range);
    assert_int_equal(reading->load.to_ns, 1000000000000000000);
    assert_true(ask("-i"));
    assert_int_equal(reading->selection.idle, SS_IDLE_ALL);
    assert_true(ask("-i", "--idle", "all"));
    assert_true(ask("--idle", "none"));
    assert_int_equal(reading->selection.idle, SS_IDLE_NONE);
    assert_true(ask("--by", "leaf", "--idle", "main"));
    assert_int_equal(reading->selection.idle, SS_IDLE_MAIN);
}

static void expect_steps(const char *text, int64_t first, int64_t last)
{
    assert_true(ask("--steps", text));
    assert_true(request.reading.load.has_steps && request.table.steps.has_numbers);
    assert_int_equal(request.reading.load.first_step, first);
    assert_int_equal(request.reading.load.last_step, last);
    assert_int_equal(request.table.steps.first, first);
    assert_int_equal(request.table.steps.last, last);
}

static void test_steps(void **state)
{
    (void)state;
    expect_steps("10:50", 10, 50);
    expect_steps("10", 10, 10);
    expect_steps("10:", 10, INT64_MAX);
    expect_steps(":50", 0, 50);
    expect_steps("0", 0, 0);
    expect_steps("7:7", 7, 7);
}

/* --- what is refused -------------------------------------------------------------------------- */

static const struct {
    const char *words[7];
    const char *message;
} refused[] = {
    {{"--by", "nonsense"}, "--by takes one of leaf, function, line, file,"},
    {{"--format", "xml"}, "--format takes one of text, csv, json, markdown, html, not \"xml\""},
    {{"--stats", "--by", "line"}, "--stats and --by exclude each other"},
    {{"--stats", "--columns", "own"}, "--stats and --by exclude each other"},
    {{"--columns", "own"}, "--columns belongs to --by op"},
    {{"--by", "line", "--columns", "own"}, "--columns belongs to --by op"},
    {{"--by", "op", "--columns", "x"}, "--columns takes one of own, key_averages, not \"x\""},
    {{"--html", "a", "-f", "json"}, "--html FILE is -f html -o FILE: leave the others out"},
    {{"--html", "a", "-o", "b"}, "--html FILE is -f html -o FILE: leave the others out"},
    {{"--width", "39"}, "--width takes a whole number from 40 to 100000, not \"39\""},
    {{"--num-rows", "0"}, "--num-rows takes a whole number from 1, or \"all\", not \"0\""},
    {{"--num-rows", "-1"}, "--num-rows takes"},
    {{"--num-rows", "x"}, "--num-rows takes"},
    {{"--num-rows", "1.5"}, "--num-rows takes"},
    {{"--num-rows", ""}, "--num-rows takes"},
    {{"--num-rows", "99999999999999999999"}, "--num-rows takes"},
    {{"--by", "leaf", "--library-name", ""}, "--library-name takes a name; an empty one matches"},
    {{"--by", "leaf", "--library-name", "a", "--library-substring", "b"},
     "--library-name and --library-substring exclude each other"},
    {{"--by", "line", "--library-name", "x"}, "--aggregate-leaf-paths belong to --by leaf"},
    {{"--by", "line", "--aggregate-leaf-paths"}, "--aggregate-leaf-paths belong to --by leaf"},
    {{"--by", "tree", "--sort", "self"}, "--sort belongs to --by function, line, file, thread,"},
    {{"--by", "line", "--sort", "mean"}, "--sort takes one of self, total, not \"mean\""},
    {{"--by", "line", "--group", "path"}, "--group belongs to --by range,"},
    {{"--by", "range", "--group", "path,x"},
     "--group of --by range takes path, name, thread, process and domain, with commas between"},
    {{"--by", "range", "--group", ""}, "with commas between them, not \"\""},
    {{"--by", "op", "--columns", "key_averages", "--group", "x"},
     "--group of --by op --columns key_averages takes name and shapes, with commas"},
    {{"--by", "line", "--min-percent", "1"}, "--min-percent belongs to --by tree"},
    {{"--by", "tree", "--min-percent", "101"}, "--min-percent takes a number from 0 to 100"},
    {{"--from", "3", "--to", "2"}, "--from 3 is not before --to 2"},
    {{"--from", "2", "--to", "2"}, "--from 2 is not before --to 2"},
    {{"--from", "-1"}, "--from takes a number from 0 to 1e+09, not \"-1\""},
    {{"--idle", "some"}, "--idle takes one of none, main, all, not \"some\""},
    {{"-i", "--idle", "main"}, "-i and --idle main exclude each other"},
    {{"--steps", ""}, "--steps takes numbers of steps, such as 10:50, 10 or 10:, not \"\""},
    {{"--steps", ":"}, "--steps takes"},
    {{"--steps", "5:4"}, "--steps takes"},
    {{"--steps", "a"}, "--steps takes"},
    {{"--steps", "-1"}, "--steps takes"},
    {{"--steps", "1:-2"}, "--steps takes"},
    {{"--steps", "1:2x"}, "--steps takes"},
    {{"--steps", "99999999999999999999"}, "--steps takes"},
    {{"--steps", "1", "--from", "0"}, "--steps and a time range exclude each other"},
    {{"--by", "range", "--match", "x"}, "--match selects samples; --by range has none"},
    {{"--by", "range", "-i"}, "-i selects samples; --by range has none"},
    {{"--by", "range", "--gil"}, "--gil selects samples; --by range has none"},
    {{"--by", "kernel", "--thread", "x"},
     "--thread selects threads; a row of --by kernel combines all threads"},
    {{"--threads", "0"}, "--threads takes a whole number from 1 to 64, not \"0\""},
    {{"--threads", "65"}, "--threads takes a whole number from 1 to 64, not \"65\""},
};

/* A filter that changes nothing in a table is refused there, in every table. */
static void test_each_table_takes_the_filters_that_apply(void **state)
{
    (void)state;
    static const struct {
        const char *words[3];
        unsigned wanted;
    } filters[] = {{{"--match", "x"}, SS_ACCEPTS_SAMPLES},
                   {{"--exclude", "x"}, SS_ACCEPTS_SAMPLES},
                   {{"--idle", "all"}, SS_ACCEPTS_SAMPLES},
                   {{"-i"}, SS_ACCEPTS_SAMPLES},
                   {{"-g"}, SS_ACCEPTS_SAMPLES},
                   {{"--thread", "x"}, SS_ACCEPTS_THREAD},
                   {{"--min-percent", "2"}, SS_ACCEPTS_SHARE},
                   {{"--library-substring", "x"}, SS_ACCEPTS_LIBRARY}};
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
            const char *words[6] = {"report", "--by", kind->id};
            memcpy(words + 3, filters[i].words, sizeof filters[i].words);
            assert_int_equal(ask_words(words), (kind->accepts & filters[i].wanted) != 0);
        }
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    put_text("in.txt", "f (a.py:1) 50\n");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *words[10] = {"stepscope", "report", "in.txt"};
        memcpy(words + 3, refused[i].words, 7 * sizeof *words);
        struct ran ran = stepscope_to(-1, words);
        expect_usage_error(&ran, refused[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        asks(test_the_defaults),
        asks(test_each_table_has_its_defaults),
        asks(test_names_of_other_tools_choose_a_table),
        asks(test_options_of_itwinai_mean_its_table),
        asks(test_each_view_by_name_and_by_ending),
        asks(test_a_page_has_room),
        asks(test_csv_is_one_table),
        asks(test_standard_output_by_its_names),
        asks(test_rows_order_and_groups),
        asks(test_filters),
        asks(test_steps),
        asks(test_each_table_takes_the_filters_that_apply),
        asks(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
