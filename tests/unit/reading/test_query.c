/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in words. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/tables/overview.h"
#include "reading/query.h"

static struct ss_query_plan planned(struct ss_query query)
{
    struct ss_query_plan plan;
    struct ss_error err;
    if (ss_query_plan_tables(&query, &plan, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    return plan;
}

static void assert_refused(struct ss_query query, const char *part)
{
    struct ss_query_plan plan;
    struct ss_error err;
    assert_int_equal(ss_query_plan_tables(&query, &plan, &err), SS_E_USAGE);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not have \"%s\"", err.message, part);
    }
}

static void every_table_is_planned_with_its_own_defaults(void **state)
{
    (void)state;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        struct ss_query_plan plan =
            planned((struct ss_query){.table = kind->id, .columns = kind->columns});
        assert_ptr_equal(plan.kind, kind);
        assert_int_equal(plan.table.sort, kind->sort);
        assert_int_equal(plan.table.max_rows, 0);
        assert_int_equal(plan.selection.idle, kind->idle);
        assert_int_equal(plan.load.no_tracks, (kind->needs & SS_NEEDS_TRACKS) == 0);
        assert_int_equal(plan.selection.frameless, plan.load.sample_ranges);
    }
    assert_ptr_equal(planned((struct ss_query){0}).kind, &ss_overview);
}

static void every_choice_of_every_table_is_taken(void **state)
{
    (void)state;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        struct ss_query query = {.table = kind->id, .columns = kind->columns};
        for (size_t i = 0; kind->sorts != NULL && kind->sorts[i].word != NULL; i++) {
            query.sort = kind->sorts[i].word;
            assert_int_equal(planned(query).table.sort, kind->sorts[i].value);
        }
        query.sort = NULL;
        for (size_t i = 0; kind->groups != NULL && kind->groups[i].word != NULL; i++) {
            query.group = kind->groups[i].word;
            assert_int_equal(planned(query).table.grouping, kind->groups[i].value);
        }
    }
    struct ss_query_plan plan = planned((struct ss_query){.table = "range", .group = "path,name"});
    assert_int_equal(plan.table.grouping, 3);
}

static void what_a_table_has_no_use_for_is_refused(void **state)
{
    (void)state;
    assert_refused((struct ss_query){.table = "nope"}, "leaf, function, line");
    assert_refused((struct ss_query){.table = "phase", .sort = "self"}, "function");
    assert_refused((struct ss_query){.table = "op", .sort = "nope"}, "backward");
    assert_refused((struct ss_query){.table = "leaf", .group = "path"}, "range");
    assert_refused((struct ss_query){.table = "range", .group = "path,"}, "not \"\"");
    assert_refused((struct ss_query){.table = "leaf", .columns = "own"}, "op");
    assert_refused((struct ss_query){.table = "op", .columns = "nope"}, "nope");
    assert_refused((struct ss_query){.columns = "own"}, "overview");
    assert_refused((struct ss_query){.table = "op", .match = "x"}, "match");
    assert_refused((struct ss_query){.table = "op", .gil = true}, "gil");
    assert_refused((struct ss_query){.table = "line-time", .thread = "1"}, "thread");
    assert_refused((struct ss_query){.table = "op", .library_name = "x"}, "leaf");
    assert_refused((struct ss_query){.table = "leaf", .library_name = ""}, "empty");
    assert_refused(
        (struct ss_query){.table = "leaf", .library_name = "x", .library_substring = "y"},
        "library_substring");
    assert_refused((struct ss_query){.table = "leaf", .idle = "some"}, "none, main or all");
    assert_refused((struct ss_query){.table = "leaf", .has_min_percent = true}, "tree");
    assert_refused((struct ss_query){.table = "tree", .has_min_percent = true, .min_percent = NAN},
                   "0 to 100");
}

static void times_and_steps_exclude_each_other_and_are_in_order(void **state)
{
    (void)state;
    struct ss_query_plan plan = planned(
        (struct ss_query){.table = "step", .has_time = true, .from_s = 1.5, .to_s = INFINITY});
    assert_int_equal(plan.load.from_ns, 1500000000);
    assert_int_equal(plan.load.to_ns, UINT64_C(1000000000) * 1000000000);
    plan = planned((struct ss_query){.table = "step", .has_steps = true, .last_step = 3});
    assert_true(plan.load.has_steps && plan.table.steps.has_numbers);
    assert_int_equal(plan.table.steps.last, 3);
    assert_refused((struct ss_query){.has_time = true, .from_s = 2, .to_s = 2}, "begin and end");
    assert_refused((struct ss_query){.has_time = true, .from_s = NAN, .to_s = 2}, "begin and end");
    assert_refused((struct ss_query){.has_time = true, .from_s = -1, .to_s = 2}, "begin and end");
    assert_refused((struct ss_query){.has_steps = true, .first_step = 4, .last_step = 3}, "first");
    assert_refused((struct ss_query){.has_steps = true, .first_step = -1}, "from 0");
    assert_refused((struct ss_query){.has_steps = true, .has_time = true, .to_s = 1}, "exclude");
}

static void contents_are_planned_by_their_names(void **state)
{
    (void)state;
    struct ss_query query = {.process = "7"};
    struct ss_query_plan plan;
    struct ss_error err;
    for (const struct ss_row_kind *kind = ss_row_kinds; kind->id != NULL; kind++) {
        assert_int_equal(ss_query_plan_contents(&query, kind->id, &plan, &err), SS_OK);
        assert_ptr_equal(plan.contents, kind);
        assert_int_equal(plan.load.keep_samples, kind->needs_samples);
        assert_string_equal(plan.selection.process, "7");
    }
    assert_int_equal(ss_query_plan_contents(&query, "nope", &plan, &err), SS_E_USAGE);
    assert_non_null(strstr(err.message, "ranges, marks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_planned_with_its_own_defaults),
        cmocka_unit_test(every_choice_of_every_table_is_taken),
        cmocka_unit_test(what_a_table_has_no_use_for_is_refused),
        cmocka_unit_test(times_and_steps_exclude_each_other_and_are_in_order),
        cmocka_unit_test(contents_are_planned_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
