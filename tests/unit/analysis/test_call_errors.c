/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of calls per step are those of their sums by step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/operators/call_errors.h"
#include "analysis/table/mean_error.h"

#define MS UINT64_C(1000000)

enum { STEPS = 12 };

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary summary;
    struct ss_step_series series;
    struct ss_steady_time steady;
    struct ss_calls calls;
};

/* The sum of the outer operator of a step without its inner ones, in ms. */
static uint64_t self_ms(size_t step)
{
    return 10 + step * 7 % 5;
}

/* Each step of 100 ms: "outer" with an "inner" of 20 ms within, then an "inner" of 5 ms within
 * another "inner". */
static void build(struct made *made)
{
    struct ss_model *model = &made->model;
    ss_model_init(model);
    uint32_t process = BUILD_PROCESS(model, .pid = 42);
    uint32_t thread = BUILD_THREAD(model, .process = process, .tid = 42, .is_main = true);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint32_t torch = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process,
                                 .thread = thread, .name = "torch");
    for (uint64_t i = 0; i < STEPS; i++) {
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = 100 * i * MS,
                    .end_ns = 100 * (i + 1) * MS, .payload = build_integer(model, (int64_t)i));
    }
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = 100 * i * MS + 1;
        uint32_t outer = BUILD_RANGE(model, .track = torch, .name = "outer", .begin_ns = at,
                                     .end_ns = at + (20 + self_ms(i)) * MS);
        BUILD_RANGE(model, .track = torch, .around = outer, .name = "inner", .begin_ns = at + MS,
                    .end_ns = at + 21 * MS);
        uint32_t inner = BUILD_RANGE(model, .track = torch, .name = "inner",
                                     .begin_ns = at + 50 * MS, .end_ns = at + 55 * MS);
        BUILD_RANGE(model, .track = torch, .around = inner, .name = "inner",
                    .begin_ns = at + 51 * MS, .end_ns = at + 52 * MS);
    }
    const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    const struct ss_steps_options none = {0};
    const struct ss_calls_options options = {.domain = "torch", .joins_same = true};
    assert_int_equal(ss_selection_init(&made->selection, model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->summary, &made->selection, &none);
    ss_step_series_init(&made->series, &made->summary, SS_STEADY_OF_OPERATORS);
    ss_steady_time_init(&made->steady, &made->summary, SS_STEADY_OF_OPERATORS);
    ss_calls_init(&made->calls, &made->selection, &made->steady, &options);
    ss_calls_measure(&made->calls, model);
}

static void end(struct made *made)
{
    ss_calls_fini(&made->calls);
    ss_steady_time_fini(&made->steady);
    ss_step_series_fini(&made->series);
    ss_step_summary_fini(&made->summary);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static size_t row_of(const struct made *made, const char *name)
{
    for (size_t i = 0; i < made->calls.rows.count; i++) {
        uint32_t text = made->model.names.data[made->calls.rows.data[i].name].text;
        if (strcmp(ss_model_text(&made->model, text), name) == 0) {
            return i;
        }
    }
    fail_msg("no row %s", name);
    return 0;
}

static void the_error_is_that_of_the_sums_by_step(void **state)
{
    (void)state;
    struct made made = {0};
    double self[STEPS], total[STEPS];
    build(&made);
    for (size_t i = 0; i < STEPS; i++) {
        self[i] = (double)(self_ms(i) * MS);
        total[i] = self[i] + 20e6;
    }
    const struct ss_call_errors_options of_self = {.domain = "torch"};
    const struct ss_call_errors_options of_total = {.domain = "torch", .of_total = true};
    double *errors = ss_call_errors_new(&made.selection, &made.calls, &made.series, &of_self);
    assert_true(fabs(errors[row_of(&made, "outer")] - ss_mean_error(self, STEPS)) < 1);
    assert_true(fabs(errors[row_of(&made, "inner")]) < 1e-3); /* 25 ms in each step */
    ss_free(errors);
    errors = ss_call_errors_new(&made.selection, &made.calls, &made.series, &of_total);
    assert_true(fabs(errors[row_of(&made, "outer")] - ss_mean_error(total, STEPS)) < 1);
    assert_true(fabs(errors[row_of(&made, "inner")]) < 1e-3);
    ss_free(errors);
    end(&made);
}

static void without_steps_it_is_unknown(void **state)
{
    (void)state;
    struct made made = {0};
    struct ss_step_series none = {.training = &made.summary};
    const struct ss_call_errors_options of_self = {.domain = "torch"};
    build(&made);
    double *errors = ss_call_errors_new(&made.selection, &made.calls, &none, &of_self);
    assert_true(isnan(errors[0]));
    ss_free(errors);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_is_that_of_the_sums_by_step),
        cmocka_unit_test(without_steps_it_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
