/* SPDX-License-Identifier: Apache-2.0 */
/* The work of devices that ranges launched, in the training of launched_model.h; and the ranges of
 * a profiler of PyTorch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../launched_model.h"
#include "analysis/steps/range_rows.h"
#include "analysis/steps/ranges.h"
#include "table_checks.h"

static size_t row_named(const struct ss_table *table, const char *path)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cell = ss_table_cell(table, row, SS_RANGE_PATH);
        if (cell->type == SS_CELL_TEXT && ss_strview_equal(cell->text, ss_strview_of(path))) {
            return row;
        }
    }
    fail_msg("no row %s", path);
    return 0;
}

static void check(const struct ss_table *table, const char *path, const char *wanted)
{
    check_cells(table, row_named(table, path), wanted);
}

/* Of a thread, what it launched; of steps and phases, what all threads launched: autograd has
 * another. */
static void ranges_have_the_work_that_they_launched(void **state)
{
    (void)state;
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    ss_ranges_table(&made.selection, &(struct ss_ranges_options){.sort = SS_SORT_TOTAL}, &table);
    check(&table, "step", "device_ns=504; device_works=20");
    check(&table, "forward", "kind=phase; device_ns=268; device_works=12");
    check(&table, "backward", "kind=phase; device_ns=236; device_works=8");
    check(&table, "linear", "device_ns=240; device_works=8");
    check(&table, "linear;addmm", "device_ns=240; device_works=8");
    check(&table, "autograd::engine::evaluate_function: AddmmBackward0;AddmmBackward0;mm",
          "device_ns=200; device_works=4");
    check(&table, "Net", "device_ns=240; device_works=8");
    ss_table_fini(&table);
    launched_fini(&made);
}

/* A work counts once in a row, though two of its ranges are around the launch. */
static void recursion_counts_once(void **state)
{
    (void)state;
    struct launched made;
    struct ss_table table;
    launched_init(&made, NULL, NULL);
    ss_ranges_table(&made.selection,
                    &(struct ss_ranges_options){.sort = SS_SORT_TOTAL, .grouping = SS_GROUP_DOMAIN},
                    &table);
    for (size_t row = 0; row < table.row_count; row++) {
        const struct ss_cell *domain = ss_table_cell(&table, row, SS_RANGE_DOMAIN);
        if (domain->type == SS_CELL_TEXT &&
            ss_strview_equal(domain->text, ss_strview_of("torch.module"))) {
            check_cells(&table, row, "device_ns=240; device_works=8"); /* Net and Linear */
        }
    }
    ss_table_fini(&table);
    launched_fini(&made);
}

static void steps_of_a_profiler_are_one_row(void **state)
{
    (void)state;
    static const char *const names[] = {"ProfilerStep#7", "ProfilerStep#8", "ProfilerStep#x"};
    struct ss_selection_options options = {.idle = SS_IDLE_ALL};
    struct ss_selection selection;
    struct ss_model model;
    struct ss_table table;
    ss_model_init(&model);
    uint32_t process = BUILD_PROCESS(&model, .pid = 42);
    uint32_t thread = BUILD_THREAD(&model, .process = process, .tid = 42, .is_main = true);
    uint32_t track = BUILD_TRACK(&model, .kind = SS_TRACK_RANGES, .process = process,
                                 .thread = thread, .name = "torch");
    for (uint64_t i = 0; i < 3; i++) {
        uint32_t outer = BUILD_RANGE(&model, .track = track, .name = names[i], .begin_ns = 100 * i,
                                     .end_ns = 100 * i + 50);
        BUILD_RANGE(&model, .track = track, .around = outer, .name = "op", .begin_ns = 100 * i,
                    .end_ns = 100 * i + 10);
    }
    assert_int_equal(ss_selection_init(&selection, &model, &options, NULL), SS_OK);
    ss_ranges_table(&selection, &(struct ss_ranges_options){.sort = SS_SORT_TOTAL}, &table);
    assert_int_equal(table.row_count, 4);
    check(&table, "ProfilerStep*", "name=ProfilerStep*; count=2; total_ns=100; self_ns=80");
    check(&table, "ProfilerStep*;op", "name=op; count=2; total_ns=20");
    check(&table, "ProfilerStep#x", "count=1; total_ns=50");
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_have_the_work_that_they_launched),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(steps_of_a_profiler_are_one_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
