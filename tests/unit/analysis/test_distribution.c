/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/table/distribution.h"

static void test_nearest_rank(void **state)
{
    (void)state;
    uint64_t values[100];
    for (uint64_t i = 0; i < 100; i++) {
        values[i] = 100 - i;
    }
    ss_sort_u64(values, 100);
    assert_int_equal(ss_percentile_u64(values, 100, 50), 50);
    assert_int_equal(ss_percentile_u64(values, 100, 95), 95);
    assert_int_equal(ss_percentile_u64(values, 1, 95), 1);
    assert_int_equal(ss_percentile_u64(values, 2, 50), 1);
    assert_int_equal(ss_percentile_u64(values, 3, 50), 2);
    assert_int_equal(ss_percentile_u64(values, 10, 95), 10);
}

static void test_median_of_an_even_number(void **state)
{
    (void)state;
    const uint64_t two[] = {50000, 9000000}, four[] = {1, 3, 8, 90}, large[] = {1, UINT64_MAX};
    assert_int_equal(ss_median_u64(two, 2), 4525000);
    assert_int_equal(ss_median_u64(four, 4), 5);
    assert_int_equal(ss_median_u64(large, 2), UINT64_MAX / 2 + 1);
    assert_int_equal(ss_median_u64(two, 1), 50000);
    assert_true(ss_median((const double[]){1, 2, 4}, 3) == 2);
    assert_true(ss_median((const double[]){1, 2, 4, 9}, 4) == 3);
    assert_int_equal(ss_median_u64(four, 3), 3);
    const struct ss_weighted weighted[] = {{1, 2}, {4, 0}, {5, 1}, {9, 1}};
    assert_true(ss_percentile(weighted, 4, 50) == 3);
    assert_true(ss_percentile(weighted, 3, 50) == 1);
    assert_true(ss_percentile(weighted, 2, 50) == 1); /* no other has a weight */
}

static void test_weighted(void **state)
{
    (void)state;
    struct ss_weighted values[] = {{3, 1}, {1, 90}, {2, 9}, {0, 0}, {9, 0}};
    ss_sort_weighted(values, 5);
    assert_true(values[0].value == 0 && values[4].value == 9);
    assert_true(ss_percentile(values, 5, 50) == 1);
    assert_true(ss_percentile(values, 5, 95) == 2);
    assert_true(ss_percentile(values, 5, 100) == 3);
    double mean = ss_mean(values, 5);
    assert_true(mean > 1.1099 && mean < 1.1101);
    struct ss_weighted equal[] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}};
    assert_true(ss_percentile(equal, 4, 50) == 2.5);
    assert_true(ss_percentile(equal, 4, 95) == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nearest_rank),
                                       cmocka_unit_test(test_median_of_an_even_number),
                                       cmocka_unit_test(test_weighted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
