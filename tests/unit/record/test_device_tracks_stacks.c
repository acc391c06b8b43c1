/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and values of counters, which cross the ring as records, and records that make no sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device_collector.h"

static uint64_t bad_after(struct fixture *fixture)
{
    drain(fixture, 1000);
    end(fixture);
    return fixture->totals.losses.bad_messages;
}

static void a_stack_has_its_callers(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t outer = put_stack(&fixture, 0, "/home/u/train.py", 88, "main");
    uint32_t step = put_stack(&fixture, outer, "C:\\a\"\n.py", 0, "Net.forward");
    uint32_t other = put_stack(&fixture, outer, "data.py", 3, "load");
    uint32_t stacks[] = {step, other, outer, step};
    for (uint32_t i = 0; i < 4; i++) {
        struct ss_device_launch_message launch = {.stack = stacks[i],
                                                  .flags = SS_DEVICE_LAUNCH_IS_CALL};
        put_launch(&fixture, 5 + i, "cudaLaunchKernel", launch);
    }
    assert_int_equal(bad_after(&fixture), 0);
    static const char *const frames[] = {
        "correlation=5 stack=[\"C:\\\\a\\\"\\u000a.py(0): Net.forward\",\"/home/u/train.py(88): "
        "main\"]",
        "correlation=6 stack=[\"data.py(3): load\",\"/home/u/train.py(88): main\"]",
        "correlation=7 stack=[\"/home/u/train.py(88): main\"]",
        "correlation=8 stack=[\"C:\\\\a\\\"\\u000a.py(0): Net.forward\",\"/home/u/train.py(88): "
        "main\"]"};
    for (size_t i = 0; i < 4; i++) {
        story_has(&fixture.story, frames[i]);
    }
}

static void a_stack_that_is_not_defined_is_bad(void **state)
{
    (void)state;
    static const struct {
        struct ss_device_stack_message stack;
        struct ss_device_frame_message frame;
        const char *what;
    } cases[] = {
        {{.number = 2, .outer = 2, .frame = 1}, {.number = 2}, "a stack that calls itself"},
        {{.number = 2, .outer = 3, .frame = 1}, {.number = 2}, "one that is called by a later one"},
        {{.number = 2, .outer = 1, .frame = 0}, {.number = 2}, "one without a frame"},
        {{.number = 2, .outer = 1, .frame = 3}, {.number = 2}, "one of an unknown frame"},
        {{.number = 3, .outer = 1, .frame = 1}, {.number = 2}, "one that is not the next"},
        {{.number = 2, .outer = 1, .frame = 1}, {.number = 3}, "a frame that is not the next"},
        {{.number = 2, .outer = 1, .frame = 1}, {.number = 2, .file = 99}, "one of no text"},
        {{.number = 2, .outer = 1, .frame = 1}, {.number = 2, .line = -1}, "one of no line"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture);
        put_stack(&fixture, 0, "a.py", 1, "f");
        struct ss_device_frame_message frame = cases[i].frame;
        struct ss_device_stack_message stack = cases[i].stack;
        put(&fixture, SS_DEVICE_FRAME, &frame, sizeof frame);
        put(&fixture, SS_DEVICE_STACK, &stack, sizeof stack);
        if (bad_after(&fixture) != 1) {
            fail_msg("%s is accepted", cases[i].what);
        }
    }
}

static void a_launch_of_an_unknown_stack_is_bad(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_launch(&fixture, 5, "cudaLaunchKernel", (struct ss_device_launch_message){.stack = 1});
    assert_int_equal(bad_after(&fixture), 1);
    assert_int_equal(fixture.totals.launches, 0);
}

static void put_metrics(struct fixture *fixture, struct ss_device_metrics_message message,
                        const struct ss_device_metric *values, size_t count)
{
    message.head.kind = SS_DEVICE_METRICS;
    message.device = DEVICE;
    message.context = CONTEXT;
    message.begin_ns = at(100);
    message.end_ns = at(200);
    assert_true(ss_device_put(&fixture->producer, &message.head, sizeof message, values,
                              count * sizeof *values));
}

static void values_of_counters_have_their_units(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_device_metric values[] = {
        {put_text(&fixture, "dram__bytes_read.sum"), put_text(&fixture, "byte"), 4096},
        {put_text(&fixture, "sm__throughput.avg.pct_of_peak_sustained_elapsed"), 0, 12.5}};
    struct ss_device_metrics_message metrics = {.name = put_text(&fixture, "gemm"), .count = 2};
    put_metrics(&fixture, metrics, values, 2);
    assert_int_equal(bad_after(&fixture), 0);
    story_has(&fixture.story, "untested_metrics={\"dram__bytes_read.sum\":[4096,\"byte\"],"
                              "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\":[12.5,\"\"]}");
}

static void values_that_make_no_sense_are_bad(void **state)
{
    (void)state;
    static const struct ss_device_metric good = {1, 0, 1};
    const struct {
        struct ss_device_metric value;
        uint32_t count;
    } cases[] = {{good, 0}, {good, 2}, {{0, 0, 1}, 1}, {{1, 9, 1}, 1}, {{1, 0, 1e308 * 10}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture);
        put_text(&fixture, "metric");
        put_metrics(&fixture, (struct ss_device_metrics_message){.count = cases[i].count},
                    &cases[i].value, 1);
        assert_int_equal(bad_after(&fixture), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_has_its_callers),
        cmocka_unit_test(a_stack_that_is_not_defined_is_bad),
        cmocka_unit_test(a_launch_of_an_unknown_stack_is_bad),
        cmocka_unit_test(values_of_counters_have_their_units),
        cmocka_unit_test(values_that_make_no_sense_are_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
