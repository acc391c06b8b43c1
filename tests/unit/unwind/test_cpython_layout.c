/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "unwind/cpython_layout.h"

enum { FIRST = 0x0308, LAST = 0x030f, FREE_THREADED_FROM = 0x030d, FLAVOURS = 4 };

/* Which of the four builds of a version a table is of. */
static int flavour_of(const struct ss_cpython_layout *table)
{
    return table->is_debug + 2 * table->is_free_threaded;
}

static void every_table_is_tried_once(void **state)
{
    (void)state;
    int seen[LAST - FIRST + 1][FLAVOURS] = {{0}};
    for (const struct ss_cpython_layout *table = ss_cpython_layout_next(NULL, 0); table != NULL;
         table = ss_cpython_layout_next(table, 0)) {
        assert_in_range(table->version, FIRST, LAST);
        seen[table->version - FIRST][flavour_of(table)]++;
    }
    for (int version = FIRST; version <= LAST; version++) {
        for (int flavour = 0; flavour < FLAVOURS; flavour++) {
            bool exists = flavour < 2 || version >= FREE_THREADED_FROM;
            assert_int_equal(seen[version - FIRST][flavour], exists);
        }
    }
}

static void a_version_has_its_own_tables_alone(void **state)
{
    (void)state;
    for (uint16_t version = FIRST; version <= LAST; version++) {
        int count = 0;
        for (const struct ss_cpython_layout *table = ss_cpython_layout_next(NULL, version);
             table != NULL; table = ss_cpython_layout_next(table, version)) {
            assert_int_equal(table->version, version);
            count++;
        }
        assert_int_equal(count, version >= FREE_THREADED_FROM ? 4 : 2);
    }
    assert_null(ss_cpython_layout_next(NULL, FIRST - 1));
    assert_null(ss_cpython_layout_next(NULL, LAST + 1));
}

static void each_build_has_its_table(void **state)
{
    (void)state;
    for (uint16_t version = FIRST; version <= LAST; version++) {
        for (int flavour = 0; flavour < FLAVOURS; flavour++) {
            const struct ss_cpython_layout *table =
                ss_cpython_layout_get(version, (flavour & 1) != 0, (flavour & 2) != 0);
            if (flavour >= 2 && version < FREE_THREADED_FROM) {
                assert_null(table);
                continue;
            }
            assert_int_equal(table->version, version);
            assert_int_equal(flavour_of(table), flavour);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_tried_once),
        cmocka_unit_test(a_version_has_its_own_tables_alone),
        cmocka_unit_test(each_build_has_its_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
