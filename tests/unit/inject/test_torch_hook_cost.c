/* SPDX-License-Identifier: Apache-2.0 */
/* What hooks are said to cost, of steps whose times are known. The file is the library's, which
 * exports none of it; the clock is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "annot/define.h"
#include "annot/events.h"
#include "annot/facts.h"
#include "annot/stamp.h"

static uint64_t stamp;

#define ss_stamp_now() stamp
#define ss_stamp_monotonic_ns() (stamp / 2)
#include "../../../src/inject/torch/torch_hook_cost.c" // NOLINT(bugprone-suspicious-include): see above

static uint64_t ppm, ns;

uint32_t ss_define_name(const char *text, size_t length)
{
    (void)length;
    return strcmp(text, ss_fact_torch_hooks_ppm) == 0 ? 1 : 2;
}

void ss_fact_set(uint32_t key, struct ss_event_value value)
{
    *(key == 1 ? &ppm : &ns) = value.bits;
}

static void run_hook(uint64_t stamps)
{
    bool is_measured = ss_torch_hook_cost_enter();
    stamp += stamps;
    ss_torch_hook_cost_leave(is_measured);
}

/* Steps of 100,000 stamps, which are 50,000 ns. The hook that ends a step takes 300 stamps before
 * the end and 500 after it. */
static void run_steps(int count, uint64_t hooks)
{
    for (int i = 0; i < count; i++) {
        stamp += 100000 - 800 - hooks;
        run_hook(hooks);
        bool is_measured = ss_torch_hook_cost_enter();
        stamp += 300;
        ss_torch_hook_cost_step();
        stamp += 500;
        ss_torch_hook_cost_leave(is_measured);
    }
}

static void begin(void)
{
    ppm = ns = 0;
    stamp = 1000;
    ss_torch_hook_cost_set_wrapper(0);
    ss_torch_hook_cost_start();
}

static void test_the_cost_of_steps_is_that_of_their_hooks(void **state)
{
    (void)state;
    begin();
    run_steps(1000, 1200);
    assert_int_equal(ppm, 20000);
    assert_int_equal(ns, 1000);
}

static void test_few_steps_say_nothing(void **state)
{
    (void)state;
    begin();
    run_steps(4, 1200);
    assert_int_equal(ppm, 0);
}

/* The handler of a hook calls what is hooked as well. */
static void test_a_hook_within_a_hook_counts_once(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 100; i++) {
        bool is_measured = ss_torch_hook_cost_enter();
        run_hook(10000);
        ss_torch_hook_cost_leave(is_measured);
        run_steps(1, 0);
    }
    assert_in_range(ppm, 98181, 98183); /* 10,800 of 110,000 */
}

static void test_wrappers_add_what_one_takes(void **state)
{
    (void)state;
    begin();
    ss_torch_hook_cost_set_wrapper(50);
    for (int i = 0; i < 100; i++) {
        for (int call = 0; call < 10; call++) {
            ss_torch_hook_cost_count_wrapper();
        }
        run_steps(1, 0);
    }
    assert_int_equal(ppm, 18000); /* 800 stamps and 500 ns */
    assert_int_equal(ns, 900);
}

/* Once in a hundred steps the kernel runs another thread within a hook, for two steps. */
static void test_other_threads_are_no_cost_of_hooks(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 40; i++) {
        run_steps(100, 1200);
        run_hook(200000);
    }
    assert_in_range(ppm, 19000, 21500);
}

static void test_a_change_is_said_and_a_recording_begins_anew(void **state)
{
    (void)state;
    begin();
    run_steps(200, 1200);
    run_steps(4000, 10000);
    assert_true(ppm > 60000);
    ss_torch_hook_cost_start();
    run_steps(1000, 1200);
    assert_int_equal(ppm, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_cost_of_steps_is_that_of_their_hooks),
        cmocka_unit_test(test_few_steps_say_nothing),
        cmocka_unit_test(test_a_hook_within_a_hook_counts_once),
        cmocka_unit_test(test_wrappers_add_what_one_takes),
        cmocka_unit_test(test_other_threads_are_no_cost_of_hooks),
        cmocka_unit_test(test_a_change_is_said_and_a_recording_begins_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
