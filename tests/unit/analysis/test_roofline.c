/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines computed by hand: whose work a kernel does, and how close it comes to the roof. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "roofline_builder.h"
#include "table_checks.h"

static void a_kernel_does_the_work_of_the_innermost_operator(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_linear(&made);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    assert_int_equal(made.table.row_count, 2);
    const struct ss_cell *product = row_of(&made, "matrix product", "bf16");
    assert_int_equal(product[SS_ROOFLINE_INSTANCES].integer, 2);
    assert_int_equal(product[SS_ROOFLINE_TIME].integer, 10000);
    assert_real(&product[SS_ROOFLINE_FLOPS], product_flops); /* once: linear is the same product */
    assert_real(&product[SS_ROOFLINE_BYTES], product_bytes);
    assert_real(&product[SS_ROOFLINE_RATE], product_flops / 10e-6);
    assert_real(&product[SS_ROOFLINE_BANDWIDTH], product_bytes / 10e-6);
    assert_real(&product[SS_ROOFLINE_INTENSITY], product_flops / product_bytes);
    assert_text(&product[SS_ROOFLINE_DEVICE], "A100 SXM 80 GB");
    assert_text(&product[SS_ROOFLINE_SOURCE], "estimated from shapes");
    assert_real(&product[SS_ROOFLINE_PEAK], 312e12);
    assert_real(&product[SS_ROOFLINE_ROOF], 312e12); /* 292 FLOPs per byte: right of the ridge */
    assert_real(&product[SS_ROOFLINE_ROOF_PERCENT], 100 * product_flops / 10e-6 / 312e12);
    assert_text(&product[SS_ROOFLINE_BOUND], "compute");
    assert_int_equal(product[SS_ROOFLINE_NOTE].type, SS_CELL_ABSENT);
    const struct ss_cell *copy = row_of(&made, "conversion", "fp32");
    assert_float_equal(copy[SS_ROOFLINE_FLOPS].real, 0, 0);
    assert_real(&copy[SS_ROOFLINE_BYTES], 4096 * 6);
    assert_real(&copy[SS_ROOFLINE_ROOF_PERCENT], 100 * 4096 * 6 / 100e-9 / 2039e9);
    assert_text(&copy[SS_ROOFLINE_BOUND], "memory");
    assert_int_equal(copy[SS_ROOFLINE_ROOF].type, SS_CELL_ABSENT); /* of FLOPs, it has none */
    end(&made);
}

static void left_of_the_ridge_the_roof_is_the_bandwidth(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    uint32_t add = add_operator(&made, made.operators, 0, "aten::add", 0, 10, NO_NUMBER,
                                "[[1000000], [1000000], []]", "[\"float\",\"float\",\"Scalar\"]");
    launch(&made, made.operators, add, 5, 1);
    add_kernel(&made, "vectorized_elementwise_kernel", 100, 10000, 1);
    make_table(&made, SS_ROOFLINE_BY_KERNEL);
    const struct ss_cell *cells = row_of(&made, "vectorized_elementwise_kernel", "fp32");
    assert_real(&cells[SS_ROOFLINE_INTENSITY], 1.0 / 12);
    assert_real(&cells[SS_ROOFLINE_PEAK], 19.5e12); /* no matrix units */
    assert_real(&cells[SS_ROOFLINE_ROOF], 2039e9 / 12);
    assert_real(&cells[SS_ROOFLINE_ROOF_PERCENT], 100 * 12e6 / 10e-6 / 2039e9);
    assert_text(&cells[SS_ROOFLINE_BOUND], "memory");
    end(&made);
}

static void what_is_above_the_roof_is_marked(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    uint32_t product = add_operator(&made, made.operators, 0, "aten::addmm", 0, 10, NO_NUMBER,
                                    factors, factor_types);
    launch(&made, made.operators, product, 5, 1);
    add_kernel(&made, "gemm", 100, 1000, 1); /* 2147 TFLOP/s */
    make_table(&made, SS_ROOFLINE_BY_OPERATOR);
    const struct ss_cell *cells = row_of(&made, "aten::addmm", "bf16");
    assert_true(cells[SS_ROOFLINE_ROOF_PERCENT].real > 600);
    assert_int_equal(cells[SS_ROOFLINE_NOTE].type, SS_CELL_TEXT);
    bool is_said = false;
    for (size_t i = 0; i < made.table.notes.count; i++) {
        is_said = is_said || (made.table.notes.data[i].severity == SS_NOTE_WARNING &&
                              !made.table.notes.data[i].is_before);
    }
    assert_true(is_said);
    end(&made);
}

/* Float32 is TF32 where the kernel's name says so. */
static void the_kernel_decides_the_format(void **state)
{
    (void)state;
    struct made made;
    static const char types[] = "[\"float\", \"float\"]";
    begin(&made, "NVIDIA A100-SXM4-80GB");
    uint32_t a = add_operator(&made, made.operators, 0, "aten::mm", 0, 10, NO_NUMBER,
                              "[[64, 64], [64, 64]]", types);
    launch(&made, made.operators, a, 5, 1);
    uint32_t b = add_operator(&made, made.operators, 0, "aten::mm", 20, 30, NO_NUMBER,
                              "[[64, 64], [64, 64]]", types);
    launch(&made, made.operators, b, 25, 2);
    add_kernel(&made, "ampere_sgemm_64x64", 100, 1000, 1);
    add_kernel(&made, "cutlass_80_tensorop_s1688gemm_64x64", 2000, 1000, 2);
    make_table(&made, SS_ROOFLINE_BY_OPERATOR);
    assert_real(&row_of(&made, "aten::mm", "fp32")[SS_ROOFLINE_PEAK], 19.5e12);
    assert_real(&row_of(&made, "aten::mm", "tf32")[SS_ROOFLINE_PEAK], 156e12);
    end(&made);
}

/* Conversions of layout have no part in a product; of an operator they are part of the time. */
static void kernels_that_prepare_have_no_estimate(void **state)
{
    (void)state;
    for (int by_operator = 0; by_operator < 2; by_operator++) {
        struct made made;
        begin(&made, "NVIDIA A100-SXM4-80GB");
        uint32_t product = add_operator(&made, made.operators, 0, "aten::addmm", 0, 10, NO_NUMBER,
                                        factors, factor_types);
        launch(&made, made.operators, product, 5, 1);
        launch(&made, made.operators, product, 7, 2);
        add_kernel(&made, "nchwToNhwcKernel", 100, 5000, 1);
        add_kernel(&made, "gemm", 6000, 15000, 2);
        make_table(&made, by_operator ? SS_ROOFLINE_BY_OPERATOR : SS_ROOFLINE_BY_FAMILY);
        if (by_operator) {
            assert_int_equal(row_of(&made, "aten::addmm", "bf16")[SS_ROOFLINE_TIME].integer, 20000);
        } else {
            const struct ss_cell *cells = row_of(&made, "matrix product", "bf16");
            assert_int_equal(cells[SS_ROOFLINE_TIME].integer, 15000);
            assert_real(&cells[SS_ROOFLINE_FLOPS], product_flops);
            const struct ss_cell *other = row_of(&made, "conversion", NULL);
            assert_text(&other[SS_ROOFLINE_SOURCE], "prepares data for other kernels");
            assert_int_equal(other[SS_ROOFLINE_FLOPS].type, SS_CELL_ABSENT);
        }
        end(&made);
    }
}

static void without_an_estimate_a_row_says_why(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    uint32_t product = add_operator(&made, made.operators, 0, "aten::mm", 0, 10, NO_NUMBER,
                                    "[[4, 4], [4, 4]]", NULL);
    launch(&made, made.operators, product, 5, 1);
    uint32_t custom =
        add_operator(&made, made.operators, 0, "my::operator", 20, 30, NO_NUMBER, "[[4]]", NULL);
    launch(&made, made.operators, custom, 25, 2);
    uint32_t shapeless =
        add_operator(&made, made.operators, 0, "aten::exp", 40, 50, NO_NUMBER, NULL, NULL);
    launch(&made, made.operators, shapeless, 45, 3);
    launch(&made, made.operators, 0, 60, 4);
    for (uint64_t i = 0; i < 5; i++) {
        static const char *const names[] = {"gemm", "a", "b", "c", "d"};
        add_kernel(&made, names[i], 100 + 100 * i, 10, i + 1); /* the last launch is unknown */
    }
    make_table(&made, SS_ROOFLINE_BY_KERNEL);
    assert_text(&row_of(&made, "a", NULL)[SS_ROOFLINE_SOURCE], "no formula");
    assert_text(&row_of(&made, "b", NULL)[SS_ROOFLINE_SOURCE], "not enough shapes recorded");
    assert_text(&row_of(&made, "c", NULL)[SS_ROOFLINE_SOURCE], "no operator recorded");
    assert_text(&row_of(&made, "d", NULL)[SS_ROOFLINE_SOURCE], "no launch recorded");
    /* Its format is unknown, and so are bytes and roof; not its FLOPs. */
    const struct ss_cell *cells = row_of(&made, "gemm", NULL);
    assert_real(&cells[SS_ROOFLINE_FLOPS], 128);
    assert_int_equal(cells[SS_ROOFLINE_BYTES].type, SS_CELL_ABSENT);
    assert_int_equal(cells[SS_ROOFLINE_ROOF_PERCENT].type, SS_CELL_ABSENT);
    end(&made);
}

/* --- counters --------------------------------------------------------------------------------- */

static uint32_t add_metric_kind(struct made *made, const char *name, const char *unit)
{
    ss_vec_push(&made->model.metric_kinds,
                (struct ss_model_metric_kind){.name = build_text(&made->model, name),
                                              .unit = build_text(&made->model, unit)});
    return (uint32_t)made->model.metric_kinds.count - 1;
}

/* Of the kernel added last. */
static void measure(struct made *made, uint32_t kind, double value)
{
    ss_vec_push(&made->model.metrics,
                (struct ss_model_metric){.payload = (uint32_t)made->model.payloads.count - 1,
                                         .kind = kind,
                                         .real = value});
}

static void counters_take_the_place_of_estimates(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_linear(&made);
    uint32_t read = add_metric_kind(&made, "dram__bytes_read.sum", "byte");
    uint32_t written = add_metric_kind(&made, "dram__bytes_write.sum", "byte");
    uint32_t other = add_metric_kind(&made, "sm__warps_active.avg", "");
    uint32_t add = add_metric_kind(&made, "sm__sass_thread_inst_executed_op_fadd_pred_on.sum", "");
    uint32_t multiply =
        add_metric_kind(&made, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum", "");
    uint32_t product = add_metric_kind(&made, "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "");
    /* Two launches of a kernel that is in no operator: the mean of what was measured. */
    add_kernel(&made, "my_kernel", 20000, 1000, 90);
    measure(&made, read, 3000);
    measure(&made, written, 1000);
    measure(&made, other, 50);
    measure(&made, add, 100);
    measure(&made, multiply, 200);
    add_kernel(&made, "my_kernel", 22000, 1000, 91);
    measure(&made, read, 5000);
    measure(&made, written, 1000);
    measure(&made, add, 100);
    measure(&made, multiply, 400);
    /* A product: its own units, too; and one of which these were not measured. */
    add_kernel(&made, "gemm_bf16", 24000, 1000, 92);
    measure(&made, product, 5e6);
    add_kernel(&made, "splitKreduce_kernel", 26000, 1000, 93);
    measure(&made, read, 70);
    measure(&made, add, 10);
    make_table(&made, SS_ROOFLINE_BY_KERNEL);
    const struct ss_cell *cells = row_of(&made, "my_kernel", NULL);
    assert_text(&cells[SS_ROOFLINE_SOURCE], "measured");
    assert_real(&cells[SS_ROOFLINE_FLOPS], 2 * (100 + 2 * 300));
    assert_real(&cells[SS_ROOFLINE_BYTES], 2 * 5000);
    assert_text(&row_of(&made, "gemm_bf16", "bf16")[SS_ROOFLINE_SOURCE], "FLOPs measured");
    assert_real(&row_of(&made, "gemm_bf16", "bf16")[SS_ROOFLINE_FLOPS], 5e6);
    /* In the linear layer, the same kernel keeps its part of the estimated FLOPs. */
    cells = row_of(&made, "splitKreduce_kernel", "bf16");
    assert_text(&cells[SS_ROOFLINE_SOURCE], "bytes measured");
    assert_real(&cells[SS_ROOFLINE_FLOPS], product_flops / 10);
    assert_real(&cells[SS_ROOFLINE_BYTES], 70);
    assert_text(&row_of(&made, "ampere_bf16_s16816gemm_bf16_128x128", "bf16")[SS_ROOFLINE_SOURCE],
                "estimated from shapes");
    end(&made);
}

/* A file of counters beside a recording of the same program: its kernels are not further ones. */
static void measurements_are_no_kernels_beside_those_with_times(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_linear(&made);
    ss_vec_push_zero(&made.model.inputs);
    ss_vec_push_zero(&made.model.inputs);
    made.model.inputs.data[1].is_untimed = true;
    made.stream =
        BUILD_TRACK(&made.model, .kind = SS_TRACK_RANGES, .process = made.process, .device = 1);
    made.model.tracks.data[made.stream].stream = 1;
    made.model.tracks.data[made.stream].input = 1;
    uint32_t bytes = add_metric_kind(&made, "dram__bytes.sum", "byte");
    add_kernel(&made, "direct_copy_kernel", 0, 777, 90);
    measure(&made, bytes, 5000);
    make_table(&made, SS_ROOFLINE_BY_KERNEL);
    const struct ss_cell *cells = row_of(&made, "direct_copy_kernel", "fp32");
    assert_int_equal(cells[SS_ROOFLINE_INSTANCES].integer, 1);
    assert_int_equal(cells[SS_ROOFLINE_TIME].integer, 100);
    assert_real(&cells[SS_ROOFLINE_BYTES], 5000);
    assert_text(&cells[SS_ROOFLINE_SOURCE], "bytes measured");
    assert_int_equal(made.table.row_count, 3);
    end(&made);
}

static void an_unknown_device_has_no_roof(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "Accelerator 9000");
    make_linear(&made);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    const struct ss_cell *cells = row_of(&made, "matrix product", "bf16");
    assert_real(&cells[SS_ROOFLINE_RATE], product_flops / 10e-6);
    assert_int_equal(cells[SS_ROOFLINE_DEVICE].type, SS_CELL_ABSENT);
    assert_int_equal(cells[SS_ROOFLINE_PEAK].type, SS_CELL_ABSENT);
    assert_int_equal(cells[SS_ROOFLINE_BOUND].type, SS_CELL_ABSENT);
    end(&made);
}

static void without_kernels_times_are_those_of_the_host(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    uint32_t product = add_operator(&made, made.operators, 0, "aten::addmm", 0, 1000, NO_NUMBER,
                                    factors, factor_types);
    add_operator(&made, made.operators, product, "aten::copy_", 100, 300, NO_NUMBER,
                 "[[4096], [4096], []]", "[\"float\",\"float\",\"Scalar\"]");
    make_table(&made, SS_ROOFLINE_BY_OPERATOR);
    assert_int_equal(row_of(&made, "aten::addmm", "bf16")[SS_ROOFLINE_TIME].integer, 800);
    assert_int_equal(row_of(&made, "aten::copy_", "fp32")[SS_ROOFLINE_TIME].integer, 200);
    end(&made);
}

static void without_shapes_there_is_no_row(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    uint32_t product =
        add_operator(&made, made.operators, 0, "aten::addmm", 0, 10, NO_NUMBER, NULL, NULL);
    launch(&made, made.operators, product, 5, 1);
    add_kernel(&made, "gemm", 100, 1000, 1);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    assert_int_equal(made.table.row_count, 0);
    assert_non_null(strstr(made.table.empty_text, "record_shapes"));
    end(&made);
}

/* A product of 2 × 512 × 2048 × 1024 FLOPs in two kernels of 10 µs, at 215 of 312 TFLOP/s; and a
 * copy of 4096 elements from 2 to 4 bytes in 0.1 µs, at 246 of 2039 GB/s. */
static void table_roofline(void **state)
{
    (void)state;
    struct made made;
    struct built_tables built;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_linear(&made);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    build_tables(&built, "roofline", NULL, &made.selection, &made.training);
    assert_int_equal(built.tables[0].row_count, 2);
    check_cells(&built.tables[0], 0,
                "name=matrix product; datatype=bf16; device=A100 SXM 80 GB; instances=2; "
                "total_ns=10000; time_percent=99.0099; flops=2.14748e+09; bytes=7.34208e+06; "
                "flops_per_s=2.14748e+14; flops_per_byte=292.49; peak_flops_per_s=3.12e+14; "
                "roof_percent=68.8296; bound=compute");
    check_cells(&built.tables[0], 1,
                "name=conversion; datatype=fp32; flops=0; bytes=24576; bytes_per_s=2.4576e+11; "
                "peak_bytes_per_s=2.039e+12; roof_percent=12.053; bound=memory");
    fini_tables(&built);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_does_the_work_of_the_innermost_operator),
        cmocka_unit_test(left_of_the_ridge_the_roof_is_the_bandwidth),
        cmocka_unit_test(what_is_above_the_roof_is_marked),
        cmocka_unit_test(the_kernel_decides_the_format),
        cmocka_unit_test(kernels_that_prepare_have_no_estimate),
        cmocka_unit_test(without_an_estimate_a_row_says_why),
        cmocka_unit_test(counters_take_the_place_of_estimates),
        cmocka_unit_test(measurements_are_no_kernels_beside_those_with_times),
        cmocka_unit_test(an_unknown_device_has_no_roof),
        cmocka_unit_test(without_kernels_times_are_those_of_the_host),
        cmocka_unit_test(without_shapes_there_is_no_row),
        cmocka_unit_test(table_roofline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
