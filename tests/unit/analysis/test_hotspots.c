/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analysis/samples/hotspots.h"
#include "analysis/samples/leaf.h"
#include "analysis/table/uncertainty.h"

static void load(struct ss_model *model, const char *text, bool keep_lines)
{
    struct ss_model_load options = {.quiet = true, .keep_lines = keep_lines};
    struct ss_error err = {0};
    ss_model_init(model);
    if (ss_model_add_raw_memory(model, "test.raw", text, strlen(text), &options, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
}

static void select_all(struct ss_selection *selection, const struct ss_model *model)
{
    struct ss_selection_options options = {.idle = SS_IDLE_ALL};
    assert_int_equal(ss_selection_init(selection, model, &options, NULL), SS_OK);
}

/* "name self/total …" of a table, in its order. */
static void check_hotspots(const struct ss_selection *selection,
                           const struct ss_hotspots_options *options, const char *wanted)
{
    struct ss_table table;
    ss_hotspots_table(selection, options, &table);
    char got[1024] = "";
    for (size_t row = 0; row < table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&table, row, 0);
        const struct ss_cell *name =
            &cells[cells[SS_HOT_NAME].type == SS_CELL_TEXT ? SS_HOT_NAME : SS_HOT_PATH];
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s%.*s %lld/%lld", row > 0 ? " " : "",
                 (int)name->text.length, name->text.data, (long long)cells[SS_HOT_SELF].integer,
                 (long long)cells[SS_HOT_TOTAL].integer);
    }
    assert_string_equal(got, wanted);
    ss_table_fini(&table);
}

static void test_recursion_counts_once(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    load(&model,
         "f (a.py:1);f (a.py:2);f (a.py:1);g (b.py:9) 10\nf (a.py:1);h (a.py:5) 3\nh (a.py:5) 2\n",
         false);
    select_all(&selection, &model);
    struct ss_hotspots_options by = {.by = SS_BY_FUNCTION};
    check_hotspots(&selection, &by, "g 10/10 h 5/5 f 0/13");
    by.sort = SS_SORT_TOTAL;
    check_hotspots(&selection, &by, "f 0/13 g 10/10 h 5/5");
    by = (struct ss_hotspots_options){.by = SS_BY_LINE, .sort = SS_SORT_TOTAL};
    check_hotspots(&selection, &by, "f 0/13 g 10/10 f 0/10 h 5/5");
    by = (struct ss_hotspots_options){.by = SS_BY_FILE};
    check_hotspots(&selection, &by, "b.py 10/10 a.py 5/15");
    by = (struct ss_hotspots_options){.by = SS_BY_FUNCTION, .max_rows = 1};
    check_hotspots(&selection, &by, "g 10/10");
    by = (struct ss_hotspots_options){.by = SS_BY_FUNCTION, .min_samples = 6};
    check_hotspots(&selection, &by, "g 10/10");
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void test_threads_and_processes(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    load(&model,
         "process 1:\"run\";process 2:\"train\";thread (2): MainThread;f (a.py:1) 5\n"
         "process 1:\"run\";process 2:\"train\";thread (9): pin;f (a.py:1) 2\n"
         "process 1:\"run\";thread (1): MainThread;main (r.py:1) 1\n",
         false);
    select_all(&selection, &model);
    struct ss_hotspots_options by = {.by = SS_BY_PROCESS};
    check_hotspots(&selection, &by, "train 7/7 run 1/8");
    by.by = SS_BY_THREAD;
    check_hotspots(&selection, &by, "MainThread 5/5 pin 2/2 MainThread 1/1");
    ss_selection_fini(&selection);

    struct ss_selection_options only = {.idle = SS_IDLE_ALL, .process = "^train", .thread = "pin"};
    assert_int_equal(ss_selection_init(&selection, &model, &only, NULL), SS_OK);
    assert_int_equal(selection.shown, 2);
    assert_int_equal(selection.filtered, 6);
    ss_selection_fini(&selection);

    only = (struct ss_selection_options){.process = "1"};
    assert_int_equal(ss_selection_init(&selection, &model, &only, NULL), SS_OK);
    assert_int_equal(selection.shown, 1);
    ss_selection_fini(&selection);

    struct ss_error err = {0};
    only = (struct ss_selection_options){.match = "("};
    assert_int_equal(ss_selection_init(&selection, &model, &only, &err), SS_E_USAGE);
    assert_non_null(strstr(err.message, "--match"));
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

/* Rows of a tree as "depth:name total". */
static void test_tree(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    load(&model,
         "a (x.py:1);b (x.py:2) 10\na (x.py:7);b (x.py:3) 5\na (x.py:7);c (x.py:4) 84\nd (x.py:1) "
         "1\n",
         false);
    select_all(&selection, &model);
    struct ss_tree_options options = {.min_percent = 1.5};
    struct ss_table table;
    ss_tree_table(&selection, &options, &table);
    char got[256] = "";
    for (size_t row = 0; row < table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&table, row, 0);
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%lld<%lld:%.*s %lld ",
                 (long long)cells[SS_HOT_DEPTH].integer, (long long)cells[SS_HOT_PARENT].integer,
                 (int)cells[SS_HOT_NAME].text.length, cells[SS_HOT_NAME].text.data,
                 (long long)cells[SS_HOT_TOTAL].integer);
    }
    assert_string_equal(got, "1<-1:a 99 2<0:c 84 2<0:b 15 ");
    assert_int_equal(table.hidden_rows, 1);
    assert_int_equal(table.hidden_samples, 1);
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void put_total(struct ss_model *model, uint32_t thread, uint32_t stack,
                      enum ss_thread_state state, enum ss_gil_state gil, uint64_t samples)
{
    struct ss_model_total total = {.thread = thread,
                                   .stack = stack,
                                   .state = (uint8_t)state,
                                   .gil = (uint8_t)gil,
                                   .samples = samples,
                                   .records = 1};
    ss_model_add_total(model, &total);
}

static void check_selection(const struct ss_model *model, enum ss_idle_policy idle, bool gil,
                            uint64_t shown, uint64_t idle_hidden, uint64_t no_gil)
{
    struct ss_selection selection;
    struct ss_selection_options options = {.idle = idle, .gil_only = gil};
    assert_int_equal(ss_selection_init(&selection, model, &options, NULL), SS_OK);
    assert_int_equal(selection.shown, shown);
    assert_int_equal(selection.idle, idle_hidden);
    assert_int_equal(selection.no_gil, no_gil);
    assert_int_equal(selection.recorded, selection.shown + selection.idle + selection.no_gil +
                                             selection.filtered + selection.frameless);
    ss_selection_fini(&selection);
}

static void test_idle(void **state)
{
    (void)state;
    struct ss_model model;
    uint32_t main_thread = 1, worker = 2, busy = 1, waiting = 2;
    load(&model, "thread (1): MainThread;f (a.py:1) 0\nthread (2): w;wait (threading.py:1) 0\n",
         false);
    put_total(&model, main_thread, busy, SS_STATE_ON_CPU, SS_GIL_HELD, 1);
    put_total(&model, main_thread, busy, SS_STATE_SLEEPING, SS_GIL_NONE, 10);
    put_total(&model, worker, busy, SS_STATE_SLEEPING, SS_GIL_WAITED, 100);
    put_total(&model, worker, busy, SS_STATE_SLEEPING, SS_GIL_HELD, 1000);
    put_total(&model, worker, waiting, SS_STATE_ON_CPU, SS_GIL_NONE, 10000);
    put_total(&model, worker, busy, SS_STATE_RUNNABLE, SS_GIL_NONE, 100000);
    put_total(&model, main_thread, 0, SS_STATE_ON_CPU, SS_GIL_NONE, 1000000);
    check_selection(&model, SS_IDLE_NONE, false, 101001, 10110, 0);
    check_selection(&model, SS_IDLE_MAIN, false, 101011, 10100, 0);
    check_selection(&model, SS_IDLE_ALL, false, 111111, 0, 0);
    check_selection(&model, SS_IDLE_ALL, true, 1001, 0, 1110110);
    ss_model_fini(&model);
}

static void check_leaf(const struct ss_model *model, enum ss_library_rule rule, const char *library,
                       const char *wanted)
{
    struct ss_selection selection;
    select_all(&selection, model);
    struct ss_leaf_options options = {.rule = rule, .library = library, .aggregate = true};
    struct ss_table table;
    ss_leaf_table(&selection, &options, &table);
    const struct ss_cell *cell =
        ss_table_cell(&table, 0, ss_table_column(&table, "library_function_path"));
    if (wanted == NULL) {
        assert_int_equal(cell->type, SS_CELL_ABSENT);
    } else {
        assert_int_equal(cell->type, SS_CELL_TEXT);
        assert_true(ss_strview_equal(cell->text, ss_strview_of(wanted)));
    }
    ss_table_fini(&table);
    ss_selection_fini(&selection);
}

static void test_library_rules(void **state)
{
    (void)state;
    struct ss_model model;
    load(&model,
         "main (train.py:1);step (mylib/trainer.py:2);f (torchvision/ops.py:3);"
         "wait (threading.py:4) 1\n",
         false);
    check_leaf(&model, SS_LIBRARY_OWN_CODE, NULL, "mylib/trainer.py");
    check_leaf(&model, SS_LIBRARY_NAME, "torch", NULL);
    check_leaf(&model, SS_LIBRARY_SUBSTRING, "torch", "torchvision/ops.py");
    check_leaf(&model, SS_LIBRARY_NAME, "torchvision", "torchvision/ops.py");
    check_leaf(&model, SS_LIBRARY_NAME, "trainer", "mylib/trainer.py");
    check_leaf(&model, SS_LIBRARY_NAME, "train", "train.py");
    check_leaf(&model, SS_LIBRARY_NAME, "train.py", "train.py");
    check_leaf(&model, SS_LIBRARY_NAME, "lib", NULL);
    check_leaf(&model, SS_LIBRARY_SUBSTRING, "", "threading.py");
    ss_model_fini(&model);
}

static void test_leaf_totals(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    load(&model,
         "<module> (t.py:1) 4\n<module> (t.py:1);f (t.py:2) 5\n<module> (t.py:1);f (t.py:2) 6\n"
         "7\n",
         true);
    select_all(&selection, &model);
    struct ss_leaf_options options = {.aggregate = false};
    struct ss_table table;
    ss_leaf_table(&selection, &options, &table);
    assert_int_equal(table.row_count, 2); /* a row per line, also for equal lines */
    assert_int_equal(table.shown_samples, 11);
    assert_int_equal(table.dropped_samples, 4);
    assert_int_equal(selection.frameless, 7);
    assert_int_equal(ss_table_cell(&table, 0, ss_table_column(&table, "samples"))->integer, 6);
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void test_error(void **state)
{
    (void)state;
    /* Wilson, n = 100, p = 0.5: 0.404 … 0.596. */
    assert_float_equal(ss_share_error_points(50, 100, 100), 9.62, 0.02);
    /* p = 0: the upper end, z²/(n + z²). */
    assert_float_equal(ss_share_error_points(0, 100, 100), 3.70, 0.01);
    /* Nine of ten ticks only continue a sample: a tenth of the error. */
    assert_float_equal(ss_share_error_points(50, 100, 1000), 0.962, 0.002);
    assert_float_equal(ss_share_error_points(0, 0, 0), 0, 0);
    assert_float_equal(ss_share_error_points(1, 1, 1), 79.35, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recursion_counts_once),
        cmocka_unit_test(test_threads_and_processes),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_library_rules),
        cmocka_unit_test(test_leaf_totals),
        cmocka_unit_test(test_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
