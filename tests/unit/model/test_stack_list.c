/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/stack_list.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_view(struct ss_strview view, const char *text)
{
    assert_int_equal(view.length, strlen(text));
    assert_memory_equal(view.data, text, view.length);
}

static void check_frame(struct ss_stack_list *list, const char *file, int64_t line,
                        const char *function)
{
    struct ss_listed_frame frame;
    assert_true(ss_stack_list_next(list, &frame));
    assert_view(frame.file, file);
    assert_view(frame.function, function);
    assert_true(frame.line == line);
}

/* What was appended is read back, whatever its characters. */
static void test_round_trip(void **state)
{
    static const struct ss_listed_frame frames[] = {
        {{"/a/train.py", 11}, {"main", 4}, 12},
        {{"C:\\x \"y\".py", 11}, {"f\n\x01g", 4}, 1},
        {{"q(1): .py", 9}, {"<lambda>", 8}, 7},
        {{"??", 2}, {"at::native::add(at::Tensor const&)", 34}, 0}};
    struct ss_strbuf text;
    struct ss_stack_list list;
    struct ss_listed_frame frame;
    (void)state;
    ss_strbuf_init(&text, 4096);
    ss_stack_list_close(&text);
    assert_int_equal(text.length, 0);
    for (size_t i = 0; i < 4; i++) {
        ss_stack_list_append(&text, &frames[i]);
    }
    ss_stack_list_close(&text);
    ss_stack_list_open(&list, (struct ss_strview){text.data, text.length});
    check_frame(&list, "/a/train.py", 12, "main");
    check_frame(&list, "C:\\x \"y\".py", 1, "f\n\x01g");
    assert_true(ss_stack_list_next(&list, &frame)); /* the first "(N): " counts */
    assert_view(frame.file, "q");
    check_frame(&list, "??", 0, "at::native::add(at::Tensor const&)");
    assert_false(ss_stack_list_next(&list, &frame));
    ss_stack_list_fini(&list);
    ss_strbuf_fini(&text);
}

static void test_other_texts(void **state)
{
    struct ss_stack_list list;
    struct ss_listed_frame frame;
    (void)state;
    ss_stack_list_open(&list, ss_strview_of("[\"nn.Module: Linear_0\", \"f.py(x): g\", 5]"));
    check_frame(&list, "", -1, "nn.Module: Linear_0");
    check_frame(&list, "", -1, "f.py(x): g");
    assert_false(ss_stack_list_next(&list, &frame));
    ss_stack_list_fini(&list);
    static const char *const none[] = {"", "[", "[]", "no list", "[\"cut"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ss_stack_list_open(&list, ss_strview_of(none[i]));
        assert_false(ss_stack_list_next(&list, &frame));
        ss_stack_list_fini(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_other_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
