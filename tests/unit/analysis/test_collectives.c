/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../rank_builder.h"
#include "analysis/ranks/collective_table.h"
#include "analysis/ranks/rank_waits.h"
#include "table_checks.h"

#define MS UINT64_C(1000000)

enum { MOST_RANKS = 4 };

/* A call of one rank; times in ms. */
struct call {
    unsigned rank;
    const char *group;
    int64_t sequence;
    unsigned begin, end;
    const char *name;
};

struct made {
    struct ss_model model;
    struct ss_selection selection;
    const struct ss_collectives *collectives;
    const struct ss_blame *blame;
    struct ss_wait_scope scope;
    struct ss_wait_sums waits;
    uint32_t ranks[MOST_RANKS];
};

static void add_calls(struct made *made, unsigned rank, const struct call *calls, size_t count)
{
    uint32_t track = build_collective_track(&made->model, made->ranks[rank]);
    for (size_t i = 0; i < count; i++) {
        if (calls[i].rank == rank) {
            BUILD_COLLECTIVE(&made->model, .track = track, .name = calls[i].name,
                             .group = calls[i].group, .sequence = calls[i].sequence,
                             .begin_ns = calls[i].begin * MS, .end_ns = calls[i].end * MS,
                             .bytes = 4096);
        }
    }
}

static void begin(struct made *made, unsigned ranks, const struct call *calls, size_t count)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned i = 0; i < ranks; i++) {
        made->ranks[i] = build_rank(&made->model, i, ranks);
        add_calls(made, i, calls, count);
    }
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
}

static void find(struct made *made)
{
    made->collectives = ss_selection_collectives(&made->selection);
    made->blame = ss_selection_blame(&made->selection);
    made->scope = (struct ss_wait_scope){.blame = made->blame};
    ss_wait_sums_init(&made->waits, &made->scope, &made->model);
}

/* The process that caused most. */
static uint32_t most(const struct made *made)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < made->model.processes.count; i++) {
        most = made->waits.ranks[i].caused_ns > made->waits.ranks[most].caused_ns ? i : most;
    }
    return most;
}

static uint64_t caused_by_all(const struct made *made)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < made->model.processes.count; i++) {
        sum_ns += made->waits.ranks[i].caused_ns;
    }
    return sum_ns;
}

static void end(struct made *made)
{
    ss_wait_sums_fini(&made->waits);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

#define BEGIN(made, ranks, calls) begin(made, ranks, calls, sizeof(calls) / sizeof *(calls))

static void calls_match_by_group_and_number(void **state)
{
    (void)state;
    /* Rank 1 has other calls in between; times alone would match others. */
    static const struct call calls[] = {
        {0, "a", 7, 10, 31, NULL}, {0, "a", 8, 40, 62, NULL}, {1, "b", 7, 11, 13, NULL},
        {1, "a", 7, 30, 31, NULL}, {1, "a", 8, 60, 62, NULL},
    };
    struct made made;
    BEGIN(&made, 2, calls);
    find(&made);
    assert_int_equal(made.collectives->rows.count, 2);
    assert_int_equal(made.collectives->ranks, 2);
    assert_int_equal(made.collectives->unmatched, 1);
    const struct ss_collective *row = &made.collectives->rows.data[0];
    assert_int_equal(row->last, made.ranks[1]);
    assert_int_equal(row->first_ns, 10 * MS);
    assert_int_equal(row->last_ns, 30 * MS);
    assert_int_equal(row->wait_ns, 20 * MS);
    assert_int_equal(row->first_end_ns - row->last_ns, 1 * MS);
    assert_int_equal(row->error_ns, 0);
    assert_true(ss_collective_is_resolved(row));
    assert_int_equal(most(&made), made.ranks[1]);
    assert_int_equal(made.waits.ranks[made.ranks[1]].caused_ns, 40 * MS);
    assert_int_equal(made.waits.ranks[made.ranks[0]].waited_ns, 40 * MS);
    assert_int_equal(made.waits.ranks[made.ranks[1]].times_last, 2);
    end(&made);
}

static void the_last_is_blamed_for_what_it_is_behind_the_second(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {0, "a", 1, 10, 41, NULL}, {1, "a", 1, 25, 41, NULL}, {2, "a", 1, 40, 41, NULL}};
    struct made made;
    BEGIN(&made, 3, calls);
    find(&made);
    const struct ss_rank_waits *waits = made.waits.ranks;
    assert_int_equal(waits[made.ranks[2]].caused_ns, 2 * 15 * MS);
    assert_int_equal(waits[made.ranks[0]].waited_ns, 30 * MS);
    assert_int_equal(waits[made.ranks[1]].waited_ns, 15 * MS);
    assert_int_equal(waits[made.ranks[1]].caused_ns, 0);
    end(&made);
}

/* Rank 0 is slow; rank 1 waits for it in their group, and so comes late to rank 2 and rank 3. */
static const struct call victims[] = {
    {0, "tp", 1, 10, 11, NULL}, {0, "tp", 2, 40, 41, NULL}, {1, "tp", 1, 10, 11, NULL},
    {1, "dp", 1, 12, 14, NULL}, {1, "tp", 2, 20, 41, NULL}, {1, "dp", 2, 43, 45, NULL},
    {2, "dp", 1, 12, 14, NULL}, {2, "dp", 2, 22, 45, NULL}, {3, "dp", 1, 12, 14, NULL},
    {3, "dp", 2, 22, 45, NULL},
};

static void a_victim_is_not_blamed(void **state)
{
    (void)state;
    struct made made;
    BEGIN(&made, 4, victims);
    find(&made);
    const struct ss_rank_waits *waits = made.waits.ranks;
    assert_int_equal(made.collectives->rows.count, 4);
    assert_int_equal(made.collectives->rows.data[3].last, made.ranks[1]);
    assert_int_equal(made.blame->rows[3].cause, made.ranks[0]);
    assert_int_equal(most(&made), made.ranks[0]);
    /* Behind the others by 21 ms, of which it waited 20 ms itself. */
    assert_int_equal(waits[made.ranks[1]].passed_on_ns, 2 * 20 * MS);
    assert_int_equal(waits[made.ranks[1]].caused_ns, 2 * 1 * MS);
    assert_int_equal(waits[made.ranks[0]].caused_ns, 20 * MS + 2 * 20 * MS);
    end(&made);
}

/* Rank 0 makes rank 1 late for the collective of all three; it is there before rank 1, and waits
 * for itself. */
static void a_rank_does_not_wait_for_itself(void **state)
{
    (void)state;
    static const struct call calls[] = {{0, "all", 1, 10, 11, NULL}, {1, "all", 1, 10, 11, NULL},
                                        {2, "all", 1, 10, 11, NULL}, {0, "two", 1, 40, 41, NULL},
                                        {1, "two", 1, 20, 41, NULL}, {0, "all", 2, 42, 51, NULL},
                                        {1, "all", 2, 50, 51, NULL}, {2, "all", 2, 15, 51, NULL}};
    struct made made;
    BEGIN(&made, 3, calls);
    find(&made);
    const struct ss_blamed *blamed = &made.blame->rows[2];
    assert_int_equal(blamed->cause, made.ranks[0]);
    assert_int_equal(blamed->through_ns, 8 * MS); /* 50 - 42, of which it waited all */
    assert_int_equal(made.waits.ranks[made.ranks[0]].caused_ns, (20 + 8) * MS);
    uint64_t on[MOST_RANKS + 1] = {0};
    ss_rank_waits_for(&made.scope, made.ranks[0], on);
    assert_int_equal(on[made.ranks[0]], 0);
    assert_int_equal(on[made.ranks[1]], 20 * MS);
    assert_int_equal(on[made.ranks[2]], 8 * MS);
    end(&made);
}

static void nothing_is_said_below_the_resolution(void **state)
{
    (void)state;
    static const struct call calls[] = {{0, "a", 1, 10, 33, NULL},
                                        {1, "a", 1, 30, 33, NULL},
                                        {0, "a", 2, 50, 63, NULL},
                                        {1, "a", 2, 62, 63, NULL}};
    struct made made;
    BEGIN(&made, 2, calls);
    build_clock(&made.model, made.ranks[0], SS_CLOCK_IS_AXIS, 5 * MS);
    build_clock(&made.model, made.ranks[1], SS_CLOCK_BY_SHARED_WALL, 10 * MS);
    find(&made);
    const struct ss_collective *rows = made.collectives->rows.data;
    assert_int_equal(rows[0].error_ns, 15 * MS);
    assert_true(ss_collective_is_resolved(&rows[0]));
    assert_false(ss_collective_is_resolved(&rows[1]));
    assert_int_equal(made.waits.unresolved, 1);
    assert_int_equal(made.waits.ranks[made.ranks[1]].caused_ns, 20 * MS);
    assert_int_equal(made.waits.ranks[made.ranks[0]].waited_ns, 20 * MS);
    static const struct ss_step_summary no_steps;
    struct ss_table table;
    ss_collective_table(&made.selection, &no_steps, 0, &table);
    assert_int_equal(table.row_count, 2);
    assert_int_equal(ss_table_cell(&table, 0, SS_COLLECTIVE_LAST_RANK)->integer, 1);
    assert_int_equal(ss_table_cell(&table, 0, SS_COLLECTIVE_BYTES)->integer, 4096);
    assert_int_equal(ss_table_cell(&table, 1, SS_COLLECTIVE_LAST_RANK)->type, SS_CELL_ABSENT);
    assert_true(ss_strview_equal(ss_table_cell(&table, 1, SS_COLLECTIVE_NOTE)->text,
                                 ss_strview_of("below resolution")));
    ss_table_fini(&table);
    end(&made);
}

static void a_collective_without_all_ranks_blames_none(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {0, "a", 1, 10, 31, NULL}, {1, "a", 1, 20, 31, NULL}, {2, "a", 1, 30, 31, NULL},
        {0, "a", 2, 40, 61, NULL}, {1, "a", 2, 50, 61, NULL}, /* rank 2 was cut off */
    };
    struct made made;
    BEGIN(&made, 3, calls);
    find(&made);
    assert_true(made.collectives->rows.data[0].is_whole);
    assert_false(made.collectives->rows.data[1].is_whole);
    assert_int_equal(made.waits.unresolved, 1);
    assert_int_equal(made.waits.ranks[made.ranks[1]].caused_ns, 0);
    assert_int_equal(made.waits.ranks[made.ranks[2]].caused_ns, 2 * 10 * MS);
    end(&made);
}

static void a_number_that_a_rank_has_twice_is_not_matched(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {0, "a", 1, 10, 12, NULL}, {0, "a", 1, 30, 32, NULL}, {1, "a", 1, 11, 12, NULL}};
    struct made made;
    BEGIN(&made, 2, calls);
    find(&made);
    assert_int_equal(made.collectives->rows.count, 0);
    assert_int_equal(made.collectives->unmatched, 3);
    end(&made);
}

static void an_end_before_an_arrival_is_counted_and_left_out(void **state)
{
    (void)state;
    static const struct call calls[] = {{0, "a", 1, 10, 12, NULL}, {1, "a", 1, 30, 32, NULL}};
    struct made made;
    BEGIN(&made, 2, calls);
    find(&made);
    assert_int_equal(made.collectives->violated, 1);
    assert_int_equal(caused_by_all(&made), 0);
    assert_int_equal(made.waits.ranks[made.ranks[0]].waited_ns, 0);
    end(&made);
}

static void without_numbers_the_order_matches(void **state)
{
    (void)state;
    static const struct call calls[] = {{0, NULL, 0, 10, 21, "gloo:all_gather"},
                                        {0, NULL, 0, 30, 51, "gloo:all_reduce"},
                                        {1, NULL, 0, 20, 21, "gloo:all_gather"},
                                        {1, NULL, 0, 50, 51, "gloo:all_reduce"}};
    static const struct call others[] = {{0, NULL, 0, 10, 21, "gloo:all_gather"},
                                         {0, NULL, 0, 30, 51, "gloo:all_reduce"},
                                         {1, NULL, 0, 20, 21, "gloo:all_reduce"},
                                         {1, NULL, 0, 50, 51, "gloo:all_gather"}};
    struct made made;
    BEGIN(&made, 2, calls);
    find(&made);
    assert_int_equal(made.collectives->rows.count, 2);
    assert_int_equal(made.waits.ranks[made.ranks[1]].caused_ns, 30 * MS);
    end(&made);
    BEGIN(&made, 2, others);
    find(&made);
    assert_int_equal(made.collectives->rows.count, 0);
    assert_int_equal(made.collectives->unmatched, 4);
    end(&made);
}

static void sends_and_queued_calls_are_no_collectives(void **state)
{
    (void)state;
    static const struct call calls[] = {{0, "a", 1, 10, 21, "gloo:send"},
                                        {1, "a", 1, 20, 21, "gloo:recv"},
                                        {0, "a", 2, 30, 31, "nccl:all_reduce"},
                                        {1, "a", 2, 30, 31, "nccl:all_reduce"}};
    struct made made;
    BEGIN(&made, 2, calls);
    find(&made);
    assert_int_equal(made.collectives->calls.rows.count, 0);
    end(&made);
}

static void a_broadcast_makes_none_wait(void **state)
{
    (void)state;
    static const struct call calls[] = {{0, "a", 1, 10, 12, "gloo:broadcast"},
                                        {1, "a", 1, 30, 32, "gloo:broadcast"}};
    struct made made;
    BEGIN(&made, 2, calls);
    find(&made);
    assert_int_equal(made.collectives->rows.count, 1);
    assert_int_equal(made.collectives->violated, 0);
    assert_int_equal(caused_by_all(&made), 0);
    assert_int_equal(made.waits.ranks[made.ranks[0]].waited_ns, 0);
    end(&made);
}

enum { TRAINED_STEPS = 12, IN_A_STEP = 7 };

/* Rank 1 is late for the first collective of each step; for the others both come at once. */
static void a_rank_that_is_late_once_in_each_step(void **state)
{
    (void)state;
    struct call calls[2 * TRAINED_STEPS * IN_A_STEP];
    struct made made;
    size_t count = 0;
    for (unsigned rank = 0; rank < 2; rank++) {
        for (unsigned i = 0; i < TRAINED_STEPS * IN_A_STEP; i++) {
            unsigned begin = 100 * i + (i % IN_A_STEP == 0 ? 30 * rank : i % 2 == rank);
            calls[count++] = (struct call){rank, "dp", i, begin, 100 * i + 40, NULL};
        }
    }
    begin(&made, 2, calls, count);
    find(&made);
    uint32_t late = made.ranks[1];
    struct ss_wait_excess alone = ss_wait_excess_of(&made.scope, late, 2);
    assert_true(alone.ns < 2 * alone.error_ns);
    struct ss_collective_step steps[TRAINED_STEPS * IN_A_STEP];
    for (size_t i = 0; i < made.collectives->rows.count; i++) {
        steps[i] = (struct ss_collective_step){true, (int64_t)(i / IN_A_STEP)};
    }
    made.scope.steps = steps;
    struct ss_wait_excess excess = ss_wait_excess_of(&made.scope, late, 2);
    assert_int_equal(most(&made), late);
    assert_float_equal(excess.ns, IN_A_STEP * alone.ns, 1);
    assert_true(excess.ns > 10 * excess.error_ns);
    end(&made);
}

/* Buckets of gradients: rank 0 has queued all of them when rank 1 comes, 30 ms behind. */
static void collectives_at_once_make_a_rank_wait_once(void **state)
{
    (void)state;
    static const struct call calls[] = {{0, "a", 1, 10, 42, NULL}, {0, "a", 2, 12, 44, NULL},
                                        {0, "a", 3, 14, 46, NULL}, {1, "a", 1, 40, 42, NULL},
                                        {1, "a", 2, 42, 44, NULL}, {1, "a", 3, 44, 46, NULL},
                                        {0, "a", 4, 60, 72, NULL}, {1, "a", 4, 70, 72, NULL}};
    struct made made;
    BEGIN(&made, 2, calls);
    find(&made);
    assert_int_equal(made.collectives->rows.count, 4);
    assert_int_equal(made.waits.ranks[made.ranks[0]].waited_ns, (34 + 10) * MS);
    assert_int_equal(made.waits.ranks[made.ranks[1]].caused_ns, (34 + 10) * MS);
    assert_int_equal(made.waits.ranks[made.ranks[1]].times_last, 4);
    end(&made);
}

static void table_collective(void **state)
{
    (void)state;
    static const struct call calls[] = {
        {0, "a", 1, 10, 41, NULL}, {1, "a", 1, 25, 41, NULL}, {2, "a", 1, 40, 41, NULL}};
    struct made made;
    struct built_tables built;
    BEGIN(&made, 3, calls);
    find(&made);
    build_tables(&built, "collective", NULL, &made.selection, NULL);
    assert_int_equal(built.tables[0].row_count, 1);
    check_cells(&built.tables[0], 0,
                "group=a; sequence=1; ranks=3; last_rank=2; last_pid=102; skew_ns=30000000; "
                "last_behind_ns=15000000; transfer_ns=1000000; clock_error_ns=0; bytes=4096");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_match_by_group_and_number),
        cmocka_unit_test(the_last_is_blamed_for_what_it_is_behind_the_second),
        cmocka_unit_test(a_victim_is_not_blamed),
        cmocka_unit_test(a_rank_does_not_wait_for_itself),
        cmocka_unit_test(a_rank_that_is_late_once_in_each_step),
        cmocka_unit_test(nothing_is_said_below_the_resolution),
        cmocka_unit_test(a_collective_without_all_ranks_blames_none),
        cmocka_unit_test(a_number_that_a_rank_has_twice_is_not_matched),
        cmocka_unit_test(an_end_before_an_arrival_is_counted_and_left_out),
        cmocka_unit_test(without_numbers_the_order_matches),
        cmocka_unit_test(a_broadcast_makes_none_wait),
        cmocka_unit_test(sends_and_queued_calls_are_no_collectives),
        cmocka_unit_test(collectives_at_once_make_a_rank_wait_once),
        cmocka_unit_test(table_collective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
