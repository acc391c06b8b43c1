/* SPDX-License-Identifier: Apache-2.0 */
/* Series of steps: runs, ranks, and the errors of their means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "../model_builder.h"
#include "analysis/steps/step_series.h"
#include "analysis/table/mean_error.h"

#define MS UINT64_C(1000000)

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary summary;
    struct ss_step_series series;
};

/* A process with steps of these durations, in ms, half of each in a phase. */
static void add_process(struct made *made, uint64_t begin_ns, const uint64_t *durations_ms,
                        size_t count)
{
    struct ss_model *model = &made->model;
    uint32_t process = BUILD_PROCESS(model, .pid = 42);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint32_t phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    uint64_t at = begin_ns;
    for (size_t i = 0; i < count; i++) {
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = at,
                    .end_ns = at + durations_ms[i] * MS,
                    .payload = build_integer(model, (int64_t)i));
        at += durations_ms[i] * MS;
    }
    at = begin_ns;
    for (size_t i = 0; i < count; i++) {
        BUILD_RANGE(model, .track = phases, .name = "forward", .begin_ns = at,
                    .end_ns = at + durations_ms[i] * MS / 2);
        at += durations_ms[i] * MS;
    }
}

static void sum_up(struct made *made)
{
    const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    const struct ss_steps_options none = {0};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->summary, &made->selection, &none);
    ss_step_series_init(&made->series, &made->summary, SS_STEADY_OF_ALL);
}

static void end(struct made *made)
{
    ss_step_series_fini(&made->series);
    ss_step_summary_fini(&made->summary);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static const uint64_t alternating[] = {100, 104, 100, 104, 100, 104, 100, 104, 100, 104};
static const uint64_t longer[] = {110, 114, 110, 114, 110, 114, 110, 114, 110, 114};
enum { STEPS = 10 };

static void one_process_is_one_run(void **state)
{
    (void)state;
    struct made made = {0};
    double values[STEPS];
    ss_model_init(&made.model);
    add_process(&made, MS, alternating, STEPS);
    sum_up(&made);
    for (size_t i = 0; i < STEPS; i++) {
        values[i] = (double)(alternating[i] * MS);
    }
    struct ss_mean_with_error step = ss_step_series_duration(&made.series);
    assert_int_equal(made.series.runs, 1);
    assert_true(fabs(step.mean - 102e6) < 1);
    assert_true(fabs(step.error - ss_mean_error(values, STEPS)) < 1);
    struct ss_mean_with_error forward = ss_step_series_phase(&made.series, 0);
    assert_true(fabs(forward.mean - 51e6) < 1);
    assert_true(fabs(forward.error - step.error / 2) < 1);
    end(&made);
}

/* Ranks wait for each other: two have no smaller error than one. */
static void ranks_are_one_run(void **state)
{
    (void)state;
    struct made one = {0}, two = {0};
    ss_model_init(&one.model);
    ss_model_init(&two.model);
    add_process(&one, MS, alternating, STEPS);
    add_process(&two, MS, alternating, STEPS);
    add_process(&two, 3 * MS, alternating, STEPS);
    sum_up(&one);
    sum_up(&two);
    assert_int_equal(two.series.runs, 1);
    assert_int_equal(two.series.steps.count, 2 * STEPS);
    assert_true(fabs(ss_step_series_duration(&two.series).error -
                     ss_step_series_duration(&one.series).error) < 1);
    end(&one);
    end(&two);
}

/* What differs between runs is no less than what differs within them. */
static void runs_after_each_other_have_the_error_of_runs(void **state)
{
    (void)state;
    struct made made = {0};
    static const double means[] = {102e6, 112e6, 102e6};
    ss_model_init(&made.model);
    add_process(&made, MS, alternating, STEPS);
    add_process(&made, 5000 * MS, longer, STEPS);
    add_process(&made, 9000 * MS, alternating, STEPS);
    sum_up(&made);
    struct ss_mean_with_error step = ss_step_series_duration(&made.series);
    assert_int_equal(made.series.runs, 3);
    assert_true(fabs(step.mean - 316e6 / 3) < 1);
    assert_true(fabs(step.error - ss_mean_error_independent(means, 3)) < 1);
    end(&made);
}

static void few_steps_have_no_error(void **state)
{
    (void)state;
    struct made made = {0};
    ss_model_init(&made.model);
    add_process(&made, MS, alternating, 4);
    sum_up(&made);
    struct ss_mean_with_error step = ss_step_series_duration(&made.series);
    assert_true(fabs(step.mean - 102e6) < 1);
    assert_true(isnan(step.error));
    assert_int_equal(ss_error_cell(step.error).type, SS_CELL_ABSENT);
    end(&made);
}

static void no_steps_have_no_mean(void **state)
{
    (void)state;
    struct made made = {0};
    ss_model_init(&made.model);
    sum_up(&made);
    assert_int_equal(made.series.runs, 0);
    assert_true(isnan(ss_step_series_duration(&made.series).error));
    assert_int_equal(ss_step_series_at(&made.series, 1, MS), SIZE_MAX);
    end(&made);
}

static void a_time_has_the_place_of_its_step(void **state)
{
    (void)state;
    struct made made = {0};
    /* The first step is warm-up: no place. */
    static const uint64_t durations[] = {900, 100, 100, 100, 100, 100, 100};
    ss_model_init(&made.model);
    add_process(&made, 1000 * MS, durations, 7);
    sum_up(&made);
    assert_int_equal(ss_step_series_at(&made.series, 1, 1000 * MS), SIZE_MAX);
    assert_int_equal(ss_step_series_at(&made.series, 1, 1900 * MS), 0);
    assert_int_equal(ss_step_series_at(&made.series, 1, 2399 * MS), 4);
    assert_int_equal(ss_step_series_at(&made.series, 1, 2500 * MS), SIZE_MAX);
    assert_int_equal(ss_step_series_at(&made.series, 2, 1950 * MS), SIZE_MAX);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_is_one_run),
        cmocka_unit_test(ranks_are_one_run),
        cmocka_unit_test(runs_after_each_other_have_the_error_of_runs),
        cmocka_unit_test(few_steps_have_no_error),
        cmocka_unit_test(no_steps_have_no_mean),
        cmocka_unit_test(a_time_has_the_place_of_its_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
