/* SPDX-License-Identifier: Apache-2.0 */
/* Which launches still wait for their kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/device/outstanding.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(launches_wait_for_their_kernels, clear),
        cmocka_unit_test_setup(a_kernel_may_come_before_its_launch, clear),
        cmocka_unit_test_setup(kernels_without_a_launch_are_forgotten, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
