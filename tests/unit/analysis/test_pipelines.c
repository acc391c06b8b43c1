/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines that are simulated: with equal stages and transfers that take no time, the idle time of
 * each stage is known to the nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../pipeline_builder.h"
#include "analysis/pipeline/pipelines.h"
#include "table_checks.h"

enum { FORWARD = 4, BACKWARD = 8 };

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    struct ss_pipelines pipelines;
};

static void begin(struct made *made, const struct pipeline_shape *shape)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned i = 0; i < shape->pipelines; i++) {
        run_pipeline(&made->model, shape, i * shape->stages);
    }
    build_sort_ranges(&made->model);
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
    ss_pipelines_init(&made->pipelines, &made->selection, &made->steps);
}

static void end(struct made *made)
{
    ss_pipelines_fini(&made->pipelines);
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static uint64_t idle_of(const struct made *made, size_t stage, enum ss_pipeline_part part)
{
    const struct ss_pipeline_stage *row = &made->pipelines.stages.data[stage];
    return row->idle_ns[part] / row->steps;
}

static void check_equal_stages(const struct made *made, const struct pipeline_shape *shape)
{
    const struct ss_pipeline *row = &made->pipelines.rows.data[0];
    double bubble_ns = (double)((shape->stages - 1) * (FORWARD + BACKWARD) * MS);
    double pass_ns = (double)((shape->batches + shape->stages - 1) * (FORWARD + BACKWARD) * MS);
    assert_int_equal(row->stages, shape->stages);
    assert_true(row->steps >= STEPS / 2);
    assert_float_equal(row->micro_batches, shape->batches, 1e-9);
    assert_float_equal(row->pass_ns, pass_ns, 1);
    assert_float_equal(row->idle_ns, bubble_ns, 1);
    assert_float_equal(row->ideal_ns, bubble_ns, 1);
    assert_float_equal(row->unequal_ns, 0, 1);
    assert_float_equal(row->idle_ns / row->pass_ns,
                       ss_pipeline_ideal(shape->stages, shape->batches), 1e-9);
    for (size_t i = 0; i < shape->stages; i++) {
        const struct ss_pipeline_stage *stage = &made->pipelines.stages.data[i];
        assert_int_equal(stage->rank, i);
        assert_int_equal(ss_pipeline_stage_idle_ns(stage), stage->transfer_ns);
        assert_int_equal(ss_pipeline_stage_idle_ns(stage) / stage->steps, bubble_ns);
    }
}

static void test_equal_stages_wait_as_the_formula_says(void **state)
{
    (void)state;
    struct pipeline_shape shape = {.stages = STAGES, .batches = 8, .pipelines = 1};
    for (unsigned i = 0; i < STAGES; i++) {
        shape.forward[i] = FORWARD;
    }
    struct made made;
    begin(&made, &shape);
    check_equal_stages(&made, &shape);
    /* The first stage waits for the first backward, then between the last ones. */
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_WARM_UP), (STAGES - 1) * BACKWARD * MS);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_STEADY), 0);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_DRAIN), (STAGES - 1) * FORWARD * MS);
    assert_int_equal(made.pipelines.stages.data[0].longest_for, 1);
    /* The last one for the first forward; when it is done, the others are not. */
    assert_int_equal(idle_of(&made, STAGES - 1, SS_PIPELINE_WARM_UP), (STAGES - 1) * FORWARD * MS);
    assert_int_equal(idle_of(&made, STAGES - 1, SS_PIPELINE_DRAIN), (STAGES - 1) * BACKWARD * MS);
    end(&made);
}

static void test_all_forward_before_all_backward(void **state)
{
    (void)state;
    struct pipeline_shape shape = {
        .stages = STAGES, .batches = 5, .pipelines = 1, .is_gpipe = true};
    for (unsigned i = 0; i < STAGES; i++) {
        shape.forward[i] = FORWARD;
    }
    struct made made;
    begin(&made, &shape);
    check_equal_stages(&made, &shape);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_WARM_UP),
                     (STAGES - 1) * (FORWARD + BACKWARD) * MS);
    assert_int_equal(idle_of(&made, 0, SS_PIPELINE_DRAIN), 0);
    end(&made);
}

static void test_the_slowest_stage_is_named(void **state)
{
    (void)state;
    struct pipeline_shape shape = {
        .stages = STAGES, .batches = 16, .pipelines = 1, .forward = {4, 4, 7, 4}};
    struct made made;
    begin(&made, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    assert_int_equal(made.pipelines.stages.data[row->slowest].rank, 2);
    assert_float_equal(row->slowest_ns, 21 * MS, 1);
    assert_float_equal(row->other_ns, 12 * MS, 1);
    assert_float_equal(row->unequal_ns, (16 - 1) * (21 - 57 / 4.0) * MS, 1);
    assert_float_equal(row->pass_ns, (15 * 21 + 57) * MS, 0.02 * row->pass_ns);
    assert_int_equal(made.pipelines.stages.data[1].longest_for, 2);
    assert_int_equal(made.pipelines.stages.data[3].longest_for, 2);
    end(&made);
}

static void test_a_loss_is_no_micro_batch(void **state)
{
    (void)state;
    struct pipeline_shape shape = {
        .stages = 2, .batches = 6, .pipelines = 1, .forward = {4, 4}, .has_loss = true};
    struct made made;
    begin(&made, &shape);
    assert_float_equal(made.pipelines.rows.data[0].micro_batches, 6, 1e-9);
    assert_int_equal(made.pipelines.stages.data[1].micro_batches,
                     made.pipelines.stages.data[0].micro_batches);
    end(&made);
}

static void test_a_trial_of_a_step_is_no_micro_batch(void **state)
{
    (void)state;
    struct pipeline_shape shape = {
        .stages = 2, .batches = 6, .pipelines = 1, .forward = {4, 4}, .has_trial = true};
    struct made made;
    begin(&made, &shape);
    const struct ss_pipeline *row = &made.pipelines.rows.data[0];
    assert_float_equal(row->micro_batches, 6, 1e-9);
    assert_int_equal(made.pipelines.stages.data[0].micro_batches, 6 * row->steps);
    end(&made);
}

static void test_pipelines_beside_each_other(void **state)
{
    (void)state;
    struct pipeline_shape shape = {.stages = 2, .batches = 4, .pipelines = 3, .forward = {4, 4}};
    struct made made;
    begin(&made, &shape);
    assert_int_equal(made.pipelines.rows.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct ss_pipeline *row = &made.pipelines.rows.data[i];
        assert_int_equal(row->stages, 2);
        assert_int_equal(made.pipelines.stages.data[row->first].rank, 2 * i);
        assert_float_equal(row->idle_ns / row->pass_ns, 1 / 5.0, 1e-9);
    }
    end(&made);
}

static void test_ranks_without_messages_are_no_pipeline(void **state)
{
    (void)state;
    struct pipeline_shape shape = {.stages = 1, .batches = 4, .pipelines = 2, .forward = {4}};
    struct made made;
    begin(&made, &shape);
    assert_int_equal(made.pipelines.rows.count, 0);
    struct ss_table table;
    ss_pipeline_table(&made.selection, &made.steps, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    end(&made);
}

/* Stages of 4 and 7 ms, 4 micro-batches, all forward passes first: a pass takes 96 ms. */
static void table_pipeline(void **state)
{
    (void)state;
    struct pipeline_shape shape = {
        .stages = 2, .batches = 4, .pipelines = 1, .forward = {4, 7}, .is_gpipe = true};
    struct made made;
    struct built_tables built;
    begin(&made, &shape);
    build_tables(&built, "pipeline", NULL, &made.selection, &made.steps);
    assert_int_equal(built.tables[0].row_count, 2);
    check_cells(&built.tables[0], 0, /* it waits for 30 ms, then for 6 before each backward pass */
                "rank=0; pid=100; pipeline=0; stage=0; steps=12; micro_batches_step=4; "
                "work_step_ns=48000000; micro_batch_ns=12000000; idle_percent=50; "
                "ideal_percent=20; idle_step_ns=48000000; warm_up_step_ns=30000000; "
                "drain_step_ns=18000000; in_collectives_step_ns=0; waits_for_rank=1");
    check_cells(&built.tables[0],
                1, /* until the first one's forward, and after its last backward */
                "rank=1; stage=1; work_step_ns=84000000; micro_batch_ns=21000000; "
                "idle_percent=12.5; idle_step_ns=12000000; warm_up_step_ns=4000000; "
                "steady_step_ns=0; drain_step_ns=8000000; waits_for_rank=0");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_stages_wait_as_the_formula_says),
        cmocka_unit_test(test_all_forward_before_all_backward),
        cmocka_unit_test(test_the_slowest_stage_is_named),
        cmocka_unit_test(test_a_loss_is_no_micro_batch),
        cmocka_unit_test(test_a_trial_of_a_step_is_no_micro_batch),
        cmocka_unit_test(test_pipelines_beside_each_other),
        cmocka_unit_test(test_ranks_without_messages_are_no_pipeline),
        cmocka_unit_test(table_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
