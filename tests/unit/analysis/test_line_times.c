/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/samples/line_times.h"
#include "table_checks.h"

/* Line 1 … of the only file. */
static const char *const source[] = {"import os",
                                     "",
                                     "@decorated",
                                     "def f(",
                                     "    a,",
                                     ") -> int:",
                                     "    if a:",
                                     "# odd",
                                     "        return g(a)",
                                     "",
                                     "    return 0",
                                     "",
                                     "class A:",
                                     "    def m(self):",
                                     "        return 1",
                                     "    x = lambda: 3"};

static struct ss_strview line_of(void *context, struct ss_strview path, uint32_t line)
{
    (void)context;
    bool is_there = ss_strview_equal(path, ss_strview_of("/a.py")) && line > 0 &&
                    line <= sizeof source / sizeof *source;
    return is_there ? ss_strview_of(source[line - 1]) : (struct ss_strview){NULL, 0};
}

static uint32_t put_function(struct ss_model *model, const char *text, const char *file,
                             uint32_t line)
{
    struct ss_model_name name = {.text = ss_intern_put_text(&model->strings, text),
                                 .file = ss_intern_put_text(&model->strings, file),
                                 .line = line};
    ss_vec_push(&model->names, name);
    return (uint32_t)model->names.count - 1;
}

static void put_line(struct ss_model *model, uint32_t process, uint32_t name, uint32_t line,
                     uint64_t hits, uint64_t total_ns)
{
    struct ss_model_line_time row = {process, name, line, hits, total_ns};
    ss_vec_push(&model->line_times, row);
}

/* "function line hits total percent" of each row, ';' between them. */
static void check(const struct ss_model *model, const struct ss_line_times_options *options,
                  const char *process, const char *wanted)
{
    struct ss_selection selection;
    struct ss_selection_options choice = {.idle = SS_IDLE_ALL, .process = process};
    struct ss_table table;
    char got[2048] = "";
    assert_int_equal(ss_selection_init(&selection, model, &choice, NULL), SS_OK);
    ss_line_times_table(&selection, options, &table);
    for (size_t row = 0; row < table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&table, row, 0);
        size_t used = strlen(got);
        used += (size_t)snprintf(got + used, sizeof got - used, "%.*s %lld",
                                 (int)cells[SS_LINE_TIME_FUNCTION].text.length,
                                 cells[SS_LINE_TIME_FUNCTION].text.data,
                                 (long long)cells[SS_LINE_TIME_LINE].integer);
        if (cells[SS_LINE_TIME_HITS].type == SS_CELL_INTEGER) {
            used += (size_t)snprintf(got + used, sizeof got - used, " %lld %lld %.0f",
                                     (long long)cells[SS_LINE_TIME_HITS].integer,
                                     (long long)cells[SS_LINE_TIME_TOTAL].integer,
                                     cells[SS_LINE_TIME_PERCENT].real);
        }
        snprintf(got + used, sizeof got - used, ";");
    }
    assert_string_equal(got, wanted);
    ss_table_fini(&table);
    ss_selection_fini(&selection);
}

static void fill(struct ss_model *model)
{
    ss_model_init(model);
    BUILD_PROCESS(model, .pid = 1);
    BUILD_PROCESS(model, .pid = 2);
    uint32_t f = put_function(model, "f", "/a.py", 3), m = put_function(model, "A.m", "/a.py", 14);
    uint32_t twin = put_function(model, "f", "/a.py", 3), other = put_function(model, "f", "", 3);
    put_line(model, 1, f, 9, 3, 600);
    put_line(model, 1, f, 7, 4, 200);
    put_line(model, 1, m, 15, 1, 50);
    put_line(model, 2, twin, 7, 1, 200); /* of another input or process: the same function */
    put_line(model, 2, other, 4, 0, 10); /* of a file that is not known: another one */
}

static void test_functions_by_time_and_lines_in_order(void **state)
{
    (void)state;
    struct ss_model model;
    fill(&model);
    struct ss_line_times_options options = {.size = sizeof options};
    check(&model, &options, NULL, "f 7 5 400 40;f 9 3 600 60;A.m 15 1 50 100;f 4 0 10 100;");
    check(&model, &options, "1", "f 7 4 200 25;f 9 3 600 75;A.m 15 1 50 100;");
    options.max_functions = 1;
    check(&model, &options, NULL, "f 7 5 400 40;f 9 3 600 60;");
    ss_model_fini(&model);
}

static void test_lines_that_never_ran_come_from_the_source(void **state)
{
    (void)state;
    struct ss_model model;
    fill(&model);
    struct ss_line_times_options options = {.size = sizeof options, .source = {line_of, NULL}};
    check(&model, &options, NULL,
          "f 3;f 4;f 5;f 6;f 7 5 400 40;f 8;f 9 3 600 60;f 10;f 11;"
          "A.m 14;A.m 15 1 50 100;f 4 0 10 100;");
    /* A lambda has no block, and lines may lie behind the source that is there now. */
    uint32_t lambda = put_function(&model, "A.<lambda>", "/a.py", 16);
    put_line(&model, 1, lambda, 16, 1, 5);
    put_line(&model, 1, lambda, 99, 1, 5);
    check(&model, &options, "1",
          "f 3;f 4;f 5;f 6;f 7 4 200 25;f 8;f 9 3 600 75;f 10;f 11;"
          "A.m 14;A.m 15 1 50 100;A.<lambda> 16 1 5 50;A.<lambda> 99 1 5 50;");
    ss_model_fini(&model);
}

static void test_nothing(void **state)
{
    (void)state;
    struct ss_model model;
    ss_model_init(&model);
    check(&model, &(struct ss_line_times_options){0}, NULL, "");
    ss_model_fini(&model);
}

static void table_line_time(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    struct built_tables built;
    fill(&model);
    assert_int_equal(ss_selection_init(&selection, &model,
                                       &(struct ss_selection_options){.idle = SS_IDLE_ALL}, NULL),
                     SS_OK);
    build_tables(&built, "line-time", NULL, &selection, NULL);
    assert_int_equal(built.tables[0].row_count, 4);
    check_cells(&built.tables[0], 0,
                "function=f; path=/a.py; first_line=3; line=7; hits=5; total_ns=400; "
                "per_hit_ns=80; percent=40; function_total_ns=1000");
    check_cells(&built.tables[0], 1,
                "function=f; line=9; hits=3; total_ns=600; per_hit_ns=200; percent=60");
    check_cells(&built.tables[0], 2, "function=A.m; line=15; hits=1; total_ns=50; percent=100");
    fini_tables(&built);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_by_time_and_lines_in_order),
        cmocka_unit_test(test_lines_that_never_ran_come_from_the_source),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(table_line_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
