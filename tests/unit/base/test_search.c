/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/search.h"

enum { MOST = 40 };

/* All lengths, and all places for the answer. */
static void test_the_first_that_is_not_before(void **state)
{
    (void)state;
    for (size_t count = 0; count < MOST; count++) {
        for (size_t before = 0; before <= count; before++) {
            size_t asked = 0;
            size_t found = ss_search(i, 0, count, (asked++, i < before));
            assert_int_equal(found, before);
            assert_true(asked <= 6); /* 2^6 > MOST */
        }
    }
}

static void test_only_the_part_is_searched(void **state)
{
    (void)state;
    const uint64_t values[] = {9, 1, 2, 2, 5, 0};
    assert_int_equal(ss_search(i, 1, 5, values[i] < 2), 2);
    assert_int_equal(ss_search(i, 1, 5, values[i] <= 2), 4);
    assert_int_equal(ss_search(i, 1, 5, values[i] < 6), 5);
    assert_int_equal(ss_search(i, 1, 5, values[i] < 1), 1);
    assert_int_equal(ss_search(i, 3, 3, values[i] < 6), 3);
}

static void test_pairs_are_ordered_by_their_first_number(void **state)
{
    (void)state;
    assert_true(ss_pair_less(1, 9, 2, 0));
    assert_false(ss_pair_less(2, 0, 1, 9));
    assert_true(ss_pair_less(1, 8, 1, 9));
    assert_false(ss_pair_less(1, 9, 1, 9));
    assert_true(ss_pair_at_most(1, 9, 1, 9));
    assert_true(ss_pair_at_most(1, 9, 2, 0));
    assert_false(ss_pair_at_most(1, 9, 1, 8));
    assert_false(ss_pair_at_most(2, 0, 1, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_that_is_not_before),
        cmocka_unit_test(test_only_the_part_is_searched),
        cmocka_unit_test(test_pairs_are_ordered_by_their_first_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
