/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rank_selection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WORLD = 24, PER_NODE = 8 };

/* A rank of 24 on three nodes. */
static struct ss_rank_facts facts_of(uint32_t rank)
{
    return (struct ss_rank_facts){
        .has = {[SS_RANK] = true, [SS_LOCAL_RANK] = true, [SS_LOCAL_WORLD_SIZE] = true},
        .numbers = {
            [SS_RANK] = rank, [SS_LOCAL_RANK] = rank % PER_NODE, [SS_LOCAL_WORLD_SIZE] = PER_NODE}};
}

static const struct row {
    const char *text;
    uint32_t most;
    const char *ranks; /* that are selected */
    uint32_t first;    /* that speaks for the run */
} rows[] = {
    {"0", 0, "0 ", 0},
    {"3,8-10", 0, "3 8 9 10 ", 3},
    {"7-7", 0, "7 ", 7},
    {"local0", 0, "0 8 16 ", 0},
    {"local6-7", 0, "6 7 14 15 22 23 ", 6},
    {"every:10", 0, "0 10 20 ", 0},
    {"1,local0,every:20", 0, "0 1 8 16 20 ", 0},
    {"all", 3, "0 1 2 ", 0},
    {"5-20", 2, "5 6 ", 5},
    {"local0", 2, "0 8 ", 0},
    {"every:8", 2, "0 8 ", 0},
    {"", 1, "0 ", 0},
};

static void test_which_ranks_are_selected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ss_rank_selection selection;
        char selected[128] = "";
        assert_int_equal(ss_rank_selection_parse(rows[i].text, &selection, NULL), SS_OK);
        selection.most = rows[i].most;
        for (uint32_t rank = 0; rank < WORLD; rank++) {
            struct ss_rank_facts facts = facts_of(rank);
            size_t used = strlen(selected);
            bool has = ss_rank_selection_has(&selection, &facts);
            if (has) {
                snprintf(selected + used, sizeof selected - used, "%u ", rank);
            }
            if (ss_rank_selection_is_by_number(&selection)) {
                assert_int_equal(has, ss_rank_selection_has_number(&selection, rank));
            }
            bool is_first = ss_rank_selection_is_first(&selection, &facts);
            if (is_first != (rank == rows[i].first)) {
                fail_msg("%s: rank %u", rows[i].text, rank);
            }
        }
        assert_string_equal(selected, rows[i].ranks);
    }
}

static void test_nodes_by_number_come_before_those_by_size(void **state)
{
    (void)state;
    struct ss_rank_selection selection;
    struct ss_rank_facts facts = facts_of(1);
    assert_int_equal(ss_rank_selection_parse("local1", &selection, NULL), SS_OK);
    assert_true(ss_rank_selection_is_first(&selection, &facts));
    facts.has[SS_NODE] = true; /* srun --distribution=cyclic */
    facts.numbers[SS_NODE] = 1;
    assert_false(ss_rank_selection_is_first(&selection, &facts));
    assert_false(ss_rank_selection_is_by_number(&selection));
}

static void test_what_is_no_selection(void **state)
{
    (void)state;
    static const char *const bad[] = {"x",      ",",     "1,",      "3-1",   "every:0",
                                      "every:", "local", "local-1", "-1",    "1-",
                                      "0x10",   "1 2",   "1,local", "all,1", "99999999999"};
    struct ss_rank_selection selection;
    struct ss_error err;
    char many[400] = "0";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (ss_rank_selection_parse(bad[i], &selection, &err) != SS_E_USAGE) {
            fail_msg("\"%s\" is accepted", bad[i]);
        }
    }
    for (int i = 0; i < SS_RANK_SELECTION_ITEMS; i++) {
        strncat(many, ",1", sizeof many - strlen(many) - 1);
    }
    assert_int_equal(ss_rank_selection_parse(many, &selection, &err), SS_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_ranks_are_selected),
        cmocka_unit_test(test_nodes_by_number_come_before_those_by_size),
        cmocka_unit_test(test_what_is_no_selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
