/* SPDX-License-Identifier: Apache-2.0 */
/* Records of comma-separated values: quotes, newlines, and where the bytes end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/csv_scan.h"

static struct ss_csv_record record;

static const char *field_text(size_t index)
{
    static struct ss_strbuf text;
    if (text.data == NULL) {
        ss_strbuf_init(&text, 1000);
    }
    ss_strbuf_clear(&text);
    ss_csv_unquote(record.data[index], &text);
    return text.data;
}

static void fields_are_split(void **state)
{
    (void)state;
    static const char text[] = "a,\"b,\"\"c\"\"\nd\",,e\r\n\nf,g";
    const char *at = text, *end = text + sizeof text - 1;
    assert_true(ss_csv_read(&at, end, false, &record));
    assert_int_equal(record.count, 4);
    assert_string_equal(field_text(0), "a");
    assert_string_equal(field_text(1), "b,\"c\"\nd");
    assert_string_equal(field_text(2), "");
    assert_string_equal(field_text(3), "e");
    assert_true(ss_csv_read(&at, end, false, &record)); /* the empty line */
    assert_int_equal(record.count, 1);
    assert_int_equal(record.data[0].raw.length, 0);
    assert_false(ss_csv_read(&at, end, false, &record)); /* more of "g" may follow */
    assert_true(ss_csv_read(&at, end, true, &record));
    assert_string_equal(field_text(1), "g");
    assert_ptr_equal(at, end);
}

static void quotes_may_be_wrong(void **state)
{
    (void)state;
    static const char odd[] = "a\"b,\"c\"d,\"\"\n";
    const char *at = odd;
    assert_true(ss_csv_read(&at, odd + sizeof odd - 1, false, &record));
    assert_int_equal(record.count, 3);
    assert_string_equal(field_text(0), "a\"b");
    assert_string_equal(field_text(1), "c"); /* what follows a closing quote is left out */
    assert_string_equal(field_text(2), "");
    static const char open[] = "\"a\n\"\"b,c\n";
    at = open;
    assert_false(ss_csv_read(&at, open + sizeof open - 1, true, &record));
    assert_ptr_equal(at, open);
}

/* A record is read the same wherever the bytes end at first. */
static void every_cut_is_noticed(void **state)
{
    (void)state;
    static const char text[] = "\"x\"\"y\",\"1,234\",z\n";
    for (size_t length = 1; length < sizeof text - 1; length++) {
        const char *at = text;
        assert_false(ss_csv_read(&at, text + length, false, &record));
        assert_ptr_equal(at, text);
    }
    const char *at = text;
    assert_true(ss_csv_read(&at, text + sizeof text - 1, false, &record));
    assert_string_equal(field_text(1), "1,234");
}

static void fields_are_limited(void **state)
{
    (void)state;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 1 << 20);
    for (int i = 0; i < SS_CSV_MOST_FIELDS + 10; i++) {
        ss_strbuf_append_char(&text, ',');
    }
    ss_strbuf_append_char(&text, '\n');
    const char *at = text.data;
    assert_true(ss_csv_read(&at, text.data + text.length, false, &record));
    assert_int_equal(record.count, SS_CSV_MOST_FIELDS);
    assert_ptr_equal(at, text.data + text.length);
    ss_strbuf_fini(&text);
}

static int fini(void **state)
{
    (void)state;
    ss_vec_fini(&record);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_split),
        cmocka_unit_test(quotes_may_be_wrong),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(fields_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, fini);
}
