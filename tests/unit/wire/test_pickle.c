/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/pickle.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Bytes in memory, given out in pieces so that every value crosses an edge somewhere. */
struct bytes {
    const char *data;
    size_t length, at, piece;
};

static enum ss_status read_bytes(void *context, char *buffer, size_t capacity, size_t *got,
                                 struct ss_error *err)
{
    struct bytes *bytes = context;
    size_t left = bytes->length - bytes->at;
    (void)err;
    *got = left < bytes->piece ? left : bytes->piece;
    *got = *got < capacity ? *got : capacity;
    memcpy(buffer, bytes->data + bytes->at, *got);
    bytes->at += *got;
    return SS_OK;
}

static struct ss_error last_error;

static enum ss_status read_limited(struct ss_pickle *pickle, const char *data, size_t length,
                                   size_t piece, size_t most_bytes)
{
    struct bytes bytes = {data, length, 0, piece};
    struct ss_pickle_source source = {read_bytes, &bytes, "x.pickle", most_bytes};
    ss_pickle_init(pickle);
    return ss_pickle_read(pickle, &source, &last_error);
}

#define READ(pickle, text) read_limited((pickle), (text), sizeof(text) - 1, 1, 1 << 20)

/* pickle.dumps({"a": [1, 300, -5, 2**40, -1], "b": (True, None, 1.5)}, protocol=2) */
#define PROTOCOL_2                                                                                 \
    "\x80\x02}q\x00(X\x01\x00\x00\x00"                                                             \
    "aq\x01]q\x02(K\x01M,\x01J\xfb\xff\xff\xff"                                                    \
    "\x8a\x06\x00\x00\x00\x00\x00\x01J\xff\xff\xff\xff"                                            \
    "eX\x01\x00\x00\x00"                                                                           \
    "bq\x03\x88NG?"                                                                                \
    "\xf8\x00\x00\x00\x00\x00\x00\x87q\x04u."

static void check_example(const struct ss_pickle *pickle, uint32_t a, uint32_t b)
{
    static const int64_t numbers[] = {1, 300, -5, INT64_C(1) << 40, -1};
    struct ss_pickle_value list = ss_pickle_get(pickle, pickle->root, a);
    struct ss_pickle_value tuple = ss_pickle_get(pickle, pickle->root, b);
    assert_int_equal(list.type, SS_PICKLE_LIST);
    assert_int_equal(ss_pickle_count(pickle, list), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(ss_pickle_at(pickle, list, i).type, SS_PICKLE_INTEGER);
        assert_true(ss_pickle_at(pickle, list, i).integer == numbers[i]);
    }
    assert_int_equal(tuple.type, SS_PICKLE_TUPLE);
    assert_int_equal(ss_pickle_count(pickle, tuple), 3);
    assert_true(ss_pickle_at(pickle, tuple, 0).boolean);
    assert_int_equal(ss_pickle_at(pickle, tuple, 1).type, SS_PICKLE_NONE);
    assert_true(ss_pickle_at(pickle, tuple, 2).real == 1.5);
}

static void test_values(void **state)
{
    static const char data[] = PROTOCOL_2;
    (void)state;
    for (size_t piece = 1; piece < 40; piece++) {
        struct ss_pickle pickle;
        assert_int_equal(read_limited(&pickle, data, sizeof data - 1, piece, 1 << 20), SS_OK);
        check_example(&pickle, ss_pickle_key(&pickle, "a"), ss_pickle_key(&pickle, "b"));
        assert_int_equal(ss_pickle_get(&pickle, pickle.root, ss_pickle_key(&pickle, "c")).type,
                         SS_PICKLE_ABSENT);
        ss_pickle_fini(&pickle);
    }
}

/* Every prefix of it is an error that says so, and none a value. */
static void test_cut(void **state)
{
    static const char data[] = PROTOCOL_2;
    (void)state;
    for (size_t length = 0; length < sizeof data - 1; length++) {
        struct ss_pickle pickle;
        assert_int_equal(read_limited(&pickle, data, length, 7, 1 << 20), SS_E_FORMAT);
        assert_non_null(strstr(last_error.message, "the file ends within the pickle"));
        ss_pickle_fini(&pickle);
    }
}

/* Frames, MEMOIZE, short texts and bytes: pickle.dumps(("é", b"\x00", [], {}), protocol=4). */
static void test_protocol_4(void **state)
{
    static const char data[] = "\x80\x04\x95\x0f\0\0\0\0\0\0\0(\x8c\x02\xc3\xa9\x94"
                               "C\x01\x00\x94]"
                               "\x94}\x94t\x94.";
    struct ss_pickle pickle;
    (void)state;
    assert_int_equal(READ(&pickle, data), SS_OK);
    assert_int_equal(ss_pickle_count(&pickle, pickle.root), 4);
    struct ss_pickle_value text = ss_pickle_at(&pickle, pickle.root, 0);
    assert_int_equal(text.type, SS_PICKLE_TEXT);
    assert_string_equal(ss_intern_text(&pickle.texts, text.text), "é");
    struct ss_pickle_value bytes = ss_pickle_at(&pickle, pickle.root, 1);
    assert_int_equal(bytes.type, SS_PICKLE_BYTES);
    assert_int_equal(ss_intern_get(&pickle.texts, bytes.text).length, 1);
    assert_int_equal(ss_pickle_at(&pickle, pickle.root, 2).type, SS_PICKLE_LIST);
    assert_int_equal(ss_pickle_at(&pickle, pickle.root, 3).type, SS_PICKLE_DICT);
    ss_pickle_fini(&pickle);
}

/* l = []; l.append(l): the list is its own item, and walking it to any depth ends nowhere. */
static void test_shared(void **state)
{
    struct ss_pickle pickle;
    (void)state;
    assert_int_equal(READ(&pickle, "\x80\x02]q\x00h\x00"
                                   "a."),
                     SS_OK);
    struct ss_pickle_value inner = ss_pickle_at(&pickle, pickle.root, 0);
    assert_int_equal(inner.object, pickle.root.object);
    ss_pickle_fini(&pickle);
}

static void test_integers(void **state)
{
    struct ss_pickle pickle;
    (void)state;
    assert_int_equal(READ(&pickle, "\x80\x02\x8a\x00."), SS_OK);
    assert_true(pickle.root.integer == 0);
    ss_pickle_fini(&pickle);
    assert_int_equal(READ(&pickle, "\x80\x02\x8a\x01\xff."), SS_OK);
    assert_true(pickle.root.integer == -1);
    ss_pickle_fini(&pickle);
    assert_int_equal(READ(&pickle, "\x80\x02\x8a\x09\0\0\0\0\0\0\0\x80\0."), SS_OK);
    assert_int_equal(pickle.root.type, SS_PICKLE_HUGE);
    ss_pickle_fini(&pickle);
}

/* The last of several items with one key counts, as in Python. */
static void test_same_key(void **state)
{
    struct ss_pickle pickle;
    (void)state;
    assert_int_equal(READ(&pickle, "\x80\x02}(\x8c\x01kK\x01\x8c\x01kK\x02u."), SS_OK);
    assert_true(ss_pickle_get(&pickle, pickle.root, ss_pickle_key(&pickle, "k")).integer == 2);
    ss_pickle_fini(&pickle);
}

/* Whatever names or calls something: nothing of it runs, and the message says where it is. */
#define CODE(text, message)                                                                        \
    {                                                                                              \
        (text), sizeof(text) - 1, (message)                                                        \
    }

static void test_code(void **state)
{
    static const struct {
        const char *data;
        size_t length;
        const char *message;
    } pickles[] = {
        CODE("\x80\x02"
             "cos\nsystem\nX\x01\0\0\0x\x85R.",
             "byte 2: this pickle runs code (GLOBAL)"),
        CODE("\x80\x04\x8c\x02os\x8c\x06system\x93.",
             "byte 14: this pickle runs code (STACK_GLOBAL)"),
        CODE("\x80\x02N)R.", "byte 4: this pickle runs code (REDUCE)"),
        CODE("\x80\x02N}b.", "byte 4: this pickle runs code (BUILD)"),
        CODE("\x80\x02(ios\nsystem\n.", "byte 3: this pickle runs code (INST)"),
        CODE("\x80\x02(No.", "byte 4: this pickle runs code (OBJ)"),
        CODE("\x80\x02N)\x81.", "byte 4: this pickle runs code (NEWOBJ)"),
        CODE("\x80\x04N)}\x92.", "byte 5: this pickle runs code (NEWOBJ_EX)"),
        CODE("\x80\x02\x82\x01.", "byte 2: this pickle runs code (EXT1)"),
        CODE("\x80\x02"
             "P1\n.",
             "byte 2: this pickle runs code (PERSID)"),
        CODE("\x80\x02NQ.", "byte 3: this pickle runs code (BINPERSID)"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
        struct ss_pickle pickle;
        assert_int_equal(read_limited(&pickle, pickles[i].data, pickles[i].length, 64, 1 << 20),
                         SS_E_FORMAT);
        assert_non_null(strstr(last_error.message, pickles[i].message));
        ss_pickle_fini(&pickle);
    }
}

/* What no writer makes. */
static void test_broken(void **state)
{
    static const struct {
        const char *data;
        size_t length;
        const char *message;
    } pickles[] = {
        {"\x80\x02.", 3, "ends with other than one value"},
        {"\x80\x02NN.", 5, "ends with other than one value"},
        {"\x80\x02(N.", 5, "ends with other than one value"},
        {"\x80\x01N.", 4, "a protocol other than 2 to 5"},
        {"\x80\x06N.", 4, "a protocol other than 2 to 5"},
        {"(lp0\n.", 6, "no pickle"},
        {"\x80\x02K\x01\x86.", 6, "too few values"},
        {"\x80\x02"
         "e.",
         4, "without its mark"},
        {"\x80\x02N(Ne.", 7, "items for something that has none"},
        {"\x80\x02}(Nu.", 7, "items for something that has none"},
        {"\x80\x02](a.", 6, "too few values"},
        {"\x80\x02(Nd.", 6, "a key without a value"},
        {"\x80\x02h\x00.", 5, "a value that was never stored"},
        {"\x80\x02Nq\x05.", 6, "a place in the memo that no writer uses"},
        {"\x80\x02Nr\xff\xff\xff\xff.", 9, "a place in the memo that no writer uses"},
        {"\x80\x02q\x00.", 5, "too few values"},
        {"\x80\x02X\xff\xff\xff\xff.", 8, "a text of more than 64 MiB"},
        {"\x80\x04\x8d\0\0\0\0\0\0\0\x7f.", 12, "a text of more than 64 MiB"},
        {"\x80\x02I1\n.", 6, "plain data do not have"},
        {"\x80\x04\x8f.", 4, "plain data do not have"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
        struct ss_pickle pickle;
        assert_int_equal(read_limited(&pickle, pickles[i].data, pickles[i].length, 64, 1 << 20),
                         SS_E_FORMAT);
        assert_non_null(strstr(last_error.message, pickles[i].message));
        ss_pickle_fini(&pickle);
    }
}

static void test_depth(void **state)
{
    static char data[10002];
    struct ss_pickle pickle;
    (void)state;
    memcpy(data, "\x80\x02", 2);
    memset(data + 2, '(', 10000);
    assert_int_equal(read_limited(&pickle, data, sizeof data, 64, 1 << 20), SS_E_FORMAT);
    assert_non_null(strstr(last_error.message, "nest too deep"));
    ss_pickle_fini(&pickle);
}

/* A file of empty lists, as large as it likes, needs no more memory than allowed. */
static void test_memory(void **state)
{
    static char data[1 << 20];
    struct ss_pickle pickle;
    (void)state;
    memset(data, ']', sizeof data);
    memcpy(data, "\x80\x02", 2);
    assert_int_equal(read_limited(&pickle, data, sizeof data, 4096, 1 << 20), SS_E_LIMIT);
    assert_non_null(strstr(last_error.message, "more than 1 MiB of memory"));
    assert_true(pickle.objects.capacity * sizeof *pickle.objects.data < (2 << 20));
    ss_pickle_fini(&pickle);
}

static void test_probe(void **state)
{
    (void)state;
    assert_true(ss_pickle_probe("\x80\x04\x95", 3));
    assert_true(ss_pickle_probe("\x80\x02}", 3));
    assert_true(ss_pickle_probe("\x80\x02"
                                "c",
                                3)); /* to be refused with a reason */
    assert_false(ss_pickle_probe("\x80\x02", 2));
    assert_false(ss_pickle_probe("\x80\x09}", 3));
    assert_false(ss_pickle_probe("PK\x03", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),     cmocka_unit_test(test_cut),
        cmocka_unit_test(test_protocol_4), cmocka_unit_test(test_shared),
        cmocka_unit_test(test_integers),   cmocka_unit_test(test_same_key),
        cmocka_unit_test(test_code),       cmocka_unit_test(test_broken),
        cmocka_unit_test(test_depth),      cmocka_unit_test(test_memory),
        cmocka_unit_test(test_probe)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
