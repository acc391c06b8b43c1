/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>

#include "base/intern.h"

static void equal_texts_have_one_id(void **state)
{
    (void)state;
    enum { TEXTS = 5000 };
    struct ss_intern table;
    ss_intern_init(&table);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < TEXTS; i++) {
            char text[32];
            int length = snprintf(text, sizeof text, "text %u", i);
            assert_int_equal(ss_intern_put(&table, text, (size_t)length), i + 1);
            assert_string_equal(ss_intern_text(&table, i + 1), text);
        }
    }
    assert_int_equal(ss_intern_put(&table, "text 7 and more", 6), 8);
    assert_int_equal(ss_intern_find(&table, "text 7 and more", 6), 8);
    assert_int_equal(ss_intern_find(&table, "text 7 and more", 9), 0);
    ss_intern_fini(&table);
}

static void the_empty_text_is_0_wherever_it_points(void **state)
{
    (void)state;
    struct ss_intern table;
    ss_intern_init(&table);
    assert_int_equal(ss_intern_put(&table, NULL, 0), 0);
    assert_int_equal(ss_intern_put_text(&table, ""), 0);
    assert_int_equal(ss_intern_put(&table, "x", 0), 0);
    assert_string_equal(ss_intern_text(&table, 0), "");
    assert_string_equal(ss_intern_text(&table, 77), ""); /* no such id */
    ss_intern_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_one_id),
        cmocka_unit_test(the_empty_text_is_0_wherever_it_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
