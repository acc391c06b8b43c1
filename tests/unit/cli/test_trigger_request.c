/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "cli/trigger/trigger_request.h"

static void assert_steps(const char *text, bool is_ahead, int64_t first, int64_t last)
{
    struct ss_trigger_steps steps;
    assert_true(ss_trigger_steps_parse(text, &steps));
    assert_int_equal(steps.is_ahead, is_ahead);
    assert_int_equal(steps.first, first);
    assert_int_equal(steps.last, last);
}

static void steps_in_words(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "+",
                                        "5:",
                                        ":5",
                                        "5:4",
                                        "+5:9",
                                        "5:+9",
                                        "+0",
                                        "-1:5",
                                        "1e3",
                                        "5 ",
                                        "5:6:7",
                                        "999999999999999999999"};
    assert_steps("100:110", false, 100, 110);
    assert_steps("0", false, 0, 0);
    assert_steps("+5", true, 5, 5);
    assert_steps("+5:+14", true, 5, 14);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ss_trigger_steps steps;
        assert_false(ss_trigger_steps_parse(wrong[i], &steps));
    }
}

/* The window is moved to where the ranks can still be asked, and never towards them. */
static void steps_ahead(void **state)
{
    (void)state;
    struct ss_trigger_steps ahead = {true, 5, 14}, fixed = {false, 5, 14};
    struct ss_trigger_steps slow = ss_trigger_steps_place(&ahead, 1000, 0.5, 2);
    assert_false(slow.is_ahead);
    assert_int_equal(slow.first, 1005);
    assert_int_equal(slow.last, 1014);
    struct ss_trigger_steps fast = ss_trigger_steps_place(&ahead, 1000, 200, 2);
    assert_int_equal(fast.first, 1401);
    assert_int_equal(fast.last, 1410);
    assert_int_equal(ss_trigger_steps_place(&fixed, 1000, 200, 2).first, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_words),
        cmocka_unit_test(steps_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
