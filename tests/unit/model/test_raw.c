/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/core/model.h"
#include "model/files/raw_line.h"

static enum ss_status load_bytes(struct ss_model *model, const char *bytes, size_t length,
                                 bool strict, struct ss_error *err)
{
    struct ss_model_load load = {.quiet = true, .strict = strict, .keep_lines = true};
    ss_model_init(model);
    return ss_model_add_raw_memory(model, "test.raw", bytes, length, &load, err);
}

/* Text within a larger buffer: no NUL behind it. */
static void put_bytes(char *at, const char *text)
{
    while (*text != '\0') {
        *at++ = *text++;
    }
}

static void load_text(struct ss_model *model, const char *text)
{
    struct ss_error err = {0};
    if (load_bytes(model, text, strlen(text), false, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
}

static void check_frame(const char *piece, const char *name, const char *path, int32_t line)
{
    struct ss_raw_frame frame;
    ss_raw_parse_frame(ss_strview_of(piece), &frame);
    if (!ss_strview_equal(frame.name, ss_strview_of(name)) ||
        !ss_strview_equal(frame.path, ss_strview_of(path)) || frame.line != line) {
        fail_msg("\"%s\" gave \"%.*s\" \"%.*s\" %d", piece, (int)frame.name.length, frame.name.data,
                 (int)frame.path.length, frame.path.data, frame.line);
    }
}

static void test_frames(void **state)
{
    (void)state;
    check_frame("train (train.py:12)", "train", "train.py", 12);
    check_frame("f (<frozen importlib._bootstrap>:241)", "f", "<frozen importlib._bootstrap>", 241);
    check_frame("<listcomp> (a b/c.py:3)", "<listcomp>", "a b/c.py", 3);
    check_frame("f (/data (old)/x.py:7)", "f", "/data (old)/x.py", 7);
    check_frame("f (C:/x.py:7)", "f", "C:/x.py", 7);
    check_frame("f (é/ü.py:1)", "f", "é/ü.py", 1);
    check_frame("f (x.py)", "f", "x.py", -1);
    check_frame("_start (python3.11)", "_start", "python3.11", -1);
    check_frame("at::add(at::Tensor const&, int) (libtorch_cpu.so)",
                "at::add(at::Tensor const&, int)", "libtorch_cpu.so", -1);
    check_frame("operator() (k.cu:9)", "operator()", "k.cu", 9);
    check_frame("bare", "bare", "", -1);
    check_frame("f ()", "f ()", "", -1);
    check_frame("f (x(y.py:3)", "f", "x(y.py", 3);
    check_frame("f (a)b.py:3)", "f", "a)b.py", 3);
    check_frame("f (x.py:3) left over", "f", "x.py", 3);
    check_frame("f (x.py:99999999999)", "f", "x.py:99999999999", -1);
    check_frame("f (x.py:2147483647)", "f", "x.py", INT32_MAX);
    check_frame("f (:3)", "f", "", 3);
    check_frame("(x.py:3)", "(x.py:3)", "", -1);
}

static void check_split(const char *line, enum ss_raw_result wanted, const char *stack,
                        uint64_t count)
{
    struct ss_strview got = {"", 0};
    uint64_t n = 0;
    enum ss_raw_result result = ss_raw_split(ss_strview_of(line), &got, &n);
    if (result != wanted ||
        (wanted == SS_RAW_OK && (n != count || !ss_strview_equal(got, ss_strview_of(stack))))) {
        fail_msg("\"%s\": %s, \"%.*s\" %llu", line, ss_raw_result_text(result), (int)got.length,
                 got.data, (unsigned long long)n);
    }
}

static void test_split(void **state)
{
    (void)state;
    check_split("a;b 5", SS_RAW_OK, "a;b", 5);
    check_split("  a;b   5 \r", SS_RAW_OK, "a;b", 5);
    check_split("a;b 9223372036854775807", SS_RAW_OK, "a;b", INT64_MAX);
    check_split("a;b 9223372036854775808", SS_RAW_COUNT_LARGE, "", 0);
    check_split("a;b 18446744073709551616", SS_RAW_COUNT_LARGE, "", 0);
    check_split("a;b 99999999999999999999999999999999", SS_RAW_COUNT_LARGE, "", 0);
    check_split("a;b 000000000000000000000000000000007", SS_RAW_OK, "a;b", 7);
    check_split("a;b -5", SS_RAW_NO_COUNT, "", 0);
    check_split("a;b +5", SS_RAW_NO_COUNT, "", 0);
    check_split("a;b 1.5", SS_RAW_NO_COUNT, "", 0);
    check_split("a;b", SS_RAW_NO_COUNT, "", 0);
    check_split("a;b5", SS_RAW_NO_COUNT, "", 0);
    check_split("5", SS_RAW_OK, "", 5);
    check_split(" \t\r", SS_RAW_BLANK, "", 0);
    check_split("", SS_RAW_BLANK, "", 0);
}

/* Writes the pieces of a stack as "K:text|K:text". */
static void check_pieces(const char *stack, const char *wanted)
{
    char got[512] = "";
    struct ss_raw_cursor cursor = {.at = stack, .end = stack + strlen(stack)};
    struct ss_strview piece;
    enum ss_raw_piece kind;
    while (ss_raw_next(&cursor, &piece, &kind)) {
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s%c:%.*s", used > 0 ? "|" : "", "fpt"[kind],
                 (int)piece.length, piece.data);
    }
    assert_string_equal(got, wanted);
}

static void test_labels(void **state)
{
    (void)state;
    check_pieces("a;;b;", "f:a|f:b");
    check_pieces("process 5:\"python t.py\";a (x.py:1)",
                 "p:process 5:\"python t.py\"|f:a (x.py:1)");
    check_pieces("process 5:\"python -c \"import x;f()\"\";a",
                 "p:process 5:\"python -c \"import x;f()\"\"|f:a");
    check_pieces("process 5:\"sh -c a;b\";process 6:\"p;q;r\";f (x.py:1)",
                 "p:process 5:\"sh -c a;b\"|p:process 6:\"p;q;r\"|f:f (x.py:1)");
    check_pieces("process 5:\"\";f", "p:process 5:\"\"|f:f");
    check_pieces("process 5:\"cut;f (x.py:1)", "p:process 5:\"cut|f:f (x.py:1)");
    check_pieces("process 5:\"a\"b;f (x.py:1)", "p:process 5:\"a\"b|f:f (x.py:1)");
    check_pieces("process 5:\"cut;f;g", "p:process 5:\"cut|f:f|f:g");
    check_pieces("process 5:\"cut", "p:process 5:\"cut");
    check_pieces("process x:\"a\";f", "f:process x:\"a\"|f:f");
    check_pieces("thread (77): MainThread;f (x.py:1)", "t:thread (77): MainThread|f:f (x.py:1)");
    check_pieces("thread (0x7F00AA): a;b;f (x.py:1);g",
                 "t:thread (0x7F00AA): a;b|f:f (x.py:1)|f:g");
    check_pieces("thread (77);bare;other", "t:thread (77)|f:bare|f:other");
    check_pieces("thread (x.py:3);f", "f:thread (x.py:3)|f:f");
    check_pieces("thread (77:3);f", "f:thread (77:3)|f:f");
}

static void test_processes(void **state)
{
    (void)state;
    struct ss_model model;
    load_text(&model,
              "process 1:\"torchrun;x\";process 2:\"python\";thread (2): MainThread;f (x.py:1) 3\n"
              "process 1:\"torchrun;x\";process 2:\"python\";thread (3): pin;f (x.py:1) 4\n"
              "process 1:\"torchrun;x\";main (t.py:1) 5\n"
              "plain (t.py:2) 6\n");
    assert_int_equal(model.processes.count, 1 + 3);
    assert_int_equal(model.threads.count, 1 + 4);
    const struct ss_model_process *first = &model.processes.data[1];
    const struct ss_model_process *second = &model.processes.data[2];
    assert_int_equal(first->pid, 1);
    assert_string_equal(ss_model_text(&model, first->cmdline), "torchrun;x");
    assert_int_equal(second->pid, 2);
    assert_int_equal(second->parent, 1);
    assert_int_equal(second->parent_pid, 1);
    assert_true(model.threads.data[1].is_main);
    assert_int_equal(model.threads.data[1].tid, 2);
    assert_false(model.threads.data[2].is_main);
    assert_string_equal(ss_model_text(&model, model.threads.data[2].name), "pin");
    assert_int_equal(model.threads.data[3].process, 1);
    assert_int_equal(model.processes.data[3].pid, -1);
    assert_int_equal(model.threads.data[4].process, 3);
    assert_int_equal(model.totals.count, 4);
    ss_model_fini(&model);
}

static void test_thread_names_with_semicolons(void **state)
{
    (void)state;
    struct ss_model model;
    load_text(&model, "thread (3): a;b;c;f (x.py:1) 4\nthread (3): a;b;c;g (x.py:1) 4\n"
                      "thread (3): a;f (x.py:1) 4\n");
    assert_int_equal(model.threads.count, 1 + 2);
    assert_string_equal(ss_model_text(&model, model.threads.data[1].name), "a;b;c");
    assert_string_equal(ss_model_text(&model, model.threads.data[2].name), "a");
    assert_int_equal(model.stacks.count, 1 + 2);
    ss_model_fini(&model);
}

/* A long line of labels that never close takes time in proportion to its length. */
static void test_unclosed_labels(void **state)
{
    (void)state;
    static const char *const labels[] = {"process 1:\"x;", "thread (1);"};
    for (size_t i = 0; i < 2; i++) {
        size_t count = 400000, length = strlen(labels[i]);
        char *text = malloc(count * length + 8);
        assert_non_null(text);
        for (size_t k = 0; k < count; k++) {
            put_bytes(text + k * length, labels[i]);
        }
        put_bytes(text + count * length, " 7\n");
        struct ss_model model;
        struct ss_error err = {0};
        assert_int_equal(load_bytes(&model, text, count * length + 3, false, &err), SS_OK);
        assert_int_equal(model.inputs.data[0].samples, 7);
        ss_model_fini(&model);
        free(text);
    }
}

static void test_sharing(void **state)
{
    (void)state;
    struct ss_model model;
    load_text(&model,
              "a (x.py:1);b (x.py:2) 3\na (x.py:1);b (x.py:2) 4\na (x.py:1);c (y.py:3) 5\n");
    assert_int_equal(model.frames.count, 1 + 3);
    assert_int_equal(model.stacks.count, 1 + 3);
    assert_int_equal(model.totals.count, 2);
    assert_int_equal(model.totals.data[0].samples, 7);
    assert_int_equal(model.totals.data[1].samples, 5);
    assert_int_equal(model.lines.count, 3);
    assert_int_equal(model.stacks.data[2].depth, 2);
    assert_int_equal(model.inputs.data[0].samples, 12);
    ss_model_fini(&model);
}

static void test_hostile(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_error err = {0};
#define NINE_LINES                                                                                 \
    "e (x.py:5) 1\ne (x.py:5) 1\ne (x.py:5) 1\ne (x.py:5) 1\ne (x.py:5) 1\ne (x.py:5) 1\n"         \
    "e (x.py:5) 1\ne (x.py:5) 1\ne (x.py:5) 1\n"
    static const char mixed[] =
        "a (x.py:1) 3\nno count\nb\0c 4\r\n\r\n  \nb (x.py:2) -1\n"
        "c (x.py:3) 18446744073709551616\r\n" NINE_LINES NINE_LINES NINE_LINES "d (x.py:4) 5";
    assert_int_equal(load_bytes(&model, mixed, sizeof mixed - 1, false, &err), SS_OK);
    assert_int_equal(model.inputs.data[0].lines, 33);
    assert_int_equal(model.inputs.data[0].skipped_lines, 4);
    assert_int_equal(model.inputs.data[0].samples, 35);
    ss_model_fini(&model);

    /* One line in ten may be no stack: without the last two, three are of 29. */
    size_t fewer = sizeof mixed - 1 - strlen("d (x.py:4) 5") - 3 * strlen("e (x.py:5) 1\n");
    assert_int_equal(load_bytes(&model, mixed, fewer, false, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "3 of its 29 lines are none (line 2 has no sample count"));
    ss_model_fini(&model);

    assert_int_equal(load_bytes(&model, mixed, sizeof mixed - 1, true, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "test.raw:2:"));
    ss_model_fini(&model);

    assert_int_equal(load_bytes(&model, "", 0, false, &err), SS_OK);
    assert_int_equal(model.totals.count, 0);
    ss_model_fini(&model);

    assert_int_equal(load_bytes(&model, "hello\nworld\n", 12, false, &err), SS_E_FORMAT);
    ss_model_fini(&model);

    /* The sum of all counts stays below 2^63. */
    const char *sum = "a 9223372036854775000\nb 1000\nc 807\n";
    assert_int_equal(load_bytes(&model, sum, strlen(sum), false, &err), SS_OK);
    assert_int_equal(model.inputs.data[0].skipped_lines, 1);
    assert_int_equal(model.inputs.data[0].samples, INT64_MAX);
    ss_model_fini(&model);
}

static void test_long_line(void **state)
{
    (void)state;
    size_t length = (size_t)40 << 20;
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, 'x', length);
    put_bytes(text, "a 1\n");
    put_bytes(text + length - 5, "\nb 2\n");
    struct ss_model model;
    struct ss_error err = {0};
    assert_int_equal(load_bytes(&model, text, length, false, &err), SS_OK);
    assert_int_equal(model.inputs.data[0].skipped_lines, 1);
    assert_int_equal(model.inputs.data[0].samples, 3);
    ss_model_fini(&model);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),          cmocka_unit_test(test_split),
        cmocka_unit_test(test_labels),          cmocka_unit_test(test_processes),
        cmocka_unit_test(test_sharing),         cmocka_unit_test(test_thread_names_with_semicolons),
        cmocka_unit_test(test_unclosed_labels), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
