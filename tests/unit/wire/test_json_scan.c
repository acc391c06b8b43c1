/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/json_scan.h"

static struct ss_json_cursor cursor_of(const char *text)
{
    return (struct ss_json_cursor){text, text + strlen(text)};
}

static int64_t decimal(const char *text, int scale)
{
    int64_t value = 0;
    assert_true(ss_json_decimal(ss_strview_of(text), scale, &value));
    return value;
}

static void decimals_are_exact(void **state)
{
    (void)state;
    assert_int_equal(decimal("1712195495795494.037", 3), 1712195495795494037);
    assert_int_equal(decimal("4458676440249.843", 3), 4458676440249843);
    assert_int_equal(decimal("1669783687859427", 3), 1669783687859427000);
    assert_int_equal(decimal("0.0015", 3), 2);
    assert_int_equal(decimal("0.00149", 3), 1);
    assert_int_equal(decimal("-1.5", 3), -1500);
    assert_int_equal(decimal("1.5e3", 0), 1500);
    assert_int_equal(decimal("15E-1", 0), 2);
    assert_int_equal(decimal("1e-400", 0), 0);
    assert_int_equal(decimal("9223372036854775807", 0), INT64_MAX);
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "-",        ".",   "1e",    "1x",
                                        "NaN",  "Infinity", "1-2", "1.2.3", "9223372036854775808",
                                        "1e19", "0x10"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t value;
        assert_false(ss_json_decimal(ss_strview_of(texts[i]), 0, &value));
    }
}

static void members_are_read_one_by_one(void **state)
{
    (void)state;
    struct ss_json_cursor cursor =
        cursor_of(" \"a\" : [1, {\"b\": \"]}\"}] ,, \"c\\\"d\":-2.5e1,} rest");
    struct ss_json_text key;
    struct ss_strview value;
    bool is_end;
    assert_int_equal(ss_json_read_key(&cursor, &key, &is_end), SS_JSON_OK);
    assert_true(ss_strview_equal(key.raw, ss_strview_of("a")));
    assert_int_equal(ss_json_skip(&cursor, &value), SS_JSON_OK);
    assert_true(ss_strview_equal(value, ss_strview_of("[1, {\"b\": \"]}\"}]")));
    assert_int_equal(ss_json_read_key(&cursor, &key, &is_end), SS_JSON_OK);
    assert_true(key.has_escapes);
    assert_int_equal(ss_json_skip(&cursor, &value), SS_JSON_OK);
    assert_true(ss_strview_equal(value, ss_strview_of("-2.5e1")));
    assert_int_equal(ss_json_read_key(&cursor, &key, &is_end), SS_JSON_OK);
    assert_true(is_end);
    assert_string_equal(cursor.at, " rest");
}

/* Each prefix of a document is cut, never read as something else. */
static void prefixes_are_cut(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [\"x\\\\\", 12.5, true], \"b\": {\"c\": null}} ";
    for (size_t length = 0; length + 1 < sizeof text; length++) {
        struct ss_json_cursor cursor = {text, text + length};
        struct ss_strview value;
        enum ss_json_result result = ss_json_skip(&cursor, &value);
        assert_int_equal(result, length + 2 < sizeof text ? SS_JSON_CUT : SS_JSON_OK);
    }
}

static void escapes_are_resolved(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *plain;
    } cases[] = {{"a\\n\\\"b\\\\", "a\n\"b\\"},
                 {"\\u00e4\\u20AC", "\xc3\xa4\xe2\x82\xac"},
                 {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
                 {"\\ud83d!", "\xef\xbf\xbd!"},
                 /* One that is none of JSON's: no backslash is meant as one. */
                 {"\\uzz", "\\uzz"},
                 {"C:\\users\\tom\\new", "C:\\users\\tom\\new"},
                 {"\\\"a\\\\b\\q\\\"", "\"a\\b\\q\""},
                 {"end\\", "end"}};
    struct ss_strbuf out;
    ss_strbuf_init(&out, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ss_strbuf_clear(&out);
        ss_json_unescape((struct ss_json_text){ss_strview_of(cases[i].raw), true}, &out);
        assert_string_equal(out.data, cases[i].plain);
    }
    ss_strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_exact),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(members_are_read_one_by_one),
        cmocka_unit_test(prefixes_are_cut),
        cmocka_unit_test(escapes_are_resolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
