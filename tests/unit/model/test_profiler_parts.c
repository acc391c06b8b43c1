/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a program's own profiler is taken out of the steps beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "model/builder/load_tracks.h"

struct made {
    struct ss_model model;
    uint32_t steps, phases;
};

/* Ranges as "name begin-end", separated by blanks; steps are "step". */
static void make(struct made *made, const char *ranges)
{
    *made = (struct made){0};
    ss_model_init(&made->model);
    made->steps = BUILD_TRACK(&made->model, .kind = SS_TRACK_STEPS, .process = 1, .name = "step");
    made->phases = BUILD_TRACK(&made->model, .kind = SS_TRACK_PHASES, .process = 1);
    char name[32];
    unsigned begin, end;
    int read;
    for (const char *at = ranges; sscanf(at, " %31[a-z] %u-%u%n", name, &begin, &end, &read) == 3;
         at += read) {
        bool is_step = strcmp(name, "step") == 0;
        BUILD_RANGE(&made->model, .track = is_step ? made->steps : made->phases, .name = name,
                    .begin_ns = begin, .end_ns = end);
    }
}

/* The steps that count, as "begin-end". */
static void check(const char *ranges, const char *wanted)
{
    struct made made;
    make(&made, ranges);
    ss_load_cut_profilers(&made.model, 0);
    char shown[512] = "";
    for (size_t i = 0; i < made.model.ranges.count; i++) {
        const struct ss_model_range *range = &made.model.ranges.data[i];
        size_t used = strlen(shown);
        if (range->track == made.steps && (range->flags & SS_RANGE_OUTSIDE) == 0) {
            snprintf(shown + used, sizeof shown - used, "%s%u-%u", used > 0 ? " " : "",
                     (unsigned)range->begin_ns, (unsigned)range->end_ns);
        }
    }
    ss_model_fini(&made.model);
    assert_string_equal(shown, wanted);
}

/* It stops and exports after the update, with a little before and after its own work. */
static void test_between_two_steps(void **state)
{
    (void)state;
    check("step 0-1000 forward 100-500 optimizer 600-1000 "
          "step 1000-6000 profiler 1010-5000 data 5100-5200 forward 5300-5600 optimizer 5700-6000 "
          "step 6000-7000 forward 6100-6500 optimizer 6600-7000",
          "0-1000 5000-6000 6000-7000");
}

/* A program that logs before its profiler stops: the step would lose that, and is left whole. */
static void test_not_where_the_step_loses_more(void **state)
{
    (void)state;
    check("step 0-1000 forward 100-1000 step 1000-6000 profiler 1300-5000 forward 5300-5600",
          "0-1000 1000-6000");
    check("step 0-6000 forward 100-1000 profiler 1010-5000 step 6000-7000 forward 6000-7000",
          "0-6000 6000-7000");
}

/* It stops, exports and starts: what lies between is its work. */
static void test_several_in_a_row(void **state)
{
    (void)state;
    check("step 0-1000 forward 100-1000 "
          "step 1000-6000 profiler 1010-2000 profiler 2200-4000 forward 5000-6000",
          "0-1000 4000-6000");
}

static void test_before_the_first_and_after_the_last_step(void **state)
{
    (void)state;
    check("step 0-2000 profiler 2-800 forward 1000-2000 step 2000-3000 forward 2100-3000 "
          "profiler 3100-4000",
          "800-2000 2000-3000");
}

/* A program that marks its steps itself, after its profiler's step. */
static void test_at_the_end_of_a_step(void **state)
{
    (void)state;
    check("step 0-4000 forward 100-500 optimizer 600-900 profiler 1100-3990 "
          "step 4000-5000 forward 4100-5000",
          "0-1100 4000-5000");
}

/* It belongs to the step, which the summary leaves out. */
static void test_within_a_step(void **state)
{
    (void)state;
    check("step 0-40 forward 1-5 profiler 6-30 backward 31-38 step 40-50 forward 41-50",
          "0-40 40-50");
}

static void test_nothing_but_the_profiler(void **state)
{
    (void)state;
    check("step 0-10 forward 1-10 step 10-40 profiler 10-40 step 40-50 forward 41-50",
          "0-10 40-50");
}

static void test_steps_without_any(void **state)
{
    (void)state;
    check("step 0-10 forward 1-10 step 10-20 forward 11-20", "0-10 10-20");
}

/* Nothing that the profiler did counts for a step. */
static void test_samples(void **state)
{
    (void)state;
    struct made made;
    make(&made, "step 0-40 forward 1-5 profiler 6-30 backward 31-38 "
                "step 40-60 profiler 40-50 forward 51-60");
    uint32_t thread = BUILD_THREAD(&made.model, .process = 1, .tid = 1, .is_main = true);
    BUILD_PROCESS(&made.model, .pid = 1);
    ss_load_cut_profilers(&made.model, 0);
    static const struct {
        uint64_t time_ns;
        enum ss_sample_step step;
    } cases[] = {{3, SS_SAMPLE_LATER_STEP},
                 {20, SS_SAMPLE_NO_STEP},
                 {35, SS_SAMPLE_LATER_STEP},
                 {45, SS_SAMPLE_NO_STEP},
                 {55, SS_SAMPLE_LATER_STEP}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_pending_sample sample = {
            .time_ns = cases[i].time_ns,
            .total = {.thread = thread, .step = SS_SAMPLE_LATER_STEP, .samples = 1}};
        ss_find_sample_steps(&made.model, 0, &sample, 1);
        assert_int_equal(sample.total.step, cases[i].step);
    }
    ss_model_fini(&made.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_two_steps),
        cmocka_unit_test(test_not_where_the_step_loses_more),
        cmocka_unit_test(test_several_in_a_row),
        cmocka_unit_test(test_before_the_first_and_after_the_last_step),
        cmocka_unit_test(test_at_the_end_of_a_step),
        cmocka_unit_test(test_within_a_step),
        cmocka_unit_test(test_nothing_but_the_profiler),
        cmocka_unit_test(test_steps_without_any),
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
