/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pages.h"

static void test_items_stay_until_they_are_dropped(void **state)
{
    (void)state;
    struct ss_pages table = {.item_bytes = sizeof(uint64_t)};
    assert_null(ss_pages_get(&table, 0));
    for (uint32_t i = 0; i < 1000; i += 3) {
        uint64_t *item = ss_pages_put(&table, i);
        assert_int_equal(*item, 0);
        *item = i + 1;
    }
    assert_int_equal(table.end, 1000);
    for (uint32_t i = 0; i < 1100; i++) {
        const uint64_t *item = ss_pages_get(&table, i);
        assert_true(i < 1000 && i % 3 == 0 ? *item == i + 1 : item == NULL);
    }
    uint64_t *kept = ss_pages_get(&table, 3);
    assert_ptr_equal(ss_pages_put(&table, 3), kept);
    assert_int_equal(*kept, 4); /* taken before: as it was */
    ss_pages_drop(&table, 3);
    ss_pages_drop(&table, 4);
    ss_pages_drop(&table, 1 << 20);
    assert_null(ss_pages_get(&table, 3));
    assert_int_equal(*(uint64_t *)ss_pages_put(&table, 3), 0);
    ss_pages_fini(&table);
    assert_null(ss_pages_get(&table, 0));
    ss_pages_fini(&table);
}

/* Ten living at a time, a million in all: a word for each page, and a page or two. */
static void test_what_is_dropped_costs_nothing(void **state)
{
    (void)state;
    struct ss_pages table = {.item_bytes = 200};
    for (uint32_t i = 0; i < 1000000; i++) {
        ss_pages_put(&table, i);
        if (i >= 10) {
            ss_pages_drop(&table, i - 10);
        }
    }
    assert_true(table.pages_there <= 2);
    assert_true(ss_pages_memory(&table) < 1000000 / SS_PAGE_ITEMS * 2 * sizeof(void *) + 40000);
    ss_pages_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_items_stay_until_they_are_dropped),
                                       cmocka_unit_test(test_what_is_dropped_costs_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
