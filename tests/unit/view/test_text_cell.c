/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/output/text_cell.h"
#include "view/output/text_table.h"

static void check_cut(void (*cut)(struct ss_strbuf *, const char *, size_t), const char *text,
                      size_t columns, const char *wanted)
{
    struct ss_strbuf out;
    ss_strbuf_init(&out, 1000);
    cut(&out, text, columns);
    assert_string_equal(out.data, wanted);
    assert_true(ss_text_width(out.data) <= columns);
    ss_strbuf_fini(&out);
}

static void test_cut(void **state)
{
    (void)state;
    check_cut(ss_text_append_cut_middle, "torch/nn/functional.py", 22, "torch/nn/functional.py");
    check_cut(ss_text_append_cut_middle, "torch/nn/functional.py", 13, "torc…ional.py");
    check_cut(ss_text_append_cut_middle, "torch", 1, "…");
    check_cut(ss_text_append_cut_middle, "torch", 0, "");
    check_cut(ss_text_append_cut_middle, "ééééééé", 4, "é…éé");
    check_cut(ss_text_append_cut_middle, "漢字漢字漢字", 7, "漢…漢字");
    check_cut(ss_text_append_cut_end, "library_function_name", 8, "library…");
}

static void check_wrapped(const char *text, size_t columns, size_t indent, const char *wanted)
{
    struct ss_strbuf out;
    ss_strbuf_init(&out, 1000);
    ss_text_append_wrapped(&out, text, columns, indent);
    assert_string_equal(out.data, wanted);
    ss_strbuf_fini(&out);
}

static void test_wrapped(void **state)
{
    (void)state;
    check_wrapped("one two three", 0, 2, "one two three");
    check_wrapped("one two three", 9, 2, "one two\n  three");
    check_wrapped("one two three", 8, 2, "one\n  two\n  three");
    check_wrapped("unbreakable it is", 6, 0, "unbreakable\nit is");
    check_wrapped("each 12.5 ms a step", 9, 0, "each\n12.5 ms a\nstep");
    check_wrapped("at most ≤ 12 ms", 10, 0, "at most\n≤ 12 ms");
    check_wrapped("for 12", 5, 0, "for\n12");
    check_wrapped("", 5, 2, "");
}

static void check_clean(const char *text, size_t length, const char *wanted)
{
    struct ss_strbuf out;
    ss_strbuf_init(&out, 1000);
    ss_text_append_clean(&out, (struct ss_strview){text, length});
    assert_string_equal(out.data, wanted);
    ss_strbuf_fini(&out);
}

static void test_clean(void **state)
{
    (void)state;
    check_clean("a\x1b[31mb", 7, "a\xef\xbf\xbd[31mb");
    check_clean("a\0b\n", 4,
                "a\xef\xbf\xbd"
                "b\xef\xbf\xbd");
    check_clean("\xff"
                "é",
                3,
                "\xef\xbf\xbd"
                "é");
    check_clean("\xc2\x9b", 2, "\xef\xbf\xbd");
    check_clean("a\xe2\x80\xae"
                "b",
                5,
                "a\xef\xbf\xbd"
                "b");
}

static void test_count(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        const char *text;
    } cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {1234567, "1,234,567"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_strbuf out;
        ss_strbuf_init(&out, 100);
        ss_text_append_count(&out, cases[i].count);
        assert_string_equal(out.data, cases[i].text);
        ss_strbuf_fini(&out);
    }
}

/* What a table of two columns looks like in `width`. */
static void check_table(size_t width, const char *wanted)
{
    static const struct ss_text_column columns[] = {
        {.title = "share", .right = true},
        {.title = "bar", .drops = true},
        {.title = "library_function_path", .short_title = "path", .least = 6}};
    struct ss_text_table table;
    ss_text_table_init(&table, columns, 3);
    ss_text_table_add_row(&table, NULL);
    ss_text_table_put(&table, 0, ss_strview_of("9.5%"), NULL);
    ss_text_table_put(&table, 1, ss_strview_of("####"), NULL);
    ss_text_table_put(&table, 2, ss_strview_of("torch/nn/x.py"), NULL);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(ss_text_table_print(&table, out, width, false, NULL), SS_OK);
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
    ss_text_table_fini(&table);
}

static void test_table_fits(void **state)
{
    (void)state;
    check_table(0, "share  bar   library_function_path\n 9.5%  ####  torch/nn/x.py\n");
    check_table(28, "share  bar   path\n 9.5%  ####  torch/nn/x.py\n");
    check_table(20, "share  bar   path\n 9.5%  ####  to…x.py\n");
    check_table(18, "share  path\n 9.5%  tor…nn/x.py\n");
}

static void test_percents(void **state)
{
    (void)state;
    static const struct {
        double percent;
        const char *text;
    } cases[] = {{0, "0 %"},
                 {0.00002, "below 0.001 %"},
                 {0.0123, "0.012 %"},
                 {1.26, "1.3 %"},
                 {9.96, "10 %"},
                 {42.4, "42 %"},
                 {99.4, "99 %"},
                 {99.64, "99.6 %"},
                 {99.99, "above 99.9 %"},
                 {100, "100 %"},
                 {153.2, "153 %"},
                 {12345, "12345 %"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_strbuf out;
        ss_strbuf_init(&out, 64);
        ss_text_append_percent(&out, cases[i].percent);
        assert_string_equal(out.data, cases[i].text);
        ss_strbuf_fini(&out);
    }
}

int main(void)
{
    ss_text_use_utf8();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percents), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_wrapped),  cmocka_unit_test(test_clean),
        cmocka_unit_test(test_count),    cmocka_unit_test(test_table_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
