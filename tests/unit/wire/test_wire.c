/* SPDX-License-Identifier: Apache-2.0 */
/* Varints, fields, nesting, checksums and deflate against known values and hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "wire/crc32c.h"
#include "wire/deflate.h"
#include "wire/proto.h"

static void test_varints(void **state)
{
    (void)state;
    static const uint64_t values[] = {0,
                                      1,
                                      127,
                                      128,
                                      300,
                                      16383,
                                      16384,
                                      UINT32_MAX,
                                      UINT64_C(1) << 35,
                                      INT64_MAX,
                                      UINT64_C(1) << 63,
                                      UINT64_MAX};
    static const size_t lengths[] = {1, 1, 1, 2, 2, 2, 3, 5, 6, 9, 10, 10};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uint8_t bytes[SS_WIRE_MAX_VARINT];
        size_t length = (size_t)(ss_wire_encode_varint(bytes, values[i]) - bytes);
        assert_int_equal(length, lengths[i]);
        struct ss_wire_cursor cursor = ss_wire_cursor_of(bytes, length);
        uint64_t value = 0;
        assert_true(ss_wire_get_varint(&cursor, &value));
        assert_int_equal(value, values[i]);
        assert_ptr_equal(cursor.at, cursor.end);
        for (size_t cut = 0; cut < length; cut++) { /* no prefix is a number */
            cursor = ss_wire_cursor_of(bytes, cut);
            assert_false(ss_wire_get_varint(&cursor, &value));
        }
    }
    static const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    struct ss_wire_cursor cursor = ss_wire_cursor_of(too_long, sizeof too_long);
    uint64_t value;
    assert_false(ss_wire_get_varint(&cursor, &value)); /* 65 bits */
}

static void test_zigzag(void **state)
{
    (void)state;
    static const int64_t values[] = {0, -1, 1, -2, 2147483647, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(ss_wire_unzigzag(ss_wire_zigzag(values[i])) == values[i]);
    }
    assert_int_equal(ss_wire_zigzag(-1), 1);
    assert_int_equal(ss_wire_zigzag(1), 2);
}

/* A nested message of every length around the points where its prefix grows. */
static void test_nested_lengths(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 126, 127, 128, 129, 16383, 16384, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct ss_wire_buffer buffer = {0};
        uint8_t *content = ss_alloc_zero(lengths[i] + 1, 1);
        memset(content, 0x5a, lengths[i]);
        size_t outer = ss_wire_begin(&buffer, 7);
        size_t inner = ss_wire_begin(&buffer, 300);
        ss_wire_put_raw(&buffer, content, lengths[i]);
        ss_wire_end(&buffer, inner);
        ss_wire_put_fixed32(&buffer, 2, 0x01020304);
        ss_wire_end(&buffer, outer);

        struct ss_wire_cursor cursor = ss_wire_cursor_of(buffer.data, buffer.length);
        struct ss_wire_field field;
        assert_int_equal(ss_wire_next(&cursor, &field), SS_WIRE_FIELD);
        assert_int_equal(field.number, 7);
        assert_int_equal(ss_wire_next(&cursor, &(struct ss_wire_field){0}), SS_WIRE_END);
        struct ss_wire_cursor body = field.body;
        assert_int_equal(ss_wire_next(&body, &field), SS_WIRE_FIELD);
        assert_int_equal(field.number, 300);
        assert_int_equal(field.value, lengths[i]);
        assert_memory_equal(field.body.at, content, lengths[i]);
        assert_int_equal(ss_wire_next(&body, &field), SS_WIRE_FIELD);
        assert_int_equal(field.type, SS_WIRE_FIXED32);
        assert_int_equal(field.value, 0x01020304);
        assert_int_equal(ss_wire_next(&body, &field), SS_WIRE_END);
        ss_free(content);
        ss_wire_fini(&buffer);
    }
}

static void test_malformed_fields(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"\x00", 1}, /* field number 0 */
        {"\x0a\x05"
         "abc",
         5},                                                  /* bytes behind the end */
        {"\x0d\x01\x02", 3},                                  /* half a fixed32 */
        {"\x09\x01", 2},                                      /* half a fixed64 */
        {"\x0b", 1},                                          /* a group */
        {"\x0f", 1},                                          /* no such type */
        {"\x08", 1},                                          /* no value */
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* a length of 2^64 - 1 */
        {"\xff\xff\xff\xff\xff\x01", 6},                      /* a field number beyond 32 bits */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_wire_cursor cursor = ss_wire_cursor_of(cases[i].bytes, cases[i].length);
        struct ss_wire_field field;
        assert_int_equal(ss_wire_next(&cursor, &field), SS_WIRE_MALFORMED);
    }
}

/* RFC 3720, B.4. */
static void test_crc32c(void **state)
{
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(ss_crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(ss_crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(ss_crc32c(0, bytes, sizeof bytes), 0x46dd794e);
    assert_int_equal(ss_crc32c_portable(0, bytes, sizeof bytes), 0x46dd794e);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) { /* in two pieces, and both versions */
        uint32_t first = ss_crc32c(0, bytes, cut);
        assert_int_equal(first, ss_crc32c_portable(0, bytes, cut));
        assert_int_equal(ss_crc32c(first, bytes + cut, sizeof bytes - cut), 0x46dd794e);
    }
}

static void test_deflate(void **state)
{
    (void)state;
    enum { LENGTH = 300000 };
    uint8_t *bytes = ss_alloc(LENGTH);
    for (size_t i = 0; i < LENGTH; i++) {
        bytes[i] = (uint8_t)(i * i >> 7);
    }
    struct ss_deflater *deflater = ss_deflater_new();
    struct ss_inflater *inflater = ss_inflater_new();
    for (int level = 1; level <= 9; level += 4) {
        struct ss_wire_buffer packed = {0}, plain = {0};
        assert_true(ss_deflate(deflater, level, level % 2 == 0, bytes, LENGTH, &packed));
        assert_true(packed.length < LENGTH);
        assert_int_equal(ss_inflate(inflater, packed.data, packed.length, LENGTH + 1, &plain),
                         SS_INFLATE_OK);
        assert_int_equal(plain.length, LENGTH);
        assert_memory_equal(plain.data, bytes, LENGTH);
        assert_int_equal(ss_inflate(inflater, packed.data, packed.length, LENGTH - 1, &plain),
                         SS_INFLATE_TOO_LARGE);
        assert_true(plain.capacity <= 4 * (size_t)LENGTH);
        assert_int_equal(ss_inflate(inflater, packed.data, packed.length - 1, LENGTH + 1, &plain),
                         SS_INFLATE_CORRUPT);
        packed.data[packed.length / 2] ^= 0xff;
        assert_int_not_equal(ss_inflate(inflater, packed.data, packed.length, LENGTH + 1, &plain),
                             SS_INFLATE_OK);
        ss_wire_fini(&packed);
        ss_wire_fini(&plain);
    }
    ss_deflater_free(deflater);
    ss_inflater_free(inflater);
    ss_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints),        cmocka_unit_test(test_zigzag),
        cmocka_unit_test(test_nested_lengths), cmocka_unit_test(test_malformed_fields),
        cmocka_unit_test(test_crc32c),         cmocka_unit_test(test_deflate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
