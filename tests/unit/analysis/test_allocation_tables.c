/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of allocations, of a training whose allocations are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocation_builder.h"
#include "table_checks.h"

static void test_table(void **state)
{
    struct program program;
    struct ss_table table;
    (void)state;
    begin(&program);
    add_training(&program);
    analyse(&program);
    struct ss_allocation_options options = {.only_peak = true};
    ss_allocations_table(&program.allocations, &program.training, &options, &table);
    assert_int_equal(table.row_count, 6);
    uint64_t sum = 0;
    for (size_t i = 0; i < table.row_count; i++) {
        const struct ss_cell *cells = ss_table_cell(&table, i, 0);
        assert_memory_equal(cells[SS_ALLOCATION_DEVICE].text.data, "GPU 0", 5);
        sum += (uint64_t)cells[SS_ALLOCATION_PEAK].integer;
    }
    assert_int_equal(sum, ss_allocation_pool_peak(&program.allocations.pools.data[0])->allocated);
    const struct ss_cell *first = ss_table_cell(&table, 0, 0);
    assert_memory_equal(first[SS_ALLOCATION_CATEGORY_NAME].text.data, "optimizer state", 15);
    assert_int_equal(first[SS_ALLOCATION_PEAK].integer, 8000);
    assert_int_equal(first[SS_ALLOCATION_PEAK_COUNT].integer, 1);
    ss_table_fini(&table);

    options = (struct ss_allocation_options){
        .grouping = SS_ALLOCATIONS_BY_PHASE, .sort = SS_ALLOCATIONS_SORT_TOTAL, .max_rows = 2};
    ss_allocations_table(&program.allocations, &program.training, &options, &table);
    assert_int_equal(table.row_count, 2);
    assert_int_equal(table.hidden_rows, 3);
    first = ss_table_cell(&table, 0, 0);
    assert_memory_equal(first[SS_ALLOCATION_PHASE].text.data, "backward", 8);
    assert_int_equal(first[SS_ALLOCATION_BYTES].integer, 8200);
    assert_int_equal(first[SS_ALLOCATION_COUNT].integer, 3);
    ss_table_fini(&table);
    end(&program);
}

static void test_no_events(void **state)
{
    struct program program;
    struct ss_table table;
    (void)state;
    begin(&program);
    assert_false(ss_model_has_allocations(&program.model));
    analyse(&program);
    assert_int_equal(program.allocations.pools.count, 0);
    ss_allocation_pools_table(&program.allocations, &program.training, &table);
    assert_int_equal(table.row_count, 0);
    ss_table_fini(&table);
    end(&program);
}

/* Alive at the peak of 17592 bytes: momentum, a parameter and a gradient, two activations. */
static void table_allocation(void **state)
{
    struct program program;
    struct built_tables built;
    (void)state;
    begin(&program);
    add_training(&program);
    analyse(&program);
    build_tables(&built, "allocation", NULL, &program.selection, &program.training);
    assert_int_equal(built.tables[0].row_count, 8);
    check_cells(&built.tables[0], 0,
                "device=GPU 0; pid=42; category=optimizer state; peak_bytes=8000; "
                "share_percent=45.4752; peak_count=1; allocated_bytes=8000; allocations=1");
    check_cells(&built.tables[0], 1, /* the first is freed after 500 ns */
                "category=gradients; peak_bytes=4000; share_percent=22.7376; peak_count=1; "
                "allocated_bytes=8000; allocations=2; lifetime_ns=500");
    check_cells(&built.tables[0], 3, /* 1000 for 350 ns, the loss of 16 for 1010 */
                "category=activations; peak_bytes=1016; peak_count=2; largest_bytes=1000; "
                "allocated_bytes=2032; allocations=4; lifetime_ns=680; longest_lifetime_ns=1010");
    fini_tables(&built);
    end(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_no_events),
        cmocka_unit_test(table_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
