/* SPDX-License-Identifier: Apache-2.0 */
/* Which launches still wait for their kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "annot/stamp.h"
#include "inject/device/gaps.h"
#include "inject/device/outstanding.h"
#include "inject/device/recorded_events.h"

static struct ss_outstanding of;

static int clear(void **state)
{
    (void)state;
    ss_outstanding_clear(&of);
    return 0;
}

static void launches_wait_for_their_kernels(void **state)
{
    (void)state;
    ss_outstanding_add(&of, 1);
    ss_outstanding_add(&of, 64);
    assert_int_equal(ss_outstanding_count(&of), 2);
    ss_outstanding_remove(&of, 64);
    assert_int_equal(ss_outstanding_count(&of), 1);
    ss_outstanding_remove(&of, 64); /* a second kernel of the launch */
    assert_int_equal(ss_outstanding_count(&of), 1);
    ss_outstanding_remove(&of, 1);
    assert_int_equal(ss_outstanding_count(&of), 0);
}

static void a_kernel_may_come_before_its_launch(void **state)
{
    (void)state;
    ss_outstanding_remove(&of, 70);
    assert_int_equal(ss_outstanding_count(&of), 0);
    ss_outstanding_add(&of, 70);
    assert_int_equal(ss_outstanding_count(&of), 0);
    ss_outstanding_add(&of, 70 + SS_OUTSTANDING_BITS); /* another launch, much later */
    assert_int_equal(ss_outstanding_count(&of), 1);
}

static void kernels_without_a_launch_are_forgotten(void **state)
{
    (void)state;
    enum { GRAPH = 100 };
    ss_outstanding_remove(&of, GRAPH);
    for (uint32_t i = 1; i <= SS_OUTSTANDING_BITS / 2 + 64; i++) {
        ss_outstanding_add(&of, GRAPH + i);
        ss_outstanding_remove(&of, GRAPH + i);
    }
    ss_outstanding_add(&of, GRAPH + SS_OUTSTANDING_BITS);
    assert_int_equal(ss_outstanding_count(&of), 1);
}

static void observed_calls_are_known(void **state)
{
    (void)state;
    ss_outstanding_observe(&of, 5);
    assert_true(ss_outstanding_has_observed(&of, 5));
    assert_false(ss_outstanding_has_observed(&of, 6));
    for (uint32_t i = 0; i <= SS_OUTSTANDING_BITS / 2 + 64; i++) {
        ss_outstanding_observe(&of, 100 + i);
    }
    assert_false(ss_outstanding_has_observed(&of, 5)); /* half of the range ago */
    assert_true(ss_outstanding_has_observed(&of, 100 + SS_OUTSTANDING_BITS / 2));
}

static void waits_have_the_record_before_them(void **state)
{
    (void)state;
    static struct ss_recorded_events events;
    assert_int_equal(ss_recorded_events_find(&events, 3, 100), 0);
    ss_recorded_events_add(&events, 3, 10);
    ss_recorded_events_add(&events, 3, 20);
    ss_recorded_events_add(&events, 4, 30);
    assert_int_equal(ss_recorded_events_find(&events, 3, 15), 10);
    assert_int_equal(ss_recorded_events_find(&events, 3, 25), 20);
    assert_int_equal(ss_recorded_events_find(&events, 3, 9), 0);
    assert_int_equal(ss_recorded_events_find(&events, 4, 99), 30);
    assert_int_equal(ss_recorded_events_find(&events, UINT32_MAX, 99), 0); /* of no event */
    for (uint32_t i = 0; i < 10; i++) {                                    /* the last ones count */
        ss_recorded_events_add(&events, 3, 100 + i);
    }
    assert_int_equal(ss_recorded_events_find(&events, 3, 200), 109);
    assert_int_equal(ss_recorded_events_find(&events, 3, 50), 0);
    ss_recorded_events_add(&events, 3 + SS_RECORDED_EVENTS, 500); /* takes its place */
    assert_int_equal(ss_recorded_events_find(&events, 3, 600), 0);
}

static void gaps_are_times(void **state)
{
    (void)state;
    uint64_t before_ns = ss_stamp_monotonic_ns();
    assert_false(ss_gaps_have(before_ns));
    ss_gaps_switch(false); /* none is open */
    ss_gaps_switch(true);
    uint64_t within_ns = ss_stamp_monotonic_ns();
    assert_true(ss_gaps_have(within_ns));
    assert_true(ss_gaps_have(UINT64_MAX));
    ss_gaps_switch(false);
    uint64_t after_ns = ss_stamp_monotonic_ns() + 1;
    assert_true(ss_gaps_have(within_ns));
    assert_false(ss_gaps_have(after_ns));
    assert_false(ss_gaps_have(before_ns - 1));
    for (int i = 0; i < 100; i++) { /* old ones are forgotten */
        ss_gaps_switch(true);
        ss_gaps_switch(false);
    }
    assert_false(ss_gaps_have(within_ns));
    ss_gaps_switch(true);
    ss_gaps_forget();
    assert_false(ss_gaps_have(UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(launches_wait_for_their_kernels, clear),
        cmocka_unit_test_setup(a_kernel_may_come_before_its_launch, clear),
        cmocka_unit_test_setup(kernels_without_a_launch_are_forgotten, clear),
        cmocka_unit_test_setup(observed_calls_are_known, clear),
        cmocka_unit_test(waits_have_the_record_before_them),
        cmocka_unit_test(gaps_are_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
