/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for counters, and why CUPTI refuses. What chips have is tested against the library, in
 * tests/e2e/test_kernel.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "counters/sets.h"

static void sets_and_lists_are_requests(void **state)
{
    (void)state;
    struct ss_error err = {0};
    static const char *const good[] = {"memory", "roofline", "detailed", "dram__bytes_read.sum",
                                       "dram__bytes_read.sum,gpu__time_duration.sum"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(ss_counters_check(good[i], &err), SS_OK);
    }
    static const char *const bad[] = {"", "memory,roofline", "dram__bytes_read.sum,", "all"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ss_counters_check(bad[i], &err), SS_E_USAGE);
        assert_non_null(strstr(err.message, "memory, roofline, detailed"));
    }
}

static void long_requests_are_refused(void **state)
{
    (void)state;
    struct ss_error err = {0};
    static char text[8192];
    memset(text, 'a', sizeof text - 1);
    assert_int_equal(ss_counters_check(text, &err), SS_E_LIMIT);
    for (size_t i = 0; i < 4000; i++) {
        text[i] = "a__,"[i % 4];
    }
    text[3999] = '\0';
    assert_int_equal(ss_counters_check(text, &err), SS_E_USAGE); /* more than can be measured */
}

static void every_counter_is_in_a_set(void **state)
{
    (void)state;
    size_t count = 0;
    for (; ss_counter_at(count) != NULL; count++) {
        const struct ss_counter *counter = ss_counter_at(count);
        assert_int_not_equal(counter->sets, 0);
        assert_true(counter->sets < 1U << SS_COUNTER_SETS);
        assert_ptr_equal(ss_counter_of_metric(counter->metric), counter); /* no name twice */
    }
    assert_true(count > 40);
    assert_null(ss_counter_of_metric("dram__bytes_read"));
}

static void refusals_name_the_fix(void **state)
{
    (void)state;
    char text[512];
    ss_profiler_explain(SS_PROFILER_NOT_PERMITTED, text, sizeof text);
    assert_non_null(strstr(text, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_non_null(strstr(text, "--cap-add=SYS_ADMIN"));
    ss_profiler_explain(SS_PROFILER_BUSY, text, sizeof text);
    assert_non_null(strstr(text, "DCGM"));
    ss_profiler_explain(4711, text, sizeof text);
    assert_non_null(strstr(text, "4711"));
}

static void another_library_is_no_profiler(void **state)
{
    (void)state;
    struct ss_profiler profiler;
    struct ss_error err = {0};
    assert_int_equal(ss_profiler_open(&profiler, "libc.so.6", &err), SS_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "12.6"));
    assert_int_equal(ss_profiler_call(&profiler, profiler.host_open, NULL, &err, "measure"),
                     SS_E_UNSUPPORTED);
    assert_int_equal(ss_profiler_open(&profiler, "/no/such/library", &err), SS_E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_and_lists_are_requests),
        cmocka_unit_test(long_requests_are_refused),
        cmocka_unit_test(every_counter_is_in_a_set),
        cmocka_unit_test(refusals_name_the_fix),
        cmocka_unit_test(another_library_is_no_profiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
