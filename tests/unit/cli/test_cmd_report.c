/* SPDX-License-Identifier: Apache-2.0 */
/* `report` of a file of py-spy's: each table and view, filters, and where the output goes. */
#include <math.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "../../random.h"
#include "json_output.h"
#include "view/output/text_cell.h"

/* Two processes, three threads; shares are of 1,000 samples. */
static const char raw[] =
    "process 7:\"torchrun --x;y\";process 8:\"python train.py\";thread (8): MainThread;"
    "<module> (train.py:30);train (train.py:20);step (mylib/engine.py:5);"
    "linear (torch/nn/functional.py:114) 600\n"
    "process 7:\"torchrun --x;y\";process 8:\"python train.py\";thread (8): MainThread;"
    "<module> (train.py:30);train (train.py:21);__next__ (torch/utils/data/dataloader.py:630) 300\n"
    "process 7:\"torchrun --x;y\";process 8:\"python train.py\";thread (9): pin, \"memory\";"
    "run (threading.py:953);_pin (torch/utils/data/pin.py:30) 95\n"
    "process 7:\"torchrun --x;y\";thread (7): MainThread;<module> (torchrun:8) 5\n";

static int enter_with_raw(void **state)
{
    int status = enter_folder(state);
    put_text("run.txt", raw);
    return status;
}

#define with_raw(test) cmocka_unit_test_setup_teardown(test, enter_with_raw, leave_folder)

/* --- the tables ------------------------------------------------------------------------------- */

#define HOT                                                                                        \
    "name,path,line,pid,tid,self_percent,self_samples,total_percent,total_samples,self_pm,"        \
    "total_pm\r\n"
#define LEAF                                                                                       \
    "name,path,line,library_function_name,library_function_path,library_function_line,percent,"    \
    "samples\r\n"
/* The errors are the farther end of Wilson's interval (95 %): of 600 in 1,000, 3.0691 points. */
#define NONE ",0.0000,0," /* its own samples */

static const struct {
    const char *by, *csv;
} tables[] = {
    {"leaf", LEAF "linear,torch/nn/functional.py,114,step,mylib/engine.py,5,60.3015,600\r\n"
                  "__next__,torch/utils/data/dataloader.py,630,train,train.py,21,30.1508,300\r\n"
                  "_pin,torch/utils/data/pin.py,30,,,,9.5477,95\r\n"},
    {"function",
     HOT "linear,torch/nn/functional.py,,,,60.0000,600,60.0000,600,3.0691,3.0691\r\n"
         "__next__,torch/utils/data/dataloader.py,,,,30.0000,300,30.0000,300,2.9124,2.9124\r\n"
         "_pin,torch/utils/data/pin.py,,,,9.5000,95,9.5000,95,1.9754,1.9754\r\n"
         "<module>,torchrun,,,,0.5000,5,0.5000,5,0.6651,0.6651\r\n"
         "<module>,train.py,,," NONE "90.0000,900,0.3827,2.0152\r\n"
         "train,train.py,,," NONE "90.0000,900,0.3827,2.0152\r\n"
         "step,mylib/engine.py,,," NONE "60.0000,600,0.3827,3.0691\r\n"
         "run,threading.py,,," NONE "9.5000,95,0.3827,1.9754\r\n"},
    {"line",
     HOT "linear,torch/nn/functional.py,114,,,60.0000,600,60.0000,600,3.0691,3.0691\r\n"
         "__next__,torch/utils/data/dataloader.py,630,,,30.0000,300,30.0000,300,2.9124,2.9124\r\n"
         "_pin,torch/utils/data/pin.py,30,,,9.5000,95,9.5000,95,1.9754,1.9754\r\n"
         "<module>,torchrun,8,,,0.5000,5,0.5000,5,0.6651,0.6651\r\n"
         "<module>,train.py,30,," NONE "90.0000,900,0.3827,2.0152\r\n"
         "train,train.py,20,," NONE "60.0000,600,0.3827,3.0691\r\n"
         "step,mylib/engine.py,5,," NONE "60.0000,600,0.3827,3.0691\r\n"
         "train,train.py,21,," NONE "30.0000,300,0.3827,2.9124\r\n"
         "run,threading.py,953,," NONE "9.5000,95,0.3827,1.9754\r\n"},
    {"file", HOT ",torch/nn/functional.py,,,,60.0000,600,60.0000,600,3.0691,3.0691\r\n"
                 ",torch/utils/data/dataloader.py,,,,30.0000,300,30.0000,300,2.9124,2.9124\r\n"
                 ",torch/utils/data/pin.py,,,,9.5000,95,9.5000,95,1.9754,1.9754\r\n"
                 ",torchrun,,,,0.5000,5,0.5000,5,0.6651,0.6651\r\n"
                 ",train.py,,," NONE "90.0000,900,0.3827,2.0152\r\n"
                 ",mylib/engine.py,,," NONE "60.0000,600,0.3827,3.0691\r\n"
                 ",threading.py,,," NONE "9.5000,95,0.3827,1.9754\r\n"},
    {"thread", HOT "MainThread,,,8,8,90.0000,900,90.0000,900,2.0152,2.0152\r\n"
                   "\"pin, \"\"memory\"\"\",,,8,9,9.5000,95,9.5000,95,1.9754,1.9754\r\n"
                   "MainThread,,,7,7,0.5000,5,0.5000,5,0.6651,0.6651\r\n"},
    {"process", HOT "python train.py,,,8,,99.5000,995,99.5000,995,0.6651,0.6651\r\n"
                    "torchrun --x;y,,,7,,0.5000,5,100.0000,1000,0.6651,0.3827\r\n"},
    {"tree",
     HOT "<module>,train.py,,," NONE "90.0000,900,0.3827,2.0152\r\n"
         "train,train.py,,," NONE "90.0000,900,0.3827,2.0152\r\n"
         "step,mylib/engine.py,,," NONE "60.0000,600,0.3827,3.0691\r\n"
         "linear,torch/nn/functional.py,,,,60.0000,600,60.0000,600,3.0691,3.0691\r\n"
         "__next__,torch/utils/data/dataloader.py,,,,30.0000,300,30.0000,300,2.9124,2.9124\r\n"
         "run,threading.py,,," NONE "9.5000,95,0.3827,1.9754\r\n"
         "_pin,torch/utils/data/pin.py,,,,9.5000,95,9.5000,95,1.9754,1.9754\r\n"},
};

enum { TABLES = sizeof tables / sizeof *tables };

static void test_tables_as_csv(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        struct ran ran = stepscope("report", "--by", tables[i].by, "-f", "csv", "run.txt");
        expect_status(&ran, 0);
        assert_string_equal(ran.out, tables[i].csv);
        expect_text(ran.err, "1,000 recorded = 1,000 shown"); /* how far to trust it */
    }
}

/* The next cell of a line of CSV without line breaks in cells, unquoted into `cell`. */
static const char *next_cell(const char *at, char *cell)
{
    bool is_quoted = *at == '"';
    for (at += is_quoted; is_quoted ? *at != '"' || at[1] == '"' : *at != ',' && *at != '\r';
         at++) {
        at += is_quoted && *at == '"';
        *cell++ = *at;
    }
    *cell = '\0';
    return at + is_quoted + 1;
}

static void expect_same_value(const json_t *value, const char *cell)
{
    if (json_is_real(value)) {
        assert_true(fabs(json_real_value(value) - atof(cell)) < 1e-4);
    } else if (json_is_integer(value)) {
        assert_int_equal(json_integer_value(value), atoll(cell));
    } else {
        assert_string_equal(json_is_null(value) ? "" : json_string_value(value), cell);
    }
}

static void test_json_has_the_values_of_csv(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        char key[64], cell[128];
        json_t *root =
            parse_json(stepscope("report", "--by", tables[i].by, "-f", "json", "run.txt").out);
        const json_t *table = json_at(root, "tables.0"), *row;
        size_t at;
        const char *line = strchr(tables[i].csv, '\n') + 1;
        assert_int_equal(json_integer_at(root, "schema"), 1);
        assert_string_equal(json_text_at(table, "by"), tables[i].by);
        bool is_leaf = strcmp(tables[i].by, "leaf") == 0;
        assert_string_equal(
            json_text_at(json_at(table, "units"), is_leaf ? "percent_pm" : "self_pm"), "points");
        json_array_foreach(json_at(table, "rows"), at, row)
        {
            const char *keys = tables[i].csv;
            while (*line != '\n') {
                keys = next_cell(keys, key);
                line = next_cell(line, cell);
                expect_same_value(json_at(row, key), cell);
            }
            line++;
        }
        assert_int_equal(*line, '\0'); /* as many rows */
        json_decref(root);
    }
}

static void test_libraries_of_the_leaf_table(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *paths[3];
    } cases[] = {
        {"--library-name", "tor", {NULL, NULL, NULL}}, /* a part of a component */
        {"--library-name", "train", {"train.py", "train.py", NULL}},
        {"--library-name",
         "torch",
         {"torch/nn/functional.py", "torch/utils/data/dataloader.py", "torch/utils/data/pin.py"}},
        {"--library-substring", "engine", {"mylib/engine.py", NULL, NULL}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *root = parse_json(
            stepscope("report", cases[i].option, cases[i].value, "-f", "json", "run.txt").out);
        for (size_t row = 0; row < 3; row++) {
            const json_t *found = json_object_get(
                json_array_get(json_at(root, "tables.0.rows"), row), "library_function_path");
            const char *wanted = cases[i].paths[row];
            assert_string_equal(json_is_null(found) ? "none" : json_string_value(found),
                                wanted != NULL ? wanted : "none");
        }
        json_decref(root);
    }
    const char *text = stepscope("report", "--library-name", "nothing", "run.txt").out;
    size_t missing = 0;
    for (const char *at = text; (at = strstr(at, "Not Found")) != NULL; at++) {
        missing++;
    }
    assert_int_equal(missing, 9);
    expect_text(text, "60.30% (600)\n");
}

static void test_samples_that_a_table_leaves_out_are_counted(void **state)
{
    (void)state;
    json_t *root = parse_json(stepscope("report", "--by", "leaf", "-f", "json", "run.txt").out);
    assert_int_equal(json_integer_at(root, "header.samples.recorded"), 1000);
    assert_int_equal(json_integer_at(root, "tables.0.shown_samples"), 995);
    assert_int_equal(json_integer_at(root, "tables.0.dropped_samples"), 5);
    json_decref(root);
    expect_text(stepscope("report", "--by", "leaf", "run.txt").out,
                "5 samples of module code only");
    root = parse_json(
        stepscope("report", "--by", "tree", "--min-percent", "20", "-f", "json", "run.txt").out);
    assert_int_equal(json_count_at(root, "tables.0.rows"), 5);
    assert_int_equal(json_integer_at(root, "tables.0.rows.3.depth"), 4);
    assert_int_equal(json_integer_at(root, "tables.0.rows.3.parent"), 2);
    assert_int_equal(json_integer_at(root, "tables.0.hidden_rows"), 2);
    json_decref(root);
}

static void test_filters(void **state)
{
    (void)state;
    static const struct {
        const char *words[4];
        int shown;
    } cases[] = {{{"--process", "8"}, 995},
                 {{"--process", "torchrun"}, 5},
                 {{"--thread", "pin"}, 95},
                 {{"--thread", "7"}, 5},
                 {{"--match", "linear"}, 600},
                 {{"--exclude", "dataloader\\.py:630"}, 700},
                 {{"--match", "^train ", "--exclude", "linear"}, 300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words[12] = {"stepscope", "report", "--by", "line", "-f", "json", "run.txt"};
        memcpy(words + 7, cases[i].words, sizeof cases[i].words);
        json_t *root = parse_json(stepscope_to(-1, words).out);
        assert_int_equal(json_integer_at(root, "header.samples.shown"), cases[i].shown);
        assert_int_equal(json_integer_at(root, "header.samples.filtered"), 1000 - cases[i].shown);
        json_decref(root);
    }
    struct ran ran = stepscope("report", "--match", "(", "run.txt");
    expect_status(&ran, 2);
    expect_text(ran.err, "\"(\"");
    ran = stepscope("report", "--from", "1", "run.txt");
    expect_status(&ran, 2);
    expect_text(ran.err, "no times");
    ran = stepscope("report", "--by", "function", "--match", "nothing", "run.txt");
    expect_status(&ran, 0); /* a filter leaves nothing: not the recording's fault */
    expect_text(ran.out, "Hottest functions\nno samples\n");
    expect_no_text(ran.out, "No samples were recorded");
}

static void test_rows(void **state)
{
    (void)state;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    for (int i = 0; i < 60; i++) {
        ss_strbuf_append_format(&text, "f%d (a.py:%d) %d\n", i, i, 100 - i);
    }
    put_text("many.txt", text.data);
    ss_strbuf_fini(&text);
    static const struct {
        const char *words[2];
        size_t rows;
    } cases[] = {{{"--num-rows", "7"}, 7},
                 {{"--num-rows", "all"}, 60},
                 {{"--num-rows", "60"}, 60},
                 {{"--num-rows", "99"}, 60},
                 {{NULL}, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words[12] = {"stepscope", "report", "--by", "leaf", "-f", "json", "many.txt"};
        memcpy(words + 7, cases[i].words, sizeof cases[i].words);
        json_t *root = parse_json(stepscope_to(-1, words).out);
        assert_int_equal(json_count_at(root, "tables.0.rows"), cases[i].rows);
        assert_int_equal(json_integer_at(root, "tables.0.hidden_rows"), 60 - cases[i].rows);
        json_decref(root);
    }
    /* Of 60 functions with 100 to 41 samples, the last 50 have 41 to 90: 3,275 of 4,230. */
    expect_text(stepscope("report", "--by", "leaf", "many.txt").out,
                "50 rows with 77.4 % of the samples not shown: --num-rows all\n");
}

/* --- the views -------------------------------------------------------------------------------- */

static void test_the_overview_as_text(void **state)
{
    (void)state;
    struct ran ran = stepscope("report", "run.txt");
    expect_status(&ran, 0);
    assert_string_equal(
        ran.out,
        "stepscope report  run.txt\n\n"
        "Recorded   py-spy raw file: no times, states or losses in it · 4 lines · 2 processes · 3 "
        "threads\n"
        "Samples    1,000 recorded = 1,000 shown\n\n"
        "Hottest functions\n"
        "      self          samples       total  function  where\n"
        "60.0% ±3.1  ██████      600  60.0% ±3.1  linear    torch/nn/functional.py\n"
        "30.0% ±3.0  ███         300  30.0% ±3.0  __next__  torch/utils/data/dataloader.py\n"
        " 9.5% ±2.0  █            95   9.5% ±2.0  _pin      torch/utils/data/pin.py\n"
        "5 rows under 30 samples with 0.5 % of the samples not shown: see --by function\n\n"
        "Hottest lines\n"
        "      self          samples       total  function  where\n"
        "60.0% ±3.1  ██████      600  60.0% ±3.1  linear    torch/nn/functional.py:114\n"
        "30.0% ±3.0  ███         300  30.0% ±3.0  __next__  torch/utils/data/dataloader.py:630\n"
        " 9.5% ±2.0  █            95   9.5% ±2.0  _pin      torch/utils/data/pin.py:30\n"
        "6 rows under 30 samples with 0.5 % of the samples not shown: see --by line\n\n"
        "Next\n"
        "  stepscope report --by leaf --aggregate-leaf-paths run.txt   which line of yours leads "
        "there\n"
        "  stepscope report --by tree run.txt                          callers and callees\n"
        "  stepscope flame run.txt                                     all of it as a flame "
        "graph\n");
    assert_string_equal(ran.err, "");
}

static void test_text_fits_the_width(void **state)
{
    (void)state;
    ss_text_use_utf8();
    for (size_t i = 0; i < TABLES; i++) {
        static const char *const widths[] = {"80", "100", "160"};
        for (size_t w = 0; w < 3; w++) {
            char *text =
                stepscope("report", "--by", tables[i].by, "--width", widths[w], "run.txt").out;
            char *rest = NULL, *line = strtok_r(text, "\n", &rest);
            while ((line = strtok_r(NULL, "\n", &rest)) != NULL) {
                assert_true(ss_text_width(line) <= (size_t)atoi(widths[w]));
            }
        }
    }
}

/* What reached a terminal of 60 columns. */
static const char *on_terminal(const char *term, const char *no_colour)
{
    char *text = keep_text(calloc(1, 8192));
    const struct winsize size = {.ws_col = 60, .ws_row = 24};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        print_message("no pseudo-terminals here\n");
        skip();
    }
    int inner = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(inner >= 0);
    assert_int_equal(ioctl(inner, TIOCSWINSZ, &size), 0);
    setenv("TERM", term, 1);
    setenv("NO_COLOR", no_colour, 1);
    struct ran ran =
        stepscope_to(inner, (const char *const[]){"stepscope", "report", "run.txt", NULL});
    expect_status(&ran, 0);
    close(inner);
    size_t length = 0;
    for (ssize_t got = 1; got > 0; length += (size_t)(got > 0 ? got : 0)) {
        got = read(terminal, text + length, 8191 - length);
    }
    close(terminal);
    return text;
}

static void test_colour_and_width_of_a_terminal(void **state)
{
    (void)state;
    ss_text_use_utf8();
    expect_text(on_terminal("xterm", ""), "\033[1m");
    expect_no_text(on_terminal("dumb", ""), "\033");
    char *text = (char *)on_terminal("xterm", "1"), *rest = NULL;
    expect_no_text(text, "\033");
    expect_text(text, "torch…nctional.py\r\n");
    for (char *line = strtok_r(text, "\r\n", &rest); strcmp(line, "Next") != 0; /* to copy */
         line = strtok_r(NULL, "\r\n", &rest)) {
        assert_true(ss_text_width(line) <= 60);
    }
}

/* --- where the output goes -------------------------------------------------------------------- */

static void test_the_file_of_the_output(void **state)
{
    (void)state;
    struct ran ran = stepscope("report", "--by", "line", "-o", "hot.csv", "run.txt");
    expect_status(&ran, 0);
    assert_string_equal(ran.out, "");
    assert_string_equal(text_of("hot.csv"), tables[2].csv);
    stepscope("report", "-o", "r.md", "run.txt");
    assert_string_equal(text_of("r.md"), stepscope("report", "-f", "markdown", "run.txt").out);
    ran = stepscope("report", "-o", "no/such/x.csv", "run.txt");
    expect_status(&ran, 4);
    expect_text(ran.err, "no/such");
}

static void test_names_reach_no_terminal_as_a_command(void **state)
{
    (void)state;
    put_text("evil.txt", "\033]0;owned\af (a\302\23331m.py:1);\342\200\256flip (b.py:2) 50\n");
    static const char *const views[] = {"text", "csv", "markdown"};
    for (size_t i = 0; i < TABLES; i++) {
        for (size_t v = 0; v < 3; v++) {
            const char *text = stepscope("report", "--by", tables[i].by, "--full-filenames", "-f",
                                         views[v], "evil.txt")
                                   .out;
            expect_no_text(text, "\033");
            expect_no_text(text, "\a");
            expect_no_text(text, "\302\233");
            expect_no_text(text, "\342\200\256");
        }
    }
}

static void test_formulas_of_spreadsheets(void **state)
{
    (void)state;
    put_text("f.txt", "=1+2 (a.py:1) 50\n+1+2 (a.py:1) 50\n-1+2 (a.py:1) 50\n@1+2 (a.py:1) 50\n");
    static const char signs[] = "=+-@";
    const char *escaped = stepscope("report", "--by", "function", "-f", "csv", "f.txt").out;
    const char *plain =
        stepscope("report", "--by", "function", "-f", "csv", "--csv-formulas", "f.txt").out;
    for (size_t i = 0; i < 4; i++) {
        char cell[16];
        snprintf(cell, sizeof cell, "\n'%c1+2,", signs[i]);
        expect_text(escaped, cell);
        snprintf(cell, sizeof cell, "\n%c1+2,", signs[i]);
        expect_text(plain, cell);
        expect_no_text(escaped, cell);
    }
}

/* --- everything adds up ----------------------------------------------------------------------- */

static void put_random_stacks(long long *recorded)
{
    static const char *const frames[] = {"<module> (t.py:1)", "f (t.py:2)", "f (t.py:3)",
                                         "g (torch/x.py:4)",  "bare",       "wait (threading.py:5)",
                                         "h (lib.so)"};
    static const char *const labels[] = {"", "process 1:\"a;b\";",
                                         "process 1:\"a;b\";thread (2): w;", "thread (3): x;y;"};
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    *recorded = 0;
    for (uint64_t left = 1 + next_random() % 15; left > 0; left--) {
        uint64_t depth = next_random() % 6, count = next_random() % 1001;
        ss_strbuf_append_text(&text, labels[next_random() % 4]);
        for (uint64_t i = 0; i < depth; i++) {
            ss_strbuf_append_format(&text, "%s%s", i > 0 ? ";" : "", frames[next_random() % 7]);
        }
        ss_strbuf_append_format(&text, " %d\n", (int)count);
        *recorded += (long long)count;
    }
    put_text("sums.txt", text.data);
    ss_strbuf_fini(&text);
}

static void expect_sums(const json_t *root, const char *by, long long recorded)
{
    static const char *const parts[] = {"shown", "idle", "no_gil", "filtered", "frameless"};
    const json_t *samples = json_at(root, "header.samples"), *table = json_at(root, "tables.0"),
                 *row;
    bool is_leaf = strcmp(by, "leaf") == 0;
    long long sum = 0, in_rows = 0;
    double percent = 0;
    size_t at;
    for (size_t i = 0; i < 5; i++) {
        sum += json_integer_at(samples, parts[i]);
    }
    assert_int_equal(json_integer_at(samples, "recorded"), recorded);
    assert_int_equal(sum, recorded);
    json_array_foreach(json_at(table, "rows"), at, row)
    {
        in_rows += json_integer_at(row, is_leaf ? "samples" : "self_samples");
        percent += json_number_at(row, is_leaf ? "percent" : "self_percent");
    }
    long long shown = json_integer_at(table, "shown_samples");
    assert_int_equal(in_rows + json_integer_at(table, "hidden_samples"), shown);
    assert_int_equal(shown + json_integer_at(table, "dropped_samples"),
                     json_integer_at(samples, "shown"));
    assert_true(shown == 0 || fabs(percent - 100 * (double)in_rows / (double)shown) < 1e-6);
}

static void test_shares_and_what_is_left_out_add_up(void **state)
{
    (void)state;
    static const char *const filters[][2] = {{NULL},
                                             {"--match", "f "},
                                             {"--exclude", "torch"},
                                             {"--thread", "w"},
                                             {"--process", "1"},
                                             {"--idle", "none"},
                                             {"--gil"}};
    for (int round = 0; round < 150; round++) {
        long long recorded;
        put_random_stacks(&recorded);
        for (size_t i = 0; i < TABLES - 1; i++) { /* not the tree: its rows contain each other */
            const char *words[12] = {"stepscope", "report", "--num-rows", "3",       "-f",
                                     "json",      "--by",   tables[i].by, "sums.txt"};
            memcpy(words + 9, filters[next_random() % 7], sizeof filters[0]);
            json_t *root = parse_json(stepscope_to(-1, words).out);
            expect_sums(root, tables[i].by, recorded);
            json_decref(root);
        }
        if (round % 50 == 49) { /* texts are kept until the test ends */
            leave_folder(NULL);
            enter_folder(NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_raw(test_tables_as_csv),
        with_raw(test_json_has_the_values_of_csv),
        with_raw(test_libraries_of_the_leaf_table),
        with_raw(test_samples_that_a_table_leaves_out_are_counted),
        with_raw(test_filters),
        with_raw(test_rows),
        with_raw(test_the_overview_as_text),
        with_raw(test_text_fits_the_width),
        with_raw(test_colour_and_width_of_a_terminal),
        with_raw(test_the_file_of_the_output),
        with_raw(test_names_reach_no_terminal_as_a_command),
        with_raw(test_formulas_of_spreadsheets),
        with_raw(test_shares_and_what_is_left_out_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
