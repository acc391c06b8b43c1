/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator is said to cost, by steps whose times are known. The file is the library's,
 * which exports none of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../src/inject/torch/torch_cost.c" // NOLINT(bugprone-suspicious-include): see above

/* Steps of `operators`, every other one recorded, of which each takes `cost_ns` more; and now and
 * then a step that takes ten times as long. `noise_ns`: up to so much more or less, evenly. */
static double cost_of(double operators, double cost_ns, double noise_ns)
{
    struct ss_torch_cost cost;
    uint32_t random = 1;
    ss_torch_cost_init(&cost);
    for (int i = 0; i < 400; i++) {
        random = random * 1664525 + 1013904223;
        double step = 600e3 + noise_ns * (2.0 * (random >> 8) / (1 << 24) - 1);
        bool is_recorded = i % 2 == 0;
        step += is_recorded ? operators * cost_ns : 0;
        ss_torch_cost_add(&cost, is_recorded, i % 37 == 5 ? 10 * step : step, operators);
    }
    return cost.ns;
}

static void assert_about(double value, double wanted, double off)
{
    assert_true(value >= wanted - off && value <= wanted + off);
}

static void test_what_was_measured_is_believed(void **state)
{
    (void)state;
    assert_about(cost_of(1000, 100, 0), 100, 1);
    assert_about(cost_of(1000, 300, 5e3), 300, 8);
    assert_about(cost_of(1000, 400, 50e3), 400, 40);
}

static void test_steps_that_differ_too_much_are_inconclusive(void **state)
{
    (void)state;
    assert_about(cost_of(10, 300, 300e3), FIRST_NS, 5);
}

static void test_what_can_not_be_is_not_believed(void **state)
{
    (void)state;
    assert_about(cost_of(1000, -200, 0), LEAST_NS, 0);
    assert_about(cost_of(1000, 5000, 0), MOST_NS, 0);
}

static void test_without_both_kinds_of_steps_nothing_is_measured(void **state)
{
    (void)state;
    struct ss_torch_cost cost;
    ss_torch_cost_init(&cost);
    for (int i = 0; i < 200; i++) {
        ss_torch_cost_add(&cost, true, 1e6, 1000);
    }
    assert_about(cost.ns, FIRST_NS, 0);
    for (int i = 0; i < 200; i++) {
        ss_torch_cost_add(&cost, i % 2 == 0, 1e6, 0); /* nor where none ran */
    }
    assert_true(cost.ns >= LEAST_NS && cost.ns <= MOST_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_measured_is_believed),
        cmocka_unit_test(test_steps_that_differ_too_much_are_inconclusive),
        cmocka_unit_test(test_what_can_not_be_is_not_believed),
        cmocka_unit_test(test_without_both_kinds_of_steps_nothing_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
