/* SPDX-License-Identifier: Apache-2.0 */
/* Samples get the step, the operator and the pass that they lie in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "model/builder/load_tracks.h"

struct made {
    struct ss_model model;
    uint32_t process, thread, steps, phases, torch;
};

static uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t thread,
                          const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = made->process, .thread = thread,
                       .name = name);
}

static void add_range(struct made *made, uint32_t track, const char *name, const char *category,
                      uint64_t begin_ns, uint64_t end_ns, uint8_t flags)
{
    BUILD_RANGE(&made->model, .track = track, .name = name, .category = category,
                .begin_ns = begin_ns, .end_ns = end_ns, .flags = flags);
}

/* Three steps of 100 ns and one that does not end, each with a forward, a backward and an update,
 * the second without operators. */
static void make(struct made *made)
{
    *made = (struct made){0};
    ss_model_init(&made->model);
    made->process = BUILD_PROCESS(&made->model, .pid = 42);
    made->thread = BUILD_THREAD(&made->model, .process = made->process, .tid = 42, .is_main = true);
    made->steps = add_track(made, SS_TRACK_STEPS, 0, "step");
    made->phases = add_track(made, SS_TRACK_PHASES, 0, "phase");
    made->torch = add_track(made, SS_TRACK_RANGES, made->thread, "torch");
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t at_ns = 1000 + 100 * i;
        add_range(made, made->steps, "step", "", at_ns, i == 3 ? 9000 : at_ns + 100,
                  i == 3 ? SS_RANGE_END_UNSEEN : 0);
    }
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t at_ns = 1000 + 100 * i;
        add_range(made, made->phases, "forward", "", at_ns + 20, at_ns + 40, 0);
        add_range(made, made->phases, "backward", "", at_ns + 50, at_ns + 70, 0);
        add_range(made, made->phases, "optimizer", "", at_ns + 80, at_ns + 90, 0);
    }
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t at_ns = 1000 + 100 * i;
        if (i != 1) {
            add_range(made, made->torch, "scope", "scope", at_ns + 21, at_ns + 39, 0);
            add_range(made, made->torch, "aten::mm", "operator", at_ns + 25, at_ns + 35, 0);
        }
    }
    uint32_t collector = add_track(made, SS_TRACK_RANGES, made->thread, "python.gc");
    add_range(made, collector, "gc", "", 1033, 1034, 0); /* in an operator */
    add_range(made, collector, "gc", "", 1136, 1138, 0); /* where none is recorded */
}

static struct ss_model_total placed(struct made *made, uint64_t time_ns)
{
    struct ss_pending_sample sample = {
        .time_ns = time_ns,
        .total = {.thread = made->thread, .step = SS_SAMPLE_LATER_STEP, .samples = 1}};
    ss_find_sample_steps(&made->model, 0, &sample, 1);
    return sample.total;
}

static void test_steps(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    assert_int_equal(placed(&made, 999).step, SS_SAMPLE_NO_STEP);
    assert_int_equal(placed(&made, 1000).step, SS_SAMPLE_LATER_STEP);
    assert_int_equal(placed(&made, 1299).step, SS_SAMPLE_LATER_STEP);
    /* What follows the last step that ended is not training. */
    assert_int_equal(placed(&made, 1300).step, SS_SAMPLE_NO_STEP);
    assert_int_equal(placed(&made, 5000).step, SS_SAMPLE_NO_STEP);
    ss_model_fini(&made.model);
}

static void test_operators(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    assert_int_equal(placed(&made, 1024).in_operator, SS_OPERATOR_OUTSIDE);
    assert_int_equal(placed(&made, 1025).in_operator, SS_OPERATOR_INSIDE);
    assert_int_equal(placed(&made, 1033).in_operator, SS_OPERATOR_COLLECTOR);
    assert_int_equal(placed(&made, 1034).in_operator, SS_OPERATOR_INSIDE);
    assert_int_equal(placed(&made, 1137).in_operator, SS_OPERATOR_COLLECTOR);
    assert_int_equal(placed(&made, 1035).in_operator, SS_OPERATOR_OUTSIDE);
    assert_int_equal(placed(&made, 1130).in_operator, SS_OPERATOR_UNKNOWN); /* none recorded */
    assert_int_equal(placed(&made, 1230).in_operator, SS_OPERATOR_INSIDE);
    assert_int_equal(placed(&made, 1330).in_operator, SS_OPERATOR_UNKNOWN); /* in no step */
    ss_model_fini(&made.model);
}

static void test_passes(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    assert_false(placed(&made, 1010).in_pass);
    assert_true(placed(&made, 1045).in_pass); /* the loss */
    assert_true(placed(&made, 1075).in_pass); /* clipping */
    assert_false(placed(&made, 1095).in_pass);
    ss_model_fini(&made.model);
}

/* The sampler saw one step, where the model found several. */
static void test_later_steps(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    struct ss_pending_sample samples[] = {
        {.time_ns = 1050, .total = {.thread = made.thread, .step = SS_SAMPLE_FIRST_STEP}},
        {.time_ns = 1150, .total = {.thread = made.thread, .step = SS_SAMPLE_FIRST_STEP}}};
    ss_find_sample_steps(&made.model, 0, samples, 2);
    assert_int_equal(samples[0].total.step, SS_SAMPLE_FIRST_STEP);
    assert_int_equal(samples[1].total.step, SS_SAMPLE_LATER_STEP);
    ss_model_fini(&made.model);
}

/* Steps that are not among the ranges stay as the sampler labelled them. */
static void test_without_steps(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    made.model.ranges.count = 0;
    assert_int_equal(placed(&made, 5000).step, SS_SAMPLE_LATER_STEP);
    ss_model_fini(&made.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),         cmocka_unit_test(test_operators),
        cmocka_unit_test(test_passes),        cmocka_unit_test(test_later_steps),
        cmocka_unit_test(test_without_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
