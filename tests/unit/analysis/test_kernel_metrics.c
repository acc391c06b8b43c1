/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics: means over the launches of a kernel, one row for each section and unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/kernels/kernel_metrics.h"
#include "model/files/importer.h"
#include "table_checks.h"

#define HEAD                                                                                       \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Section Name\","       \
    "\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
#define ROW(id, pid, kernel, section, metric, unit, value)                                         \
    "\"" id "\",\"" pid "\",\"p\",\"h\",\"" kernel "\",\"" section "\",\"" metric "\",\"" unit     \
    "\",\"" value "\"\n"

static struct ss_model model;
static struct ss_selection selection;
static struct ss_table table;

static void build(const char *text, const char *process,
                  const struct ss_kernel_metrics_options *options)
{
    struct ss_import_file file = {
        .path = "k.csv", .head = text, .head_length = strlen(text), .fd = -1};
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    struct ss_selection_options all = {.idle = SS_IDLE_MAIN, .process = process};
    ss_model_init(&model);
    assert_int_equal(ss_importer_ncu.load(&model, &file, &load, NULL), SS_OK);
    assert_int_equal(ss_selection_init(&selection, &model, &all, NULL), SS_OK);
    ss_kernel_metrics_table(&selection, options, &table);
}

static void fini(void)
{
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void assert_text(size_t row, enum ss_metric_column column, const char *text)
{
    const struct ss_cell *cell = ss_table_cell(&table, row, column);
    assert_int_equal(cell->type, SS_CELL_TEXT);
    assert_true(ss_strview_equal(cell->text, ss_strview_of(text)));
}

static double real_at(size_t row, enum ss_metric_column column)
{
    return ss_table_cell(&table, row, column)->real;
}

static const char three_launches[] =
    HEAD ROW("0", "1", "small<1>(int)", "Light", "Duration", "ns",
             "100") ROW("1", "1", "big<int, 2>(float*)", "Light", "Duration", "us", "5")
        ROW("1", "1", "big<int, 2>(float*)", "Light", "Throughput", "%", "40")
            ROW("1", "1", "big<int, 2>(float*)", "Memory", "Throughput", "Gbyte/s", "1.5")
                ROW("1", "1", "big<int, 2>(float*)", "Launch", "Cache", "", "PreferNone")
                    ROW("2", "2", "big<int, 2>(float*)", "Light", "Duration", "ms", "1")
                        ROW("2", "2", "big<int, 2>(float*)", "Light", "Throughput", "%", "60")
                            ROW("3", "2", "big<int, 3>(float*)", "Light", "Duration", "ns", "7");

static void metrics_are_means_of_launches(void **state)
{
    (void)state;
    struct ss_kernel_metrics_options options = {.size = sizeof options};
    build(three_launches, NULL, &options);
    assert_int_equal(table.row_count, 5);
    assert_text(0, SS_METRIC_KERNEL, "big<int, 2>(float*)");
    assert_text(0, SS_METRIC_BASE, "big");
    assert_text(0, SS_METRIC_SHORT, "big<int, 2>");
    assert_text(0, SS_METRIC_NAME, "Duration");
    assert_text(0, SS_METRIC_UNIT, "ns");
    assert_int_equal(ss_table_cell(&table, 0, SS_METRIC_INSTANCES)->integer, 2);
    assert_true(real_at(0, SS_METRIC_MEAN) == 502500);
    assert_true(real_at(0, SS_METRIC_MIN) == 5000);
    assert_true(real_at(0, SS_METRIC_MAX) == 1000000);
    assert_true(real_at(1, SS_METRIC_MEAN) == 50);
    assert_text(1, SS_METRIC_SECTION, "Light");
    assert_text(2, SS_METRIC_SECTION, "Memory"); /* the same name, of another section */
    assert_true(real_at(2, SS_METRIC_MAX) == 1.5e9);
    assert_text(3, SS_METRIC_KERNEL, "small<1>(int)");
    assert_text(4, SS_METRIC_KERNEL, "big<int, 3>(float*)");
    fini();
}

static void kernels_are_grouped_and_limited(void **state)
{
    (void)state;
    struct ss_kernel_metrics_options options = {
        .size = sizeof options, .by_base = true, .max_rows = 2};
    build(three_launches, NULL, &options);
    assert_int_equal(table.row_count, 2);
    assert_int_equal(table.hidden_rows, 2);
    assert_text(0, SS_METRIC_KERNEL, "big");
    assert_int_equal(ss_table_cell(&table, 0, SS_METRIC_INSTANCES)->integer, 3);
    assert_true(real_at(0, SS_METRIC_MIN) == 7);
    fini();
}

static void processes_are_selected(void **state)
{
    (void)state;
    struct ss_kernel_metrics_options options = {.size = sizeof options};
    build(three_launches, "2", &options);
    assert_int_equal(table.row_count, 3);
    assert_true(real_at(1, SS_METRIC_MEAN) == 60);
    fini();
}

static void table_metric(void **state)
{
    (void)state;
    struct built_tables built;
    struct ss_kernel_metrics_options options = {.size = sizeof options};
    build(three_launches, NULL, &options);
    build_tables(&built, "metric", NULL, &selection, NULL);
    assert_int_equal(built.tables[0].row_count, 5);
    check_cells(&built.tables[0], 0,
                "name=big<int, 2>(float*); base_name=big; short_name=big<int, 2>; section=Light; "
                "metric=Duration; unit=ns; instances=2; avg=502500; min=5000; max=1e+06");
    check_cells(&built.tables[0], 1,
                "section=Light; metric=Throughput; unit=%; instances=2; avg=50; min=40; max=60");
    fini_tables(&built);
    fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_means_of_launches),
        cmocka_unit_test(kernels_are_grouped_and_limited),
        cmocka_unit_test(processes_are_selected),
        cmocka_unit_test(table_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
