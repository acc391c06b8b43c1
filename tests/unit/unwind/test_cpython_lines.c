/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "unwind/cpython_lines.h"

enum { CAPACITY = 32 };

static int32_t line_at(enum ss_line_format format, const void *table, size_t length, int32_t first,
                       int64_t offset)
{
    struct ss_line_entry entries[CAPACITY];
    size_t count = ss_lines_parse(format, table, length, first, entries, CAPACITY);
    assert_true(count <= CAPACITY);
    return ss_lines_find(entries, count, first, offset);
}

static void lnotab_is_followed(void **state)
{
    (void)state;
    static const uint8_t table[] = {4, 2, 2, 2, 4, 254, 4, 3};
    enum ss_line_format format = SS_LINES_NOTAB;
    assert_int_equal(line_at(format, table, sizeof table, 1, 0), 1);
    assert_int_equal(line_at(format, table, sizeof table, 1, 3), 1);
    assert_int_equal(line_at(format, table, sizeof table, 1, 4), 3);
    assert_int_equal(line_at(format, table, sizeof table, 1, 6), 5);
    assert_int_equal(line_at(format, table, sizeof table, 1, 8), 5);
    assert_int_equal(line_at(format, table, sizeof table, 1, 10), 3);
    assert_int_equal(line_at(format, table, sizeof table, 1, 14), 6);
    assert_int_equal(line_at(format, table, sizeof table, 1, 4000), 6);
}

static void lnotab_splits_long_jumps(void **state)
{
    (void)state;
    /* 300 lines in one step are (bytes, 127), (0, 127), (0, 46). */
    static const uint8_t table[] = {10, 127, 0, 127, 0, 46};
    assert_int_equal(line_at(SS_LINES_NOTAB, table, sizeof table, 7, 9), 7);
    assert_int_equal(line_at(SS_LINES_NOTAB, table, sizeof table, 7, 10), 307);
}

static void deltas_of_3_10_are_followed(void **state)
{
    (void)state;
    static const uint8_t table[] = {4, 0, 4, 2, 6, 128, 2, 255};
    enum ss_line_format format = SS_LINES_DELTAS;
    assert_int_equal(line_at(format, table, sizeof table, 10, 2), 10);
    assert_int_equal(line_at(format, table, sizeof table, 10, 4), 12);
    /* A range without a line belongs to the one before it. */
    assert_int_equal(line_at(format, table, sizeof table, 10, 8), 12);
    assert_int_equal(line_at(format, table, sizeof table, 10, 14), 11);
}

static void locations_of_3_11_are_followed(void **state)
{
    (void)state;
    static const uint8_t table[] = {
        0x80 | 15 << 3 | 1,                /* two units without a line */
        0x80 | 13 << 3 | 0, 4,             /* one unit, line + 2, no columns */
        0x80 | 11 << 3 | 2, 5,    9,       /* three units, line + 1, columns */
        0x80 | 0 << 3 | 0,  0x11,          /* one unit, same line, short form */
        0x80 | 14 << 3 | 0, 7,    0, 1, 2, /* one unit, line - 3, long form */
    };
    enum ss_line_format format = SS_LINES_LOCATIONS;
    assert_int_equal(line_at(format, table, sizeof table, 20, 0), 20);
    assert_int_equal(line_at(format, table, sizeof table, 20, 4), 22);
    assert_int_equal(line_at(format, table, sizeof table, 20, 6), 23);
    assert_int_equal(line_at(format, table, sizeof table, 20, 12), 23);
    assert_int_equal(line_at(format, table, sizeof table, 20, 14), 20);
}

static void an_offset_before_the_code_is_the_first_line(void **state)
{
    (void)state;
    static const uint8_t table[] = {0x80 | 13 << 3 | 7, 2};
    assert_int_equal(line_at(SS_LINES_LOCATIONS, table, sizeof table, 5, -2), 5);
    assert_int_equal(line_at(SS_LINES_LOCATIONS, table, 0, 5, 10), 5);
}

static void cut_tables_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    static const uint8_t table[] = {0x80 | 11 << 3 | 0, 0, 0, 0x80 | 13 << 3, 0x7f, 0x7f};
    for (size_t length = 0; length <= sizeof table; length++) {
        for (int format = SS_LINES_NOTAB; format <= SS_LINES_LOCATIONS; format++) {
            line_at((enum ss_line_format)format, table, length, 1, 100);
        }
    }
    assert_int_equal(line_at(SS_LINES_LOCATIONS, table, sizeof table, 1, 100), 2);
}

/* The byte after the table is not a part of it, whatever it has. */
static void half_a_pair_is_no_pair(void **state)
{
    (void)state;
    static const uint8_t table[] = {4, 2, 0, 50}, ranges[] = {4, 0, 4, 2, 4, 50};
    assert_int_equal(line_at(SS_LINES_NOTAB, table, 3, 1, 100), 3);
    assert_int_equal(line_at(SS_LINES_NOTAB, table, 4, 1, 100), 53);
    assert_int_equal(line_at(SS_LINES_DELTAS, ranges, 5, 1, 100), 3);
    assert_int_equal(line_at(SS_LINES_DELTAS, ranges, 6, 1, 100), 53);
}

static void entries_never_pass_the_capacity(void **state)
{
    (void)state;
    uint8_t table[256];
    struct ss_line_entry entries[4];
    memset(table, 1, sizeof table);
    assert_int_equal(ss_lines_parse(SS_LINES_NOTAB, table, sizeof table, 1, entries, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lnotab_is_followed),
        cmocka_unit_test(lnotab_splits_long_jumps),
        cmocka_unit_test(deltas_of_3_10_are_followed),
        cmocka_unit_test(locations_of_3_11_are_followed),
        cmocka_unit_test(an_offset_before_the_code_is_the_first_line),
        cmocka_unit_test(cut_tables_are_read_as_far_as_they_go),
        cmocka_unit_test(half_a_pair_is_no_pair),
        cmocka_unit_test(entries_never_pass_the_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
