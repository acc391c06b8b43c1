/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of tables: what command line, help and loading rely on in every row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/tables/overview.h"
#include "analysis/tables/tables.h"

static void every_row_is_complete_and_found_by_its_id(void **state)
{
    (void)state;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        assert_non_null(kind->summary);
        assert_non_null(kind->build);
        assert_ptr_equal(ss_table_kind_find(kind->id, kind->columns), kind);
        assert_true(kind->tracks == NULL || (kind->needs & SS_NEEDS_TRACKS) != 0);
        assert_true((kind->needs & SS_NEEDS_STEPS) == 0 || (kind->needs & SS_NEEDS_TRACKS) != 0);
    }
    assert_null(ss_table_kind_find("nothing", NULL));
    assert_null(ss_table_kind_find("module", "key_averages"));
    assert_string_equal(ss_table_kind_find("op", NULL)->columns, "own");
}

static void the_default_order_can_be_asked_for(void **state)
{
    (void)state;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        const struct ss_table_choice *sort = kind->sorts;
        while (sort != NULL && sort->word != NULL && sort->value != kind->sort) {
            sort++;
        }
        assert_true(sort == NULL || sort->word != NULL);
    }
}

static void no_two_tables_have_one_place_on_the_page(void **state)
{
    bool is_taken[SS_PAGE_SECTIONS][SS_TABLES_MOST] = {{false}};
    (void)state;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        assert_true(kind->page.section < SS_PAGE_SECTIONS && kind->page.place < SS_TABLES_MOST);
        assert_true(kind->page.section != SS_PAGE_NONE || kind->page.place == 0);
        bool *taken = &is_taken[kind->page.section][kind->page.place];
        assert_false(*taken);
        *taken = kind->page.place != 0;
    }
}

static void a_table_loads_what_it_needs_and_no_more(void **state)
{
    (void)state;
    struct ss_table_options options = {0};
    struct ss_model_load load = {0};
    ss_table_kind_load(ss_table_kind_find("function", NULL), &options, &load);
    assert_true(load.no_tracks && !load.sample_phases && !load.sample_ranges && !load.keep_lines);
    ss_table_kind_load(ss_table_kind_find("leaf", NULL), &options, &load);
    assert_true(load.no_tracks && load.keep_lines);
    options.leaf.aggregate = true;
    ss_table_kind_load(ss_table_kind_find("leaf", NULL), &options, &load);
    assert_false(load.keep_lines);
    ss_table_kind_load(ss_table_kind_find("range", NULL), &options, &load);
    assert_true(!load.no_tracks && load.only_tracks == NULL && !load.sample_phases);
    ss_table_kind_load(ss_table_kind_find("op", NULL), &options, &load);
    assert_true(load.sample_phases && load.max_operators > 0);
    assert_string_equal(load.only_tracks[0], "torch");
    ss_table_kind_load(ss_table_kind_find("sample-range", NULL), &options, &load);
    assert_true(load.sample_ranges && load.only_tracks == NULL && load.max_operators == 0);
    ss_table_kind_load(&ss_overview, &options, &load);
    assert_true(load.sample_phases && load.only_tracks != NULL);
    ss_table_kind_load(&ss_overview_of_ranges, &options, &load);
    assert_null(load.only_tracks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete_and_found_by_its_id),
        cmocka_unit_test(the_default_order_can_be_asked_for),
        cmocka_unit_test(no_two_tables_have_one_place_on_the_page),
        cmocka_unit_test(a_table_loads_what_it_needs_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
