/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's times on our clock, where it has a clock of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/device/clock.h"

static const uint64_t epoch_ns = UINT64_C(1700000000000000000);

static void without_pairs_times_are_ours(void **state)
{
    (void)state;
    struct ss_device_clock clock = {.count = 0};
    assert_int_equal(ss_device_clock_convert(&clock, 1234), 1234);
}

static void times_are_shifted_by_the_nearest_pair(void **state)
{
    (void)state;
    struct ss_device_clock clock = {.count = 0};
    ss_device_clock_add(&clock, (struct ss_device_clock_pair){epoch_ns, 5000000});
    assert_int_equal(ss_device_clock_convert(&clock, epoch_ns - 1000), 4999000);
    assert_int_equal(ss_device_clock_convert(&clock, epoch_ns + 1000), 5001000);
    assert_int_equal(ss_device_clock_convert(&clock, epoch_ns - 6000000), 0);
    assert_int_equal(ss_device_clock_convert(&clock, 0), 0); /* "no time" */
}

/* The other clock is 1 % fast. */
static void times_between_pairs_are_linear(void **state)
{
    (void)state;
    struct ss_device_clock clock = {.count = 0};
    for (uint64_t i = 0; i < 10; i++) {
        ss_device_clock_add(
            &clock, (struct ss_device_clock_pair){epoch_ns + i * 1010000, 1000000 + i * 1000000});
    }
    assert_int_equal(ss_device_clock_convert(&clock, epoch_ns + 505000), 1500000);
    assert_int_equal(ss_device_clock_convert(&clock, epoch_ns + 3 * 1010000), 4000000);
    assert_int_equal(ss_device_clock_convert(&clock, epoch_ns + 7 * 1010000 + 101000), 8100000);
}

static void the_oldest_pairs_are_forgotten(void **state)
{
    (void)state;
    struct ss_device_clock clock = {.count = 0};
    for (uint64_t i = 0; i < 3 * SS_DEVICE_CLOCK_PAIRS; i++) {
        ss_device_clock_add(&clock, (struct ss_device_clock_pair){1000 + i * 10, 5000 + i * 10});
    }
    assert_int_equal(clock.count, SS_DEVICE_CLOCK_PAIRS);
    assert_int_equal(ss_device_clock_convert(&clock, 1001), 5001);
    assert_int_equal(ss_device_clock_convert(&clock, 2905), 6905);
}

/* Someone sets the wall clock back by an hour. */
static void a_step_back_starts_anew(void **state)
{
    (void)state;
    struct ss_device_clock clock = {.count = 0};
    const uint64_t hour_ns = UINT64_C(3600000000000);
    ss_device_clock_add(&clock, (struct ss_device_clock_pair){epoch_ns, 1000});
    ss_device_clock_add(&clock, (struct ss_device_clock_pair){epoch_ns - hour_ns, 2000});
    assert_int_equal(clock.count, 1);
    assert_int_equal(ss_device_clock_convert(&clock, epoch_ns - hour_ns + 500), 2500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_pairs_times_are_ours),
        cmocka_unit_test(times_are_shifted_by_the_nearest_pair),
        cmocka_unit_test(times_between_pairs_are_linear),
        cmocka_unit_test(the_oldest_pairs_are_forgotten),
        cmocka_unit_test(a_step_back_starts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
