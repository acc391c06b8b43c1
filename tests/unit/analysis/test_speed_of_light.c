/* SPDX-License-Identifier: Apache-2.0 */
/* Speed of light and occupancy of kernels in tables of Nsight Compute, of both pages, and from the
 * metrics that recordings of stepscope have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/kernels/kernel_occupancy.h"
#include "analysis/kernels/speed_of_light.h"
#include "model/files/importer.h"
#include "table_checks.h"

#define HEAD                                                                                       \
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\","    \
    "\"CC\","
#define KERNEL(id, name) "\"" id "\",\"1\",\"" name "\",\"7\",\"(256, 1, 1)\",\"(80, 1, 1)\",\"0\","
#define DETAILS HEAD "\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
#define ROW(id, name, metric, unit, value)                                                         \
    KERNEL(id, name) "\"7.5\",\"" metric "\",\"" unit "\",\"" value "\"\n"

static struct ss_model model;
static struct ss_selection selection;
static struct ss_table table;

static void load(const char *text)
{
    struct ss_import_file file = {
        .path = "k.csv", .head = text, .head_length = strlen(text), .fd = -1};
    struct ss_model_load request = {.size = sizeof request, .quiet = true};
    struct ss_selection_options all = {.idle = SS_IDLE_MAIN};
    ss_model_init(&model);
    assert_int_equal(ss_importer_ncu.load(&model, &file, &request, NULL), SS_OK);
    assert_int_equal(ss_selection_init(&selection, &model, &all, NULL), SS_OK);
}

static void light(const char *text, bool by_base)
{
    struct ss_light_options options = {.size = sizeof options, .by_base = by_base};
    load(text);
    ss_light_table(&selection, &options, &table);
}

static void occupancy(const char *text)
{
    struct ss_occupancy_options options = {.size = sizeof options};
    load(text);
    ss_occupancy_table(&selection, &options, &table);
}

static void fini(void)
{
    ss_table_fini(&table);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void assert_text(size_t row, size_t column, const char *text)
{
    const struct ss_cell *cell = ss_table_cell(&table, row, column);
    assert_int_equal(cell->type, SS_CELL_TEXT);
    assert_int_equal(cell->text.length, strlen(text));
    assert_memory_equal(cell->text.data, text, cell->text.length);
}

static void assert_real(size_t row, size_t column, double value)
{
    const struct ss_cell *cell = ss_table_cell(&table, row, column);
    assert_int_equal(cell->type, SS_CELL_REAL);
    assert_float_equal(cell->real, value, 1e-9);
}

static void assert_absent(size_t row, size_t column)
{
    assert_int_equal(ss_table_cell(&table, row, column)->type, SS_CELL_ABSENT);
}

static void assert_integer(size_t row, size_t column, int64_t value)
{
    assert_int_equal(ss_table_cell(&table, row, column)->type, SS_CELL_INTEGER);
    assert_int_equal(ss_table_cell(&table, row, column)->integer, value);
}

/* --- speed of light --------------------------------------------------------------------------- */

static const char two_copies[] = DETAILS ROW("0", "copy", "Duration", "us", "3")
    ROW("0", "copy", "Compute (SM) Throughput", "%", "10")
        ROW("0", "copy", "Memory Throughput", "%", "88")
            ROW("0", "copy", "Memory Throughput", "Gbyte/s", "300")
                ROW("0", "copy", "DRAM Throughput", "%", "88")
                    ROW("0", "copy", "L2 Cache Throughput", "%", "30")
                        ROW("1", "copy", "Duration", "us", "1")
                            ROW("1", "copy", "Compute (SM) Throughput", "%", "50")
                                ROW("1", "copy", "Memory Throughput", "%", "80")
                                    ROW("1", "copy", "DRAM Throughput", "%", "80");

static void throughputs_are_means_weighted_by_time(void **state)
{
    (void)state;
    light(two_copies, false);
    assert_int_equal(table.row_count, 1);
    assert_real(0, SS_LIGHT_COMPUTE, 20);
    assert_real(0, SS_LIGHT_MEMORY, 86);
    assert_real(0, SS_LIGHT_L2, 30);
    assert_absent(0, SS_LIGHT_L1);
    assert_integer(0, SS_LIGHT_INSTANCES, 2);
    assert_integer(0, SS_LIGHT_TIME, 4000);
    assert_text(0, SS_LIGHT_LIMITER, "DRAM");
    assert_text(0, SS_LIGHT_SOURCE, "measured");
    assert_text(0, SS_LIGHT_SENTENCE, "DRAM at 86 % of its peak limits it; compute is at 20 %");
    fini();
}

static void kernels_far_from_all_peaks_are_limited_by_latency(void **state)
{
    (void)state;
    light(DETAILS ROW("0", "wait<1>", "SOL SM", "%", "12")
              ROW("0", "wait<1>", "SOL Memory", "%", "33.3")
                  ROW("0", "wait<1>", "Achieved Occupancy", "%", "23"),
          false);
    assert_text(0, SS_LIGHT_LIMITER, "latency");
    assert_text(0, SS_LIGHT_SENTENCE,
                "neither compute (12 %) nor memory (33.3 %) comes to 60 % of its peak: latency "
                "limits it, with 23 % of the warps that could hide it");
    fini();
}

static void parts_of_memory_are_distinguished(void **state)
{
    (void)state;
    light(DETAILS ROW("0", "a", "Compute (SM) Throughput", "%", "64")
              ROW("0", "a", "Memory Throughput", "%", "70")
                  ROW("0", "a", "L1/TEX Cache Throughput", "%", "70")
                      ROW("1", "b", "Memory Throughput", "%", "90")
                          ROW("1", "b", "DRAM Throughput", "%", "20")
                              ROW("2", "b<2>", "Compute (SM) Throughput", "%", "95")
                                  ROW("2", "b<2>", "Memory Throughput", "%", "3"),
          false);
    assert_int_equal(table.row_count, 3);
    assert_text(0, SS_LIGHT_LIMITER, "L1");
    assert_text(0, SS_LIGHT_SENTENCE,
                "L1 at 70 % of its peak is what it uses most; compute is close to it at 64 %");
    assert_text(1, SS_LIGHT_LIMITER, "memory"); /* neither L1, L2 nor DRAM */
    assert_text(1, SS_LIGHT_SENTENCE,
                "memory at 90 % of its peak limits it; compute was not measured");
    assert_text(2, SS_LIGHT_LIMITER, "compute");
    fini();
}

#define RAW(names) HEAD names "\n"
#define UNITS(units) "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"," units "\n"
#define VALUES(values) KERNEL("0", "gemm<2>") "\"8.0\"," values "\n"

static void parts_stand_for_throughputs_that_were_not_measured(void **state)
{
    (void)state;
    light(RAW("gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,"
              "lts__t_bytes.sum.peak_sustained_elapsed.per_second,sm__cycles_active.avg,"
              "sm__cycles_elapsed.max,"
              "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,"
              "device__attribute_display_name") UNITS("us,Mbyte,Mbyte,Mbyte,Tbyte/s,cycle,cycle,%,")
              VALUES("10,3,1,8,4,50,100,90,NVIDIA A100-PCIE-40GB"),
          false);
    assert_real(0, SS_LIGHT_COMPUTE, 45);               /* 90 % of half of the cycles */
    assert_real(0, SS_LIGHT_DRAM, 100 * 4e11 / 1555e9); /* of the data sheet */
    assert_real(0, SS_LIGHT_L2, 20);
    assert_real(0, SS_LIGHT_MEMORY, 100 * 4e11 / 1555e9);
    assert_text(0, SS_LIGHT_SOURCE, "derived: compute, memory, L2, DRAM");
    assert_absent(0, SS_LIGHT_LIMITER); /* a part that was not measured may be the one */
    assert_text(0, SS_LIGHT_SENTENCE,
                "no measured unit comes to 60 % of its peak; not all parts of compute were "
                "measured");
    fini();
}

static void kernels_of_one_base_name_are_one(void **state)
{
    (void)state;
    light(DETAILS ROW("0", "void n::k<1>(int)", "SM [%]", "%", "10")
              ROW("1", "void n::k<2>(int)", "SM [%]", "%", "30")
                  ROW("2", "other", "Registers Per Thread", "register/thread", "16"),
          true);
    assert_int_equal(table.row_count, 1); /* nothing of it is a throughput */
    assert_text(0, SS_LIGHT_KERNEL, "k");
    assert_real(0, SS_LIGHT_COMPUTE, 20); /* without durations each counts alike */
    assert_absent(0, SS_LIGHT_MEMORY);
    fini();
}

/* --- occupancy -------------------------------------------------------------------------------- */

static const char many_registers[] =
    DETAILS ROW("0", "k", "Registers Per Thread", "register/thread", "128")
        ROW("0", "k", "Static Shared Memory Per Block", "Kbyte/block", "1.02")
            ROW("0", "k", "Dynamic Shared Memory Per Block", "byte/block", "4")
                ROW("0", "k", "Block Limit SM", "block", "16")
                    ROW("0", "k", "Block Limit Registers", "block", "2")
                        ROW("0", "k", "Block Limit Shared Mem", "block", "16")
                            ROW("0", "k", "Block Limit Warps", "block", "4")
                                ROW("0", "k", "Theoretical Occupancy", "%", "50")
                                    ROW("0", "k", "Achieved Occupancy", "%", "31.5");

static void the_limits_of_the_file_are_used(void **state)
{
    (void)state;
    occupancy(many_registers);
    assert_int_equal(table.row_count, 1);
    assert_integer(0, SS_OCCUPANCY_THREADS, 256);
    assert_integer(0, SS_OCCUPANCY_REGISTERS, 128);
    assert_integer(0, SS_OCCUPANCY_SHARED, 1024);
    assert_integer(0, SS_OCCUPANCY_BY_REGISTERS, 2);
    assert_integer(0, SS_OCCUPANCY_BY_WARPS, 4);
    assert_real(0, SS_OCCUPANCY_THEORETICAL, 50);
    assert_real(0, SS_OCCUPANCY_ACHIEVED, 31.5);
    assert_text(0, SS_OCCUPANCY_SOURCE, "reported");
    assert_text(0, SS_OCCUPANCY_LIMITER, "registers");
    assert_text(0, SS_OCCUPANCY_SENTENCE,
                "128 registers of a thread leave room for 2 blocks; achieved is 18.5 points less: "
                "blocks begin, end or work unevenly");
    fini();
}

static void without_them_they_follow_from_what_a_block_needs(void **state)
{
    (void)state;
    occupancy(DETAILS ROW("0", "k", "Registers Per Thread", "register/thread", "128")
                  ROW("0", "k", "# SMs", "SM", "40")
                      ROW("1", "s", "Registers Per Thread", "register/thread", "32")
                          ROW("1", "s", "Dynamic Shared Memory Per Block", "Kbyte/block", "40.96")
                              ROW("1", "s", "# SMs", "SM", "400"));
    assert_int_equal(table.row_count, 2);
    assert_integer(0, SS_OCCUPANCY_BY_REGISTERS, 2);
    assert_integer(0, SS_OCCUPANCY_BY_SHARED, 16);
    assert_real(0, SS_OCCUPANCY_THEORETICAL, 50);
    assert_real(0, SS_OCCUPANCY_WAVES, 1); /* 80 blocks, 40 multiprocessors with 2 each */
    assert_text(0, SS_OCCUPANCY_SOURCE, "computed");
    assert_absent(0, SS_OCCUPANCY_ACHIEVED);
    assert_integer(1, SS_OCCUPANCY_BY_SHARED, 1);
    assert_real(1, SS_OCCUPANCY_THEORETICAL, 25);
    assert_text(1, SS_OCCUPANCY_LIMITER, "shared memory");
    assert_text(1, SS_OCCUPANCY_SENTENCE,
                "40960 bytes of shared memory leave room for 1 block; the grid fills 20 % of the "
                "device");
    fini();
}

static void values_of_any_size_are_taken(void **state)
{
    (void)state;
    occupancy(DETAILS ROW("0", "k", "Registers Per Thread", "", "1e300")
                  ROW("0", "k", "Block Limit Warps", "block", "1e300")
                      ROW("0", "k", "Achieved Occupancy", "%", "7")
                          ROW("1", "j", "Registers Per Thread", "", "16")
                              ROW("1", "j", "Dynamic Shared Memory Per Block", "byte", "1e11"));
    assert_int_equal(table.row_count, 1);
    assert_absent(0, SS_OCCUPANCY_THEORETICAL);
    assert_absent(0, SS_OCCUPANCY_BY_WARPS);
    fini();
}

/* 3 µs at 10 %, 1 µs at 50 %. */
static void table_speed_of_light(void **state)
{
    (void)state;
    struct built_tables built;
    light(two_copies, false);
    build_tables(&built, "speed-of-light", NULL, &selection, NULL);
    assert_int_equal(built.tables[0].row_count, 1);
    check_cells(&built.tables[0], 0,
                "name=copy; instances=2; total_ns=4000; percent=100; compute_percent=20; "
                "memory_percent=86; l1_percent=-; l2_percent=30; dram_percent=86; "
                "source=measured; limiter=DRAM");
    fini_tables(&built);
    fini();
}

static void table_occupancy(void **state)
{
    (void)state;
    struct built_tables built;
    occupancy(many_registers);
    build_tables(&built, "occupancy", NULL, &selection, NULL);
    assert_int_equal(built.tables[0].row_count, 1);
    check_cells(&built.tables[0], 0,
                "name=k; block_threads=256; registers=128; shared_bytes=1024; instances=1; "
                "theoretical_percent=50; achieved_percent=31.5; blocks_by_registers=2; "
                "blocks_by_shared_memory=16; blocks_by_warps=4; blocks_most=16; "
                "source=reported; limiter=registers");
    fini_tables(&built);
    fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(throughputs_are_means_weighted_by_time),
        cmocka_unit_test(kernels_far_from_all_peaks_are_limited_by_latency),
        cmocka_unit_test(parts_of_memory_are_distinguished),
        cmocka_unit_test(parts_stand_for_throughputs_that_were_not_measured),
        cmocka_unit_test(kernels_of_one_base_name_are_one),
        cmocka_unit_test(the_limits_of_the_file_are_used),
        cmocka_unit_test(without_them_they_follow_from_what_a_block_needs),
        cmocka_unit_test(values_of_any_size_are_taken),
        cmocka_unit_test(table_speed_of_light),
        cmocka_unit_test(table_occupancy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
