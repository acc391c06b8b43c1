/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of rules with the values of their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/diagnosis/rules.h"
#include "analysis/table/rule_limits.h"

static void assert_text(const char *template, const char *expected)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    assert_true(ss_rule_text_append(template, &text));
    assert_string_equal(text.data, expected);
    ss_strbuf_fini(&text);
}

static void units_are_those_of_people(void **state)
{
    (void)state;
    assert_text("below {TINY_OPERATOR_NS}, {BATCH_TRANSFER_NS}", "below 30 µs, 500 µs");
    assert_text("{WORKER_START_NS} {BYTE_TRANSFER_PS}", "100 ms 0.5 ns");
    assert_text("{GAIN_PERCENT} or more", "4 % or more");
    assert_text("{THREADS_HUNDREDTHS} times", "1.5 times");
    assert_text("the {LAST_COMPILING_STEP} step", "the third step");
    assert_text("{GROWTH_BYTES}", "1 MiB");
    assert_text("{FEWEST_OPERATORS}", "50");
    assert_text("no limit", "no limit");
}

static void unknown_names_stay(void **state)
{
    (void)state;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    assert_false(ss_rule_text_append("a {NO_SUCH_LIMIT} {", &text));
    assert_string_equal(text.data, "a {NO_SUCH_LIMIT} {");
    ss_strbuf_fini(&text);
}

static void rules_name_limits_that_exist(void **state)
{
    (void)state;
    for (const struct ss_rule *rule = ss_rules; rule->id != NULL; rule++) {
        const char *const texts[] = {rule->headline, rule->fires, rule->needs, rule->estimate,
                                     rule->fix};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            struct ss_strbuf text;
            ss_strbuf_init(&text, 4096);
            assert_true(ss_rule_text_append(texts[i], &text));
            assert_null(strchr(text.data, '{'));
            assert_false(text.overflow);
            ss_strbuf_fini(&text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_those_of_people),
        cmocka_unit_test(unknown_names_stay),
        cmocka_unit_test(rules_name_limits_that_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
