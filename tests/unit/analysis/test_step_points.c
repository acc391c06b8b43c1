/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/steps/step_points.h"
#include "analysis/steps/step_timeline.h"

enum { STEP_NS = 1000, GAP_NS = 10 };

/* Steps of one process, each with a phase "data" of a quarter; `slow` takes three times as long. */
static void make(struct ss_model *model, size_t count, size_t slow)
{
    ss_model_init(model);
    uint32_t process = BUILD_PROCESS(model, .pid = 42);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint64_t at = 500;
    for (size_t i = 0; i < count; i++) {
        uint64_t length = i == slow ? 3 * STEP_NS : STEP_NS;
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = at, .end_ns = at + length,
                    .payload = build_integer(model, (int64_t)i));
        at += length + GAP_NS;
    }
    uint32_t phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    at = 500;
    for (size_t i = 0; i < count; i++) {
        BUILD_RANGE(model, .track = phases, .name = "data", .begin_ns = at,
                    .end_ns = at + STEP_NS / 4);
        at += (i == slow ? 3 * STEP_NS : STEP_NS) + GAP_NS;
    }
}

static void sum_up(const struct ss_model *model, struct ss_step_summary *training)
{
    const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    const struct ss_steps_options options = {.size = sizeof options};
    struct ss_selection selection;
    assert_int_equal(ss_selection_init(&selection, model, &all, NULL), SS_OK);
    ss_step_summary_init(training, &selection, &options);
    ss_selection_fini(&selection);
}

static void test_each_step_is_a_point(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_step_summary training;
    struct ss_step_points points;
    make(&model, 20, 7);
    sum_up(&model, &training);
    ss_step_points_init(&points, &model, &training);
    assert_int_equal(points.each, 1);
    assert_int_equal(points.rows.count, 20);
    assert_int_equal(points.phase_count, 2);
    assert_string_equal(points.phases[0].data, "data");
    assert_int_equal(points.rows.data[0].begin_ns, 0);
    assert_int_equal(points.rows.data[7].duration_ns, 3 * STEP_NS);
    assert_int_equal(points.rows.data[7].kind, SS_STEP_OUTLIER);
    assert_int_equal(points.phase_ns.data[2 * 7], STEP_NS / 4);
    assert_int_equal(points.phase_ns.data[2 * 7 + 1], 3 * STEP_NS - STEP_NS / 4);
    ss_step_points_fini(&points);
    ss_step_summary_fini(&training);
    ss_model_fini(&model);
}

static void test_of_many_steps_the_longest_remain(void **state)
{
    (void)state;
    enum { STEPS = 3 * SS_STEP_POINTS_MOST - 1, SLOW = 4001 };
    struct ss_model model;
    struct ss_step_summary training;
    struct ss_step_points points;
    size_t found = 0;
    make(&model, STEPS, SLOW);
    sum_up(&model, &training);
    ss_step_points_init(&points, &model, &training);
    assert_int_equal(points.each, 3);
    assert_int_equal(points.rows.count, SS_STEP_POINTS_MOST);
    for (size_t i = 0; i < points.rows.count; i++) {
        found += points.rows.data[i].number == SLOW;
    }
    assert_int_equal(found, 1);
    ss_step_points_fini(&points);
    ss_step_summary_fini(&training);
    ss_model_fini(&model);
}

static void test_the_time_line_has_the_median_and_the_slowest(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_step_summary training;
    struct ss_step_timeline timeline;
    make(&model, 20, 7);
    sum_up(&model, &training);
    ss_step_timeline_init(&timeline, &model, &training);
    assert_int_equal(timeline.processes, 1);
    assert_int_equal(model.processes.data[timeline.steps.data[0].process].pid, 42);
    assert_int_equal(timeline.steps.count, 2); /* the first is the median */
    const struct ss_step_timeline_step *slowest = &timeline.steps.data[1];
    assert_string_equal(slowest->which, "slowest");
    assert_int_equal(slowest->number, 7);
    assert_int_equal(slowest->lanes.count, 1); /* the steps themselves are not a lane */
    assert_int_equal(slowest->lanes.data[0].spans.count, 1);
    assert_int_equal(slowest->lanes.data[0].spans.data[0].begin_ns, 0);
    assert_int_equal(slowest->lanes.data[0].spans.data[0].duration_ns, STEP_NS / 4);
    ss_step_timeline_fini(&timeline);
    ss_step_summary_fini(&training);
    ss_model_fini(&model);
}

static void test_short_ranges_are_counted(void **state)
{
    (void)state;
    enum { RANGES = SS_TIMELINE_SPANS_MOST + 50 };
    struct ss_model model;
    struct ss_step_summary training;
    struct ss_step_timeline timeline;
    make(&model, 5, 9);
    uint32_t own = BUILD_TRACK(&model, .kind = SS_TRACK_RANGES, .process = 1, .name = "mine");
    for (uint64_t i = 0; i < RANGES; i++) {
        BUILD_RANGE(&model, .track = own, .name = "r", .begin_ns = 500 + i, .end_ns = 501 + i);
    }
    sum_up(&model, &training);
    ss_step_timeline_init(&timeline, &model, &training);
    const struct ss_step_timeline_lane *lane = &timeline.steps.data[0].lanes.data[1];
    assert_string_equal(lane->name.data, "mine");
    assert_int_equal(lane->spans.count, SS_TIMELINE_SPANS_MOST);
    assert_int_equal(lane->hidden, 50);
    ss_step_timeline_fini(&timeline);
    ss_step_summary_fini(&training);
    ss_model_fini(&model);
}

static void test_without_steps_there_is_no_time_line(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_step_summary training;
    struct ss_step_timeline timeline;
    ss_model_init(&model);
    sum_up(&model, &training);
    ss_step_timeline_init(&timeline, &model, &training);
    assert_int_equal(timeline.steps.count, 0);
    ss_step_timeline_fini(&timeline);
    ss_step_summary_fini(&training);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_step_is_a_point),
        cmocka_unit_test(test_of_many_steps_the_longest_remain),
        cmocka_unit_test(test_the_time_line_has_the_median_and_the_slowest),
        cmocka_unit_test(test_short_ranges_are_counted),
        cmocka_unit_test(test_without_steps_there_is_no_time_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
