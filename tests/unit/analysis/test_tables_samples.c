/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of samples, as the registry builds them. Of 100 samples, the main thread of a training has
 * 80: 50 in step(), 30 in load(), both called by main(). A thread pins memory in 20. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/tables/overview.h"
#include "table_checks.h"

#define MAIN "process 1:\"run\";process 2:\"train\";thread (2): MainThread;"
#define PIN "process 1:\"run\";process 2:\"train\";thread (9): pin;"

static const char samples[] = MAIN "main (t.py:10);load (d.py:5) 30\n" MAIN
                                   "main (t.py:12);step (t.py:20) 50\n" PIN "pin (d.py:7) 20\n";

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct built_tables built;
};

static void select_all(struct made *made)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
}

static void load(struct made *made)
{
    struct ss_model_load options = {.quiet = true, .keep_lines = true};
    ss_model_init(&made->model);
    assert_int_equal(
        ss_model_add_raw_memory(&made->model, "test.raw", samples, strlen(samples), &options, NULL),
        SS_OK);
    select_all(made);
}

static void end(struct made *made)
{
    fini_tables(&made->built);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

/* Of the deepest functions, and of your own code, as all of it is here. */
static void table_leaf(void **state)
{
    (void)state;
    struct made made;
    load(&made);
    build_tables(&made.built, "leaf", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 3);
    check_cells(table, 0,
                "name=step; path=t.py; line=20; library_function_name=step; percent=50; "
                "samples=50");
    check_cells(table, 1, "name=load; path=d.py; line=5; percent=30; samples=30");
    check_cells(table, 2, "name=pin; path=d.py; line=7; percent=20; samples=20");
    end(&made);
}

static void table_function(void **state)
{
    (void)state;
    struct made made;
    load(&made);
    build_tables(&made.built, "function", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 4);
    assert_int_equal(table->shown_samples, 100);
    check_cells(table, 0,
                "name=step; path=t.py; self_percent=50; self_samples=50; total_percent=50; "
                "total_samples=50");
    check_cells(table, 1, "name=load; path=d.py; self_samples=30; total_samples=30");
    check_cells(table, 2, "name=pin; path=d.py; self_samples=20; total_samples=20");
    check_cells(table, 3,
                "name=main; path=t.py; self_percent=0; self_samples=0; total_percent=80; "
                "total_samples=80");
    end(&made);
}

/* main() calls at two lines. */
static void table_line(void **state)
{
    (void)state;
    struct made made;
    load(&made);
    build_tables(&made.built, "line", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 5);
    check_cells(table, 0, "name=step; path=t.py; line=20; self_samples=50; total_samples=50");
    check_cells(table, 1, "name=load; path=d.py; line=5; self_samples=30; total_samples=30");
    check_cells(table, 2, "name=pin; path=d.py; line=7; self_samples=20; total_samples=20");
    check_cells(table, 3, "name=main; path=t.py; line=12; self_samples=0; total_samples=50");
    check_cells(table, 4, "name=main; path=t.py; line=10; self_samples=0; total_samples=30");
    end(&made);
}

/* d.py has as many samples of its own, but t.py calls load(). */
static void table_file(void **state)
{
    (void)state;
    struct made made;
    load(&made);
    build_tables(&made.built, "file", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 2);
    check_cells(table, 0,
                "path=t.py; self_percent=50; self_samples=50; total_percent=80; total_samples=80");
    check_cells(table, 1,
                "path=d.py; self_percent=50; self_samples=50; total_percent=50; total_samples=50");
    end(&made);
}

static void table_thread(void **state)
{
    (void)state;
    struct made made;
    load(&made);
    build_tables(&made.built, "thread", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 2);
    check_cells(table, 0, "name=MainThread; pid=2; tid=2; self_percent=80; self_samples=80");
    check_cells(table, 1, "name=pin; pid=2; tid=9; self_percent=20; self_samples=20");
    end(&made);
}

/* The launcher has the samples of its descendant in total. */
static void table_process(void **state)
{
    (void)state;
    struct made made;
    load(&made);
    build_tables(&made.built, "process", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 2);
    check_cells(table, 0, "name=train; pid=2; self_samples=100; total_samples=100");
    check_cells(table, 1, "name=run; pid=1; self_samples=0; total_samples=100; total_percent=100");
    end(&made);
}

static void table_tree(void **state)
{
    (void)state;
    struct made made;
    load(&made);
    build_tables(&made.built, "tree", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 4);
    check_cells(table, 0, "name=main; depth=1; parent=-1; self_samples=0; total_samples=80");
    check_cells(table, 1, "name=step; depth=2; parent=0; self_samples=50; total_samples=50");
    check_cells(table, 2, "name=load; depth=2; parent=0; self_samples=30; total_samples=30");
    check_cells(table, 3, "name=pin; depth=1; parent=-1; self_samples=20; total_samples=20");
    end(&made);
}

/* --- samples in ranges ------------------------------------------------------------------------ */

static void put_total(struct made *made, uint32_t thread, uint32_t range, uint64_t count)
{
    struct ss_model *model = &made->model;
    uint32_t stack = BUILD_CALL(model, 0, .function = "f", .file = "a.py", .line = 1);
    ss_model_add_total(
        model,
        &(struct ss_model_total){
            .thread = thread, .stack = stack, .range = range, .samples = count, .records = count});
}

/* 60 samples in "decode" within "epoch", 30 in the rest of it, 10 in no range. */
static void table_sample_range(void **state)
{
    (void)state;
    struct made made;
    ss_model_init(&made.model);
    uint32_t process = BUILD_PROCESS(&made.model, .pid = 42);
    uint32_t thread = BUILD_THREAD(&made.model, .process = process, .tid = 42, .is_main = true);
    uint32_t track =
        BUILD_TRACK(&made.model, .kind = SS_TRACK_RANGES, .process = process, .thread = thread);
    uint32_t epoch = BUILD_RANGE(&made.model, .track = track, .name = "epoch", .end_ns = 100);
    uint32_t decode = BUILD_RANGE(&made.model, .track = track, .around = epoch, .name = "decode",
                                  .begin_ns = 10, .end_ns = 70);
    put_total(&made, thread, decode, 60);
    put_total(&made, thread, epoch, 30);
    put_total(&made, thread, 0, 10);
    select_all(&made);
    build_tables(&made.built, "sample-range", NULL, &made.selection, NULL);
    const struct ss_table *table = &made.built.tables[0];
    assert_int_equal(table->row_count, 3);
    check_cells(table, 0,
                "name=decode; path=epoch;decode; self_percent=60; self_samples=60; "
                "total_samples=60");
    check_cells(table, 1,
                "name=epoch; path=epoch; self_percent=30; self_samples=30; total_samples=90; "
                "total_percent=90");
    check_cells(table, 2, "name=-; self_percent=10; self_samples=10; total_samples=10");
    end(&made);
}

/* By the places of their rows: those of steps and tracks have none here. */
static void the_page_has_the_tables_whose_rows_say_so(void **state)
{
    static const char *const names[] = {"function", "line", "thread", "process"};
    (void)state;
    struct made made;
    struct ss_step_summary none = {0};
    load(&made);
    struct ss_table_options options = {.max_rows = 100, .is_page = true};
    struct ss_table_input input = {
        .selection = &made.selection, .training = &none, .options = &options};
    made.built.count = ss_overview_of_page.build(&input, made.built.tables);
    assert_int_equal(made.built.count, 4);
    for (size_t i = 0; i < made.built.count; i++) {
        assert_string_equal(made.built.tables[i].name, names[i]);
    }
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_leaf),
        cmocka_unit_test(table_function),
        cmocka_unit_test(table_line),
        cmocka_unit_test(table_file),
        cmocka_unit_test(table_thread),
        cmocka_unit_test(table_process),
        cmocka_unit_test(table_tree),
        cmocka_unit_test(table_sample_range),
        cmocka_unit_test(the_page_has_the_tables_whose_rows_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
