/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "record/tracks/collective_module.h"

static void check(const char *text, const char *expected)
{
    struct ss_event_value fields[SS_COLLECTIVE_MODULE_FIELDS];
    char found[256] = "";
    uint32_t count = ss_collective_module_put(ss_strview_of(text), fields);
    for (uint32_t i = 0; i < count; i++) {
        size_t used = strlen(found);
        if (fields[i].value.type == SS_VALUE_TEXT) {
            snprintf(found + used, sizeof found - used, "%s%u=%.*s", i > 0 ? " " : "",
                     fields[i].field, (int)fields[i].value.text.length, fields[i].value.text.data);
        } else {
            snprintf(found + used, sizeof found - used, "%s%u=%llu", i > 0 ? " " : "",
                     fields[i].field, (unsigned long long)fields[i].value.natural);
        }
    }
    assert_string_equal(found, expected);
}

static void test_a_module_alone(void **state)
{
    (void)state;
    check("layers.3", "59=layers.3");
    check("", "");
}

static void test_a_bucket(void **state)
{
    (void)state;
    check("layers.3\n1\n4\nlayers.3.b\nlayers.3.a",
          "59=layers.3 61=1 62=4 63=layers.3.b 64=layers.3.a");
    check("m\n0\n1\n\n", "59=m 61=0 62=1");
}

static void test_parameters_without_a_bucket(void **state)
{
    (void)state;
    check("layers.3\n\n\nlayers.3.a\nlayers.3.b", "59=layers.3 63=layers.3.a 64=layers.3.b");
}

/* Any text may be in the ring. */
static void test_other_lines_are_only_a_module(void **state)
{
    (void)state;
    check("m\n1\n4\na", "59=m");
    check("m\n1\n4\na\nb\nc", "59=m");
    check("m\n4\n4\na\nb", "59=m");
    check("m\n\n4\na\nb", "59=m");
    check("m\n-1\n4\na\nb", "59=m");
    check("m\n1\n99999999999999999999\na\nb", "59=m");
    check("\n1\n4\na\nb", "61=1 62=4 63=a 64=b");
    check("\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_module_alone),
                                       cmocka_unit_test(test_a_bucket),
                                       cmocka_unit_test(test_parameters_without_a_bucket),
                                       cmocka_unit_test(test_other_lines_are_only_a_module)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
