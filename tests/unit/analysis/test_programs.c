/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/selection/programs.h"

struct world {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_programs programs;
};

static void init(struct world *world, size_t inputs)
{
    memset(world, 0, sizeof *world);
    ss_model_init(&world->model);
    for (size_t i = 0; i < inputs; i++) {
        ss_model_new_input(&world->model, SS_INPUT_TRACE, "t.pftrace");
    }
}

/* A process with a range, unless it is idle. */
static uint32_t add(struct world *world, uint32_t parent, int rank, bool is_idle)
{
    struct ss_model *model = &world->model;
    uint32_t process =
        BUILD_PROCESS(model, .pid = 100 + (int32_t)model->processes.count, .parent = parent);
    model->processes.data[process].has_rank = rank >= 0;
    model->processes.data[process].rank = rank >= 0 ? (uint32_t)rank : 0;
    uint32_t thread = BUILD_THREAD(model, .process = process, .tid = process);
    uint32_t track =
        BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process, .thread = thread);
    if (!is_idle) {
        BUILD_RANGE(model, .track = track, .name = "r", .begin_ns = 1, .end_ns = 2);
    }
    return process;
}

static void find(struct world *world)
{
    const struct ss_selection_options options = {.size = sizeof options};
    assert_int_equal(ss_selection_init(&world->selection, &world->model, &options, NULL), SS_OK);
    ss_programs_init(&world->programs, &world->selection);
}

static void fini(struct world *world)
{
    ss_programs_fini(&world->programs);
    ss_selection_fini(&world->selection);
    ss_model_fini(&world->model);
}

static void test_ranks_with_their_workers(void **state)
{
    (void)state;
    struct world world;
    init(&world, 1);
    uint32_t launcher = add(&world, 0, -1, false);
    uint32_t second = add(&world, launcher, 1, false);
    uint32_t first = add(&world, launcher, 0, false);
    uint32_t worker = add(&world, first, 0, false); /* inherits the rank's environment */
    uint32_t shell = add(&world, second, -1, false);
    find(&world);
    assert_int_equal(world.programs.rows.count, 2);
    assert_int_equal(world.programs.left_out, 1);
    const struct ss_program *program = &world.programs.rows.data[0];
    assert_int_equal(program->process, first);
    assert_int_equal(program->rank, 0);
    assert_true(program->selection.processes[first] && program->selection.processes[worker]);
    assert_false(program->selection.processes[second] || program->selection.processes[launcher]);
    assert_true(program[1].selection.processes[shell] && program[1].selection.threads[shell]);
    assert_false(program[1].selection.threads[worker]);
    fini(&world);
}

static void test_a_launcher_belongs_to_the_only_rank(void **state)
{
    (void)state;
    struct world world;
    init(&world, 1);
    uint32_t launcher = add(&world, 0, -1, false);
    uint32_t rank = add(&world, launcher, 3, false);
    find(&world);
    assert_int_equal(world.programs.rows.count, 1);
    assert_int_equal(world.programs.rows.data[0].process, rank);
    assert_true(world.programs.rows.data[0].selection.processes[launcher]);
    fini(&world);
}

static void test_inputs_without_ranks_are_programs(void **state)
{
    (void)state;
    struct world world;
    init(&world, 2);
    uint32_t one = add(&world, 0, -1, true), child = add(&world, one, -1, false);
    uint32_t other = add(&world, 0, -1, false);
    world.model.processes.data[other].input = 1;
    find(&world);
    assert_int_equal(world.programs.rows.count, 2);
    assert_int_equal(world.programs.rows.data[0].process, one);
    assert_true(world.programs.rows.data[0].selection.processes[child]);
    assert_int_equal(world.programs.rows.data[1].input, 1);
    fini(&world);
}

static void test_users_of_devices_are_programs(void **state)
{
    (void)state;
    struct world world;
    init(&world, 1);
    uint32_t launcher = add(&world, 0, -1, false);
    uint32_t one = add(&world, launcher, -1, false), other = add(&world, launcher, -1, false);
    uint32_t worker = add(&world, other, -1, false);
    BUILD_TRACK(&world.model, .kind = SS_TRACK_GROUP, .process = one, .device = 1);
    find(&world);
    assert_int_equal(world.programs.rows.count, 1); /* a single user: all is its program */
    fini(&world);
    init(&world, 1);
    add(&world, 0, -1, false);
    add(&world, launcher, -1, false);
    add(&world, launcher, -1, false);
    add(&world, other, -1, false);
    BUILD_TRACK(&world.model, .kind = SS_TRACK_GROUP, .process = one, .device = 1);
    BUILD_TRACK(&world.model, .kind = SS_TRACK_GROUP, .process = other, .device = 2);
    find(&world);
    assert_int_equal(world.programs.rows.count, 2);
    assert_int_equal(world.programs.left_out, 1);
    assert_int_equal(world.programs.rows.data[1].process, other);
    assert_true(world.programs.rows.data[1].selection.processes[worker]);
    assert_true(world.programs.rows.data[0].shares_input);
    fini(&world);
}

static void test_processes_without_ranges_are_no_programs(void **state)
{
    (void)state;
    struct world world;
    init(&world, 1);
    add(&world, 0, 0, true);
    add(&world, 0, 1, false);
    find(&world);
    assert_int_equal(world.programs.rows.count, 1);
    assert_int_equal(world.programs.rows.data[0].rank, 1);
    fini(&world);
}

static void test_steps_are_those_of_the_longest_row(void **state)
{
    (void)state;
    struct world world;
    struct ss_program_steps begins = {0};
    init(&world, 1);
    uint32_t process = add(&world, 0, -1, false);
    uint32_t few =
        BUILD_TRACK(&world.model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    BUILD_RANGE(&world.model, .track = few, .name = "step", .begin_ns = 5, .end_ns = 9);
    uint32_t many =
        BUILD_TRACK(&world.model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    for (uint64_t i = 0; i < 3; i++) {
        BUILD_RANGE(&world.model, .track = many, .name = "step", .begin_ns = 10 * i,
                    .end_ns = 10 * i + 9);
    }
    find(&world);
    ss_program_steps(&world.programs.rows.data[0], &begins);
    assert_int_equal(begins.count, 3);
    assert_int_equal(begins.data[2], 20);
    ss_vec_fini(&begins);
    fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_with_their_workers),
        cmocka_unit_test(test_a_launcher_belongs_to_the_only_rank),
        cmocka_unit_test(test_inputs_without_ranks_are_programs),
        cmocka_unit_test(test_users_of_devices_are_programs),
        cmocka_unit_test(test_processes_without_ranges_are_no_programs),
        cmocka_unit_test(test_steps_are_those_of_the_longest_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
