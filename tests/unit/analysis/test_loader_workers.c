/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/loading/loader_workers.h"
#include "table_checks.h"

#define MS UINT64_C(1000000)

/* A training in memory: process 1 trains, 2 and 3 are its workers. */
struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
};

static void add_fact(struct ss_model *model, uint32_t process, const char *key, int64_t value,
                     uint64_t time_ns)
{
    char fact[64];
    snprintf(fact, sizeof fact, "%s = %d", key, (int)value);
    BUILD_NOTE(model, .process = process, .kind = "fact", .text = fact, .value = value,
               .time_ns = time_ns);
}

/* payload -1: none */
static void add(struct made *made, uint32_t track, const char *name, uint64_t begin_ms,
                uint64_t end_ms, int64_t payload)
{
    struct ss_model *model = &made->model;
    BUILD_RANGE(model, .track = track, .name = name, .begin_ns = begin_ms * MS,
                .end_ns = end_ms * MS, .payload = payload >= 0 ? build_integer(model, payload) : 0);
}

/* Track n is that of process n's data; track 4 has the steps. */
static void begin(struct made *made)
{
    struct ss_model *model = &made->model;
    *made = (struct made){0};
    ss_model_init(model);
    for (int32_t pid = 100; pid < 103; pid++) {
        uint32_t process = BUILD_PROCESS(model, .pid = pid, .parent = pid == 100 ? 0 : 1);
        BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process, .name = "torch.data");
    }
    BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = 1, .name = "step");
}

static void sum_up(struct made *made)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options options = {0};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->training, &made->selection, &options);
}

static void end(struct made *made)
{
    ss_step_summary_fini(&made->training);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static int64_t number(const struct ss_table *table, size_t row, size_t column)
{
    const struct ss_cell *cell = ss_table_cell(table, row, column);
    assert_int_equal(cell->type, SS_CELL_INTEGER);
    return cell->integer;
}

static double real(const struct ss_table *table, size_t row, size_t column)
{
    const struct ss_cell *cell = ss_table_cell(table, row, column);
    assert_int_equal(cell->type, SS_CELL_REAL);
    return cell->real;
}

/* Ten steps of 100 ms that wait 40 ms each; each worker fetches 5 batches of 4 samples: one in 160
 * ms, of which 40 are collating, the other in 80. */
static void make_training(struct made *made)
{
    begin(made);
    add_fact(&made->model, 1, "dataloader.workers", 2, 0);
    add_fact(&made->model, 1, "dataloader.batch_size", 4, 0);
    add_fact(&made->model, 2, "dataloader.worker", 0, 0);
    add_fact(&made->model, 3, "dataloader.worker", 1, 200 * MS);
    for (uint64_t i = 0; i < 10; i++) {
        add(made, 1, "next", i * 100, i * 100 + 40, i < 5 ? 0 : 2);
        add(made, 4, "step", i * 100, i * 100 + 100, (int64_t)i);
    }
    for (uint64_t i = 0; i < 5; i++) {
        add(made, 2, "fetch", i * 200, i * 200 + 160, 4);
        add(made, 2, "collate", i * 200 + 120, i * 200 + 160, 4);
    }
    for (uint64_t i = 0; i < 5; i++) {
        add(made, 3, "fetch", 200 + i * 100, 200 + i * 100 + 80, 4);
    }
    sum_up(made);
}

static void test_who_loads(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    make_training(&made);
    ss_workers_table(&made.selection, &made.training, 0, &table);
    assert_int_equal(table.row_count, 2);
    for (size_t row = 0; row < 2; row++) {
        assert_int_equal(number(&table, row, SS_WORKER_NUMBER), row);
        assert_int_equal(number(&table, row, SS_WORKER_BATCHES), 5);
        assert_int_equal(number(&table, row, SS_WORKER_SAMPLES), 20);
    }
    assert_int_equal(number(&table, 0, SS_WORKER_BATCH_P95), 160 * MS);
    assert_int_equal(number(&table, 0, SS_WORKER_SAMPLE_MEAN), 40 * MS);
    assert_int_equal(number(&table, 0, SS_WORKER_COLLATE_MEAN), 40 * MS);
    assert_float_equal(real(&table, 0, SS_WORKER_COLLATE_PERCENT), 25, 1e-9);
    assert_float_equal(real(&table, 0, SS_WORKER_BUSY_PERCENT), 80, 1e-9);
    assert_int_equal(number(&table, 0, SS_WORKER_WAITING), 200 * MS);
    /* It began to work after 200 ms. */
    assert_float_equal(real(&table, 1, SS_WORKER_BUSY_PERCENT), 50, 1e-9);
    ss_table_fini(&table);
    ss_workers_table(&made.selection, &made.training, 1, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.hidden_rows, 1);
    ss_table_fini(&table);
    end(&made);
}

static void test_who_waits(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    make_training(&made);
    ss_loaders_table(&made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(number(&table, 0, SS_LOADER_PID), 100);
    assert_int_equal(number(&table, 0, SS_LOADER_WORKERS), 2);
    assert_int_equal(number(&table, 0, SS_LOADER_BATCH_SIZE), 4);
    assert_int_equal(ss_table_cell(&table, 0, SS_LOADER_PREFETCH)->type, SS_CELL_ABSENT);
    assert_int_equal(number(&table, 0, SS_LOADER_ASKED), 10);
    assert_float_equal(real(&table, 0, SS_LOADER_WAIT_PERCENT), 40, 1e-9);
    assert_int_equal(number(&table, 0, SS_LOADER_WAIT_P50), 40 * MS);
    assert_float_equal(real(&table, 0, SS_LOADER_EMPTY_PERCENT), 50, 1e-9);
    assert_float_equal(real(&table, 0, SS_LOADER_READY_MEAN), 1, 1e-9);
    assert_int_equal(number(&table, 0, SS_LOADER_READY_MAX), 2);
    /* A batch takes 120 ms, a step without waiting 60. */
    assert_int_equal(number(&table, 0, SS_LOADER_NEEDED), 2);
    ss_table_fini(&table);
    end(&made);
}

/* A stream's last fetch finds nothing; a dataset may have a loader of its own. */
static void test_what_is_no_batch(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    begin(&made);
    add(&made, 1, "next", 0, 10, -1);
    add(&made, 1, "fetch", 1, 9, -1);
    add(&made, 1, "fetch", 2, 4, 7);
    add(&made, 1, "collate", 6, 8, 3);
    add(&made, 1, "next", 10, 20, -1);
    add(&made, 1, "fetch", 11, 19, -1);
    sum_up(&made);
    ss_workers_table(&made.selection, &made.training, 0, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(ss_table_cell(&table, 0, SS_WORKER_NUMBER)->type, SS_CELL_ABSENT);
    assert_int_equal(number(&table, 0, SS_WORKER_BATCHES), 1);
    assert_int_equal(number(&table, 0, SS_WORKER_SAMPLES), 3);
    assert_float_equal(real(&table, 0, SS_WORKER_BUSY_PERCENT), 40, 1e-9);
    ss_table_fini(&table);
    ss_loaders_table(&made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(ss_table_cell(&table, 0, SS_LOADER_WAIT_MEAN)->type, SS_CELL_ABSENT);
    ss_table_fini(&table);
    end(&made);
}

/* Two windows of a schedule: steps 0 to 2 and 5 to 7. One worker's fetch reaches over an edge. */
static void test_windows(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    begin(&made);
    add_fact(&made.model, 2, "dataloader.worker", 0, 0);
    for (uint64_t i = 0; i < 10; i++) {
        add(&made, 4, "step", i * 100, i * 100 + 100, (int64_t)i);
    }
    add(&made, 1, "next", 0, 10, 0);
    add(&made, 2, "fetch", 0, 120, 4);
    add(&made, 2, "fetch", 120, 240, 4);
    add(&made, 2, "fetch", 240, 300, 4); /* to the edge, and from the next on */
    made.model.ranges.data[made.model.ranges.count - 1].flags = SS_RANGE_END_UNSEEN;
    add(&made, 2, "fetch", 500, 530, -1);
    made.model.ranges.data[made.model.ranges.count - 1].flags = SS_RANGE_BEGIN_UNSEEN;
    sum_up(&made);
    made.training.steps.data[3].kind = made.training.steps.data[4].kind = SS_STEP_OUTSIDE;
    made.training.steps.data[8].kind = made.training.steps.data[9].kind = SS_STEP_OUTSIDE;
    ss_workers_table(&made.selection, &made.training, 0, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(number(&table, 0, SS_WORKER_BATCHES), 2);
    assert_int_equal(number(&table, 0, SS_WORKER_SAMPLES), 8);
    assert_int_equal(number(&table, 0, SS_WORKER_BATCH_MEAN), 120 * MS);
    assert_int_equal(number(&table, 0, SS_WORKER_BUSY), 330 * MS);
    assert_float_equal(real(&table, 0, SS_WORKER_BUSY_PERCENT), 55, 1e-9);
    ss_table_fini(&table);
    end(&made);
}

static void test_a_batch_that_is_nowhere_whole(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    begin(&made);
    add(&made, 2, "fetch", 0, 100, 4);
    made.model.ranges.data[0].flags = SS_RANGE_END_UNSEEN;
    sum_up(&made);
    ss_workers_table(&made.selection, &made.training, 0, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(number(&table, 0, SS_WORKER_BATCHES), 0);
    assert_int_equal(ss_table_cell(&table, 0, SS_WORKER_BATCH_MEAN)->type, SS_CELL_ABSENT);
    assert_int_equal(number(&table, 0, SS_WORKER_BUSY), 100 * MS);
    ss_table_fini(&table);
    end(&made);
}

static void choose(struct made *made, uint32_t process)
{
    for (uint32_t i = 0; i < made->model.processes.count; i++) {
        made->selection.processes[i] = i == process;
    }
}

static void test_one_process(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    bool takers[4] = {false};
    make_training(&made);
    choose(&made, 1); /* who trains: with its workers */
    ss_workers_table(&made.selection, &made.training, 0, &table);
    assert_int_equal(table.row_count, 2);
    ss_table_fini(&table);
    ss_loaders_table(&made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(number(&table, 0, SS_LOADER_NEEDED), 2);
    ss_table_fini(&table);
    choose(&made, 3); /* a worker: itself alone */
    ss_workers_table(&made.selection, &made.training, 0, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(number(&table, 0, SS_WORKER_NUMBER), 1);
    assert_float_equal(real(&table, 0, SS_WORKER_BUSY_PERCENT), 50, 1e-9);
    ss_table_fini(&table);
    ss_loaders_table(&made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    ss_loader_consumers(&made.selection, takers);
    assert_true(takers[1] && !takers[0] && !takers[2] && !takers[3]);
    end(&made);
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    begin(&made);
    sum_up(&made);
    ss_workers_table(&made.selection, &made.training, 0, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    ss_loaders_table(&made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    end(&made);
}

static void test_copies_are_those_of_the_steps_whose_operators_were_recorded(void **state)
{
    (void)state;
    struct made made;
    struct ss_table table;
    begin(&made);
    struct ss_model *model = &made.model;
    uint32_t recorded =
        BUILD_TRACK(model, .kind = SS_TRACK_COUNTER, .process = 1, .name = "operators recorded");
    for (uint64_t i = 0; i < 10; i++) {
        build_count(model, recorded, i * 100 * MS, i % 2);
        add(&made, 1, "next", i * 100, i * 100 + 40, -1);
        add(&made, 4, "step", i * 100, i * 100 + 100, (int64_t)i);
        if (i % 2 == 1) {
            add(&made, 1, "host to device", i * 100 + 40, i * 100 + 43, -1);
        }
    }
    sum_up(&made);
    ss_loaders_table(&made.selection, &made.training, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(number(&table, 0, SS_LOADER_COPY_MEAN), 3 * MS);
    ss_table_fini(&table);
    end(&made);
    make_training(&made);
    ss_loaders_table(&made.selection, &made.training, &table);
    assert_int_equal(ss_table_cell(&table, 0, SS_LOADER_COPY_MEAN)->type, SS_CELL_ABSENT);
    ss_table_fini(&table);
    end(&made);
}

static void table_worker(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    make_training(&made);
    build_tables(&built, "worker", NULL, &made.selection, &made.training);
    assert_int_equal(built.count, 2);
    check_cells(&built.tables[0], 0,
                "pid=101; worker=0; batches=5; samples=20; busy_percent=80; waiting_ns=200000000; "
                "batch_mean_ns=160000000; batch_p95_ns=160000000; sample_mean_ns=40000000; "
                "collate_mean_ns=40000000; collate_percent=25");
    check_cells(&built.tables[0], 1,
                "pid=102; worker=1; batches=5; samples=20; busy_percent=50; "
                "batch_mean_ns=80000000; sample_mean_ns=20000000");
    check_cells(&built.tables[1], 0,
                "pid=100; workers=2; batch_size=4; prefetch_factor=-; asked=10; wait_percent=40; "
                "wait_mean_ns=40000000; empty_percent=50; ready_mean=1; ready_max=2; "
                "workers_needed=2");
    fini_tables(&built);
    end(&made);
}

/* The wall time of a main thread counts, but a worker that waits for its next request is no cost.
 */
static void test_idle_workers_need_not_count(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    build_fact(&made.model, 2, "dataloader.worker", 0);
    for (uint32_t process = 1; process <= 2; process++) {
        uint32_t thread = BUILD_THREAD(&made.model, .process = process, .tid = 99 + (int)process,
                                       .is_main = true);
        for (int state_of = 0; state_of < 2; state_of++) {
            ss_model_add_total(&made.model,
                               &(struct ss_model_total){.thread = thread,
                                                        .state = state_of == 0 ? SS_STATE_SLEEPING
                                                                               : SS_STATE_ON_CPU,
                                                        .samples = state_of == 0 ? 100 : 10});
        }
    }
    struct ss_selection_options options = {.idle = SS_IDLE_MAIN, .frameless = true};
    struct ss_selection selection;
    assert_int_equal(ss_selection_init(&selection, &made.model, &options, NULL), SS_OK);
    assert_int_equal(selection.shown, 220);
    ss_selection_fini(&selection);
    options.busy_workers = true;
    assert_int_equal(ss_selection_init(&selection, &made.model, &options, NULL), SS_OK);
    assert_int_equal(selection.shown, 120);
    assert_int_equal(selection.idle, 100);
    ss_selection_fini(&selection);
    ss_model_fini(&made.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_loads),
        cmocka_unit_test(test_who_waits),
        cmocka_unit_test(test_what_is_no_batch),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_a_batch_that_is_nowhere_whole),
        cmocka_unit_test(test_one_process),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_copies_are_those_of_the_steps_whose_operators_were_recorded),
        cmocka_unit_test(table_worker),
        cmocka_unit_test(test_idle_workers_need_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
