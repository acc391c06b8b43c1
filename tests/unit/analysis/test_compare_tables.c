/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of tables with known rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diff/compare_tables.h"

/* --- tables ----------------------------------------------------------------------------------- */

enum { NAME, LINE, FIRST, SAMPLES, ERROR, CALLS, STEP, STEP_ERROR, LEVEL, COLUMNS };

static const struct ss_column columns[COLUMNS] = {
    [NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [LINE] = {.key = "line", .comparison = SS_COMPARES_LINE},
    [FIRST] = {.key = "first_line", .comparison = SS_COMPARES_FIRST_LINE},
    [SAMPLES] = {.key = "self_samples",
                 .unit = "samples",
                 .comparison = SS_COMPARES_SUM,
                 .leads = true,
                 .error_key = "self_pm"},
    [ERROR] = {.key = "self_pm", .unit = "points"},
    [CALLS] = {.key = "calls", .unit = "calls", .comparison = SS_COMPARES_RUN_SUM},
    [STEP] = {.key = "step_ns",
              .unit = "ns",
              .comparison = SS_COMPARES_STEP,
              .error_key = "step_pm_ns"},
    [STEP_ERROR] = {.key = "step_pm_ns", .unit = "ns"},
    [LEVEL] = {.key = "level", .comparison = SS_COMPARES_LEVEL},
};
/* The same, led by the time per step. */
static struct ss_column step_columns[COLUMNS];

static struct ss_table table_of(const struct ss_column *of)
{
    return (struct ss_table){.name = "test",
                             .title = "Test",
                             .columns = of,
                             .column_count = COLUMNS,
                             .shown_samples = 1000};
}

static struct ss_cell *add(struct ss_table *table, const char *name)
{
    struct ss_cell *cells = ss_table_add_row(table);
    cells[NAME] = ss_cell_text(ss_strview_of(name));
    return cells;
}

static void add_samples(struct ss_table *table, const char *name, int64_t samples, double error)
{
    struct ss_cell *cells = add(table, name);
    cells[SAMPLES] = ss_cell_integer(samples);
    cells[ERROR] = ss_cell_real(error);
}

static void add_step(struct ss_table *table, const char *name, int64_t ns, int64_t error_ns)
{
    struct ss_cell *cells = add(table, name);
    cells[STEP] = ss_cell_integer(ns);
    if (error_ns >= 0) {
        cells[STEP_ERROR] = ss_cell_integer(error_ns);
    }
}

struct compared {
    struct ss_table a, b, out;
};

static void begin(struct compared *compared, const struct ss_column *of)
{
    memcpy(step_columns, columns, sizeof columns);
    step_columns[SAMPLES].leads = false;
    step_columns[STEP].leads = true;
    *compared = (struct compared){.a = table_of(of), .b = table_of(of)};
}

static void compare(struct compared *compared, double divisor_a, double divisor_b, double sample_ns,
                    const struct ss_compare_options *options)
{
    const struct ss_compared_table sides[] = {{&compared->a, divisor_a, sample_ns},
                                              {&compared->b, divisor_b, sample_ns}};
    assert_true(ss_compare_tables(sides, options, &compared->out));
}

static void end(struct compared *compared)
{
    ss_table_fini(&compared->a);
    ss_table_fini(&compared->b);
    ss_table_fini(&compared->out);
}

static const struct ss_cell *cell(const struct compared *compared, size_t row,
                                  enum ss_compared_column column)
{
    return ss_table_cell(&compared->out, row, compared->out.comparison.keys + column);
}

static bool is_text(const struct ss_cell *found, const char *text)
{
    return found->type == SS_CELL_TEXT && ss_strview_equal(found->text, ss_strview_of(text));
}

/* --- tests ------------------------------------------------------------------------------------ */

static const struct ss_compare_options per_step = {.per_step = true}, per_run = {0};

static void samples_become_time_per_step(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, columns);
    add_samples(&compared.a, "f", 400, 3);
    add_samples(&compared.b, "f", 600, 4);
    compare(&compared, 10, 20, 1e6, &per_step); /* 400 ms in 10 steps, 600 ms in 20 */
    assert_int_equal(compared.out.row_count, 1);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_A)->integer, 40000000);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_B)->integer, 30000000);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_CHANGE)->integer, -10000000);
    assert_true(fabs(cell(&compared, 0, SS_COMPARED_PERCENT)->real + 25) < 1e-9);
    /* 3 points of 1000 samples are 3 ms a step, 4 points 2 ms; one row alone has the error of its
     * change. */
    double error = (double)cell(&compared, 0, SS_COMPARED_PM)->integer;
    assert_true(fabs(error - 1e6 * sqrt(9 + 4)) < 1e3);
    assert_true(is_text(cell(&compared, 0, SS_COMPARED_SIGNIFICANT), "yes"));
    assert_int_equal(cell(&compared, 0, SS_COMPARED_ONLY_IN)->type, SS_CELL_ABSENT);
    assert_string_equal(compared.out.columns[compared.out.comparison.keys].key, "a_ns");
    assert_string_equal(compared.out.comparison.per, "step");
    end(&compared);
}

static void samples_of_no_known_rate_become_shares(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, columns);
    add_samples(&compared.a, "f", 400, 3);
    compared.b.shown_samples = 4000;
    add_samples(&compared.b, "f", 1000, 3);
    compare(&compared, 1, 1, 0, &per_run);
    assert_true(fabs(cell(&compared, 0, SS_COMPARED_A)->real - 40) < 1e-9);
    assert_true(fabs(cell(&compared, 0, SS_COMPARED_CHANGE)->real + 15) < 1e-9);
    assert_true(fabs(cell(&compared, 0, SS_COMPARED_PM)->real - 3 * sqrt(2)) < 1e-3);
    assert_null(compared.out.comparison.per);
    assert_string_equal(compared.out.columns[compared.out.comparison.keys].key, "a_percent");
    end(&compared);
}

/* 38 samples, or none: the latter may be by chance as well. */
static void rows_of_one_side_stay(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, columns);
    add_samples(&compared.a, "gone", 500, 3);
    add_samples(&compared.b, "few", 3, 0.4);
    add_samples(&compared.b, "new", 200, 2);
    compare(&compared, 1, 1, 1, &per_step);
    assert_int_equal(compared.out.row_count, 3);
    assert_true(is_text(cell(&compared, 0, SS_COMPARED_ONLY_IN), "A"));
    assert_int_equal(cell(&compared, 0, SS_COMPARED_B)->type, SS_CELL_ABSENT);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_CHANGE)->integer, -500);
    assert_true(is_text(cell(&compared, 1, SS_COMPARED_ONLY_IN), "B"));
    assert_int_equal(cell(&compared, 1, SS_COMPARED_PERCENT)->type, SS_CELL_ABSENT);
    assert_true(is_text(cell(&compared, 1, SS_COMPARED_SIGNIFICANT), "yes"));
    assert_true(is_text(cell(&compared, 2, SS_COMPARED_SIGNIFICANT), "no"));
    end(&compared);
}

static void a_table_and_itself_do_not_differ(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, columns);
    for (int i = 0; i < 2; i++) {
        struct ss_table *table = i == 0 ? &compared.a : &compared.b;
        add_samples(table, "f", 400, 3);
        add_samples(table, "g", 5, 1);
        add_samples(table, "h", 300, 0); /* an error of nothing */
    }
    compare(&compared, 10, 10, 1e6, &per_step);
    assert_int_equal(compared.out.row_count, 3);
    for (size_t row = 0; row < 3; row++) {
        assert_int_equal(cell(&compared, row, SS_COMPARED_CHANGE)->integer, 0);
        assert_true(is_text(cell(&compared, row, SS_COMPARED_SIGNIFICANT), "no"));
    }
    end(&compared);
}

/* A function that moved down the file by ten lines, one line of which is new. */
static void moved_lines_are_the_same(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, columns);
    for (int i = 0; i < 2; i++) {
        struct ss_table *table = i == 0 ? &compared.a : &compared.b;
        add_samples(table, "f", 100, 3);
        table->cells.data[LINE] = ss_cell_integer(i == 0 ? 25 : 35);
        table->cells.data[FIRST] = ss_cell_integer(i == 0 ? 20 : 30);
    }
    add_samples(&compared.b, "f", 50, 3);
    compared.b.cells.data[COLUMNS + LINE] = ss_cell_integer(36);
    compared.b.cells.data[COLUMNS + FIRST] = ss_cell_integer(30);
    compare(&compared, 1, 1, 1, &per_step);
    assert_int_equal(compared.out.row_count, 2);
    assert_true(is_text(cell(&compared, 0, SS_COMPARED_ONLY_IN), "B"));
    assert_int_equal(cell(&compared, 1, SS_COMPARED_ONLY_IN)->type, SS_CELL_ABSENT);
    assert_int_equal(compared.out.comparison.keys, 2);
    assert_int_equal(ss_table_cell(&compared.out, 1, 1)->integer, 35); /* as in B */
    end(&compared);
}

static void equal_rows_of_one_side_are_one(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, columns);
    add_samples(&compared.a, "f", 100, 3);
    add_samples(&compared.a, "f", 200, 4);
    compared.a.cells.data[LEVEL] = ss_cell_real(10);
    compared.a.cells.data[COLUMNS + LEVEL] = ss_cell_real(20);
    add_samples(&compared.b, "f", 400, 0);
    compare(&compared, 1, 1, 1, &per_step);
    size_t level_a = compared.out.column_count - 2;
    assert_int_equal(compared.out.row_count, 1);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_A)->integer, 300);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_PM)->integer, 50); /* sqrt(30² + 40²) */
    assert_string_equal(compared.out.columns[level_a].key, "a_level");
    assert_true(fabs(ss_table_cell(&compared.out, 0, level_a)->real - 15) < 1e-9);
    assert_int_equal(ss_table_cell(&compared.out, 0, level_a + 1)->type, SS_CELL_ABSENT);
    end(&compared);
}

/* The only device of each run is the same, whatever its number. */
static void single_rows_of_numbers_are_the_same(void **state)
{
    (void)state;
    static const struct ss_column of_devices[] = {
        {.key = "device", .comparison = SS_COMPARES_KEY},
        {.key = "busy_ns", .unit = "ns", .comparison = SS_COMPARES_LEVEL}};
    for (int both = 0; both < 2; both++) {
        struct ss_table tables[2], out;
        struct ss_compared_table sides[2];
        for (int i = 0; i < 2; i++) {
            tables[i] = (struct ss_table){
                .name = "gpu", .title = "GPU", .columns = of_devices, .column_count = 2};
            for (int row = 0; row < (both && i == 1 ? 2 : 1); row++) {
                struct ss_cell *cells = ss_table_add_row(&tables[i]);
                cells[0] = ss_cell_integer(3 * i + row);
                cells[1] = ss_cell_integer(100);
            }
            sides[i] = (struct ss_compared_table){.table = &tables[i], .divisor = 1};
        }
        assert_true(ss_compare_tables(sides, &per_run, &out));
        assert_int_equal(out.row_count, both ? 3 : 1);
        ss_table_fini(&out);
        ss_table_fini(&tables[0]);
        ss_table_fini(&tables[1]);
    }
}

/* A name for people is shown, but rows are matched by the key. */
static void labels_do_not_match(void **state)
{
    (void)state;
    static const struct ss_column of_kernels[] = {
        {.key = "name", .comparison = SS_COMPARES_KEY},
        {.key = "short_name", .is_for_people = true, .comparison = SS_COMPARES_LABEL},
        {.key = "total_ns", .unit = "ns", .comparison = SS_COMPARES_SUM}};
    struct ss_table tables[2], out;
    struct ss_compared_table sides[2];
    for (int i = 0; i < 2; i++) {
        tables[i] = (struct ss_table){
            .name = "kernel", .title = "Kernels", .columns = of_kernels, .column_count = 3};
        for (int row = 0; row < 2; row++) {
            struct ss_cell *cells = ss_table_add_row(&tables[i]);
            cells[0] = ss_cell_text(ss_strview_of(row == 0 ? "gemm<1>" : "gemm<2>"));
            cells[1] = ss_cell_text(ss_strview_of(i == 0 ? "gemm" : "a gemm"));
            cells[2] = ss_cell_integer(100);
        }
        sides[i] = (struct ss_compared_table){.table = &tables[i], .divisor = 1};
    }
    assert_true(ss_compare_tables(sides, &per_run, &out));
    assert_int_equal(out.row_count, 2);
    assert_true(out.columns[1].is_for_people);
    assert_true(is_text(ss_table_cell(&out, 0, 1), "a gemm"));
    ss_table_fini(&out);
    ss_table_fini(&tables[0]);
    ss_table_fini(&tables[1]);
}

static bool has_column(const struct ss_table *table, const char *key)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static void steps_decide_which_columns_are_compared(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, columns);
    add_samples(&compared.a, "f", 100, 3);
    compare(&compared, 1, 1, 1, &per_step);
    assert_true(has_column(&compared.out, "a_step_ns"));
    assert_false(has_column(&compared.out, "a_calls"));
    ss_table_fini(&compared.out);
    compare(&compared, 1, 1, 1, &per_run);
    assert_false(has_column(&compared.out, "a_step_ns"));
    assert_true(has_column(&compared.out, "a_calls"));
    assert_string_equal(compared.out.comparison.per, "run");
    end(&compared);
}

static void rows_are_sorted_and_limited(void **state)
{
    (void)state;
    struct compared compared;
    const struct ss_compare_options two = {.per_step = true, .max_rows = 2};
    begin(&compared, step_columns);
    add_step(&compared.a, "small", 100, 1);
    add_step(&compared.a, "less", 500, 1);
    add_step(&compared.a, "more", 100, 1);
    add_step(&compared.b, "small", 110, 1);
    add_step(&compared.b, "less", 200, 1);
    add_step(&compared.b, "more", 300, 1);
    compare(&compared, 1, 1, 0, &two);
    assert_int_equal(compared.out.row_count, 2);
    assert_int_equal(compared.out.hidden_rows, 1);
    assert_true(is_text(ss_table_cell(&compared.out, 0, 0), "less"));
    assert_true(is_text(ss_table_cell(&compared.out, 1, 0), "more"));
    end(&compared);
}

static void an_unknown_error_claims_nothing(void **state)
{
    (void)state;
    struct compared compared;
    begin(&compared, step_columns);
    add_step(&compared.a, "f", 100, -1);
    add_step(&compared.b, "f", 900, 1);
    add_step(&compared.b, "new", 50, 1); /* that A never called it is certain */
    compare(&compared, 1, 1, 0, &per_step);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_PM)->type, SS_CELL_ABSENT);
    assert_int_equal(cell(&compared, 0, SS_COMPARED_SIGNIFICANT)->type, SS_CELL_ABSENT);
    assert_true(is_text(cell(&compared, 1, SS_COMPARED_SIGNIFICANT), "yes"));
    end(&compared);
}

/* One change of 2.1 standard errors is significant alone, not as one of a hundred. What is shown as
 * the error decides, in both. */
static void many_rows_need_larger_changes(void **state)
{
    (void)state;
    char names[100][24];
    for (size_t rows = 1; rows <= 100; rows += 99) {
        struct compared compared;
        begin(&compared, step_columns);
        for (size_t i = 0; i < rows; i++) {
            snprintf(names[i], sizeof names[i], "f%zu", i);
            add_step(&compared.a, names[i], 100000, 1000);
            add_step(&compared.b, names[i], 100000 + (i == 0 ? 1515 : 0), 1000);
        }
        compare(&compared, 1, 1, 0, &per_step);
        double change = (double)cell(&compared, 0, SS_COMPARED_CHANGE)->integer;
        double error = (double)cell(&compared, 0, SS_COMPARED_PM)->integer;
        assert_true(is_text(cell(&compared, 0, SS_COMPARED_SIGNIFICANT), rows == 1 ? "yes" : "no"));
        assert_true((change > error) == (rows == 1));
        end(&compared);
    }
}

/* What all rows share is as significant in a hundred rows as in one. */
static void many_changes_stay_significant(void **state)
{
    (void)state;
    struct compared compared;
    char names[100][24];
    begin(&compared, step_columns);
    for (size_t i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "f%zu", i);
        add_step(&compared.a, names[i], 100000, 1000);
        add_step(&compared.b, names[i], 101515, 1000);
    }
    compare(&compared, 1, 1, 0, &per_step);
    for (size_t i = 0; i < 100; i++) {
        assert_true(is_text(cell(&compared, i, SS_COMPARED_SIGNIFICANT), "yes"));
        assert_in_range(cell(&compared, i, SS_COMPARED_PM)->integer, 1413, 1415);
    }
    end(&compared);
}

static void a_table_without_keys_is_not_compared(void **state)
{
    (void)state;
    static const struct ss_column plain[] = {{.key = "name"}, {.key = "value"}};
    struct ss_table table = {.name = "plain", .columns = plain, .column_count = 2};
    const struct ss_compared_table sides[] = {{&table, 1, 0}, {&table, 1, 0}};
    struct ss_table out;
    assert_false(ss_compare_tables(sides, &per_run, &out));
}

/* Tables of operators have further columns where a device is known: a side without it has none. */
static void columns_of_one_table_are_absent_in_the_other(void **state)
{
    (void)state;
    for (int wide = 0; wide < SS_SIDES; wide++) {
        struct compared compared;
        begin(&compared, columns);
        struct ss_table *tables[] = {&compared.a, &compared.b};
        tables[!wide]->column_count = LEVEL; /* set before its rows, which have as many cells */
        for (int i = 0; i < SS_SIDES; i++) {
            add_samples(tables[i], "f", 100, 1);
            add_samples(tables[i], "g", 7, 1);
        }
        tables[wide]->cells.data[LEVEL] = ss_cell_integer(64);
        compare(&compared, 1, 1, 1, &per_run);
        size_t level_a = compared.out.column_count - 2;
        assert_string_equal(compared.out.columns[level_a].key, "a_level");
        for (size_t row = 0; row < 2; row++) {
            bool is_f = is_text(ss_table_cell(&compared.out, row, 0), "f");
            for (int i = 0; i < SS_SIDES; i++) {
                const struct ss_cell *level =
                    ss_table_cell(&compared.out, row, level_a + (size_t)i);
                assert_int_equal(level->type, is_f && i == wide ? SS_CELL_REAL : SS_CELL_ABSENT);
            }
        }
        end(&compared);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_become_time_per_step),
        cmocka_unit_test(samples_of_no_known_rate_become_shares),
        cmocka_unit_test(rows_of_one_side_stay),
        cmocka_unit_test(columns_of_one_table_are_absent_in_the_other),
        cmocka_unit_test(a_table_and_itself_do_not_differ),
        cmocka_unit_test(moved_lines_are_the_same),
        cmocka_unit_test(equal_rows_of_one_side_are_one),
        cmocka_unit_test(single_rows_of_numbers_are_the_same),
        cmocka_unit_test(labels_do_not_match),
        cmocka_unit_test(steps_decide_which_columns_are_compared),
        cmocka_unit_test(rows_are_sorted_and_limited),
        cmocka_unit_test(an_unknown_error_claims_nothing),
        cmocka_unit_test(many_rows_need_larger_changes),
        cmocka_unit_test(many_changes_stay_significant),
        cmocka_unit_test(a_table_without_keys_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
