/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines computed by hand: whose work a kernel does, how close it comes to the roof, and what a
 * step's FLOPs are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../model_builder.h"
#include "analysis/roofline.h"

/* One process on one device; autograd has a thread of its own. */
struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
    struct ss_table table;
    uint32_t process, steps, operators, nodes, modules, stream;
    uint64_t launches;
};

static uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t thread,
                          const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = made->process, .thread = thread,
                       .name = name);
}

static void begin(struct made *made, const char *device)
{
    memset(made, 0, sizeof *made);
    ss_model_init(&made->model);
    struct ss_model *model = &made->model;
    made->process = BUILD_PROCESS(model, .pid = 42);
    uint32_t trains = BUILD_THREAD(model, .process = made->process, .tid = 42, .is_main = true);
    uint32_t differentiates = BUILD_THREAD(model, .process = made->process, .tid = 43);
    made->steps = add_track(made, SS_TRACK_STEPS, trains, "step");
    made->operators = add_track(made, SS_TRACK_RANGES, trains, "torch");
    made->nodes = add_track(made, SS_TRACK_RANGES, differentiates, "torch");
    made->modules = add_track(made, SS_TRACK_RANGES, trains, "torch.module");
    ss_vec_push(&model->devices, (struct ss_model_device){.model = build_text(model, device)});
    ss_vec_push(&model->streams, (struct ss_model_stream){.device = 1, .number = 7});
    made->stream =
        BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = made->process, .device = 1);
    model->tracks.data[made->stream].stream = 1;
}

static void make_table(struct made *made, unsigned grouping)
{
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    static const struct ss_steps_options none = {0};
    struct ss_roofline_options options = {.grouping = grouping};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->training, &made->selection, &none);
    ss_roofline_table(&made->selection, &made->training, &options, &made->table);
}

static void end(struct made *made)
{
    ss_table_fini(&made->table);
    ss_step_summary_fini(&made->training);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static uint32_t last_name(struct made *made, enum ss_event_type type)
{
    const struct ss_model *model = &made->model;
    uint32_t name = model->paths.data[model->ranges.data[model->ranges.count - 1].path].name;
    model->names.data[name].type = type;
    return name;
}

static void add_field(struct made *made, uint32_t payload, uint32_t field, const char *text)
{
    struct ss_model *model = &made->model;
    if (model->payloads.data[payload].first_field == 0) {
        model->payloads.data[payload].first_field = (uint32_t)model->fields.count;
    } else {
        model->fields.count--; /* its end */
    }
    ss_vec_push(&model->fields, (struct ss_model_field){.field = (uint16_t)field,
                                                        .type = SS_VALUE_TEXT,
                                                        .text = build_text(model, text)});
    ss_vec_push_zero(&model->fields);
}

enum { NO_NUMBER = -1 };

/* Returns the path, for what lies within. NULL: not recorded. */
static uint32_t add_operator(struct made *made, uint32_t track, uint32_t around, const char *name,
                             uint64_t begin_ns, uint64_t end_ns, int64_t number, const char *shapes,
                             const char *types)
{
    bool is_node = strstr(name, "Backward0") != NULL;
    uint32_t payload = build_integer(&made->model, number);
    if (shapes != NULL) {
        add_field(made, payload, SS_EVENT_FIELD_shapes, shapes);
    }
    if (types != NULL) {
        add_field(made, payload, SS_EVENT_FIELD_input_types, types);
    }
    uint32_t path = BUILD_RANGE(&made->model, .track = track, .around = around, .name = name,
                                .category = is_node ? "backward" : "operator", .begin_ns = begin_ns,
                                .end_ns = end_ns, .payload = payload);
    last_name(made, SS_EVENT_TYPE_operator);
    return path;
}

static void launch(struct made *made, uint32_t track, uint32_t around, uint64_t at_ns,
                   uint64_t correlation)
{
    BUILD_RANGE(&made->model, .track = track, .around = around, .name = "cudaLaunchKernel",
                .category = "runtime", .begin_ns = at_ns, .end_ns = at_ns + 1,
                .payload = build_integer(&made->model, (int64_t)correlation));
    last_name(made, SS_EVENT_TYPE_launch);
}

static void add_kernel(struct made *made, const char *name, uint64_t begin_ns, uint64_t duration_ns,
                       uint64_t correlation)
{
    BUILD_RANGE(&made->model, .track = made->stream, .name = name, .category = "kernel",
                .begin_ns = begin_ns, .end_ns = begin_ns + duration_ns,
                .payload = build_integer(&made->model, (int64_t)correlation));
    last_name(made, SS_EVENT_TYPE_kernel);
}

static const struct ss_cell *row_of(const struct made *made, const char *name, const char *type)
{
    for (size_t row = 0; row < made->table.row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(&made->table, row, 0);
        bool has_type = cells[SS_ROOFLINE_TYPE].type == SS_CELL_TEXT;
        if (ss_strview_equal(cells[SS_ROOFLINE_NAME].text, ss_strview_of(name)) &&
            (type == NULL ? !has_type
                          : has_type && ss_strview_equal(cells[SS_ROOFLINE_TYPE].text,
                                                         ss_strview_of(type)))) {
            return cells;
        }
    }
    fail_msg("no row %s %s", name, type != NULL ? type : "");
    return NULL;
}

static void assert_text(const struct ss_cell *cell, const char *text)
{
    assert_int_equal(cell->type, SS_CELL_TEXT);
    assert_int_equal(cell->text.length, strlen(text));
    assert_memory_equal(cell->text.data, text, cell->text.length);
}

static void assert_real(const struct ss_cell *cell, double real)
{
    assert_int_equal(cell->type, SS_CELL_REAL);
    assert_true(cell->real > real * 0.999999 && cell->real < real * 1.000001);
}

#define BF16 "\"c10::BFloat16\""
static const char factors[] = "[[1024], [512, 2048], [2048, 1024], [], []]";
static const char factor_types[] = "[" BF16 "," BF16 "," BF16 ",\"Scalar\",\"Scalar\"]";
static const double product_flops = 2.0 * 512 * 2048 * 1024;
static const double product_bytes = 2.0 * (1024 + 512 * 2048 + 2048 * 1024 + 512 * 1024);

/* A linear layer: a product in two kernels, and a copy that is none of its work. */
static void make_linear(struct made *made)
{
    uint32_t linear = add_operator(made, made->operators, 0, "aten::linear", 0, 100, NO_NUMBER,
                                   "[[512, 2048], [1024, 2048], [1024]]", factor_types);
    uint32_t copy =
        add_operator(made, made->operators, linear, "aten::copy_", 5, 10, NO_NUMBER,
                     "[[4096], [4096], []]", "[\"float\", \"c10::BFloat16\", \"Scalar\"]");
    launch(made, made->operators, copy, 6, 1);
    uint32_t product = add_operator(made, made->operators, linear, "aten::addmm", 20, 90, NO_NUMBER,
                                    factors, factor_types);
    launch(made, made->operators, product, 30, 2);
    launch(made, made->operators, product, 40, 3);
    add_kernel(made, "direct_copy_kernel", 1000, 100, 1);
    add_kernel(made, "ampere_bf16_s16816gemm_bf16_128x128", 2000, 9000, 2);
    add_kernel(made, "splitKreduce_kernel", 11000, 1000, 3);
}

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

/* A file of counters beside a recording of the same program: its kernels are no further ones. */
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

/* --- trainings -------------------------------------------------------------------------------- */

/* Steps of 100 µs. In each, Linear within Net multiplies, once by two operators; the node of
 * autograd multiplies twice, on its own thread, or not at all; with `again`, it first repeats the
 * forward. */
static void make_training(struct made *made, bool has_backward, bool again)
{
    enum { STEPS = 4 };
    static const char shapes[] = "[[512, 2048], [2048, 1024]]", types[] = "[" BF16 "," BF16 "]";
    uint64_t correlation = 0;
    for (uint64_t s = 0; s < STEPS; s++) {
        BUILD_RANGE(&made->model, .track = made->steps, .name = "step", .category = "",
                    .begin_ns = 100000 * s, .end_ns = 100000 * (s + 1),
                    .payload = build_integer(&made->model, (int64_t)s));
    }
    for (uint64_t s = 0; s < STEPS; s++) {
        uint64_t at = 100000 * s;
        uint32_t outer = add_operator(made, made->operators, 0, "aten::matmul", at + 90, at + 210,
                                      (int64_t)s, shapes, types);
        uint32_t mm = add_operator(made, made->operators, outer, "aten::mm", at + 100, at + 200,
                                   (int64_t)s, shapes, types);
        launch(made, made->operators, mm, at + 150, ++correlation);
    }
    for (uint64_t s = 0; s < STEPS; s++) {
        uint64_t at = 100000 * s + 500;
        uint32_t node = add_operator(made, made->nodes, 0, "MmBackward0", at, at + 400, (int64_t)s,
                                     "[[512, 1024]]", NULL);
        for (uint64_t i = 0; i < (again ? 3u : 2u) && has_backward; i++) {
            uint32_t mm = add_operator(made, made->nodes, node, "aten::mm", at + 100 * i,
                                       at + 100 * i + 90, i == 2 ? 77 : NO_NUMBER, shapes, types);
            launch(made, made->nodes, mm, at + 100 * i + 50, ++correlation);
        }
    }
    for (uint64_t s = 0; s < STEPS; s++) {
        uint64_t at = 100000 * s;
        uint32_t net = BUILD_RANGE(&made->model, .track = made->modules, .name = "Net",
                                   .begin_ns = at + 50, .end_ns = at + 300);
        BUILD_RANGE(&made->model, .track = made->modules, .around = net, .name = "Linear",
                    .begin_ns = at + 80, .end_ns = at + 250);
    }
    for (uint64_t i = 0; i < correlation; i++) {
        add_kernel(made, "gemm_bf16", 1000 + 20000 * i, 10000, i + 1);
    }
}

static struct ss_roofline_steps steps_of(struct made *made)
{
    struct ss_roofline_steps steps;
    ss_roofline_find_steps(&steps, &made->selection, &made->training);
    return steps;
}

static void the_backward_counts_by_its_own_shapes(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_training(&made, true, false);
    make_table(&made, SS_ROOFLINE_BY_MODULE);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_int_equal(steps.steps, made.training.steady);
    assert_false(steps.is_assumed || steps.is_forward_only);
    assert_float_equal(steps.flops, 3 * product_flops * (double)steps.steps, 1);
    assert_float_equal(steps.backward_flops, 2 * product_flops * (double)steps.steps, 1);
    assert_float_equal(steps.unknown_percent, 0, 0);
    assert_int_equal(steps.type, SS_DATATYPE_BF16);
    assert_float_equal(ss_roofline_mfu(&steps), 100 * 3 * product_flops / 100e-6 / 312e12, 1e-9);
    /* Of both modules, with their backward. */
    assert_real(&row_of(&made, "Linear", "bf16")[SS_ROOFLINE_FLOPS], 12 * product_flops);
    assert_real(&row_of(&made, "Net", "bf16")[SS_ROOFLINE_FLOPS], 12 * product_flops);
    end(&made);
}

static void a_backward_without_shapes_is_assumed(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_training(&made, false, false);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_true(steps.is_assumed);
    assert_float_equal(steps.flops, 3 * product_flops * (double)steps.steps, 1);
    end(&made);
}

static void what_is_computed_again_is_not_the_model(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "NVIDIA A100-SXM4-80GB");
    make_training(&made, true, true);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_float_equal(steps.flops, 3 * product_flops * (double)steps.steps, 1);
    assert_float_equal(steps.again_flops, product_flops * (double)steps.steps, 1);
    /* The device did it all the same. */
    assert_real(&row_of(&made, "matrix product", "bf16")[SS_ROOFLINE_FLOPS], 16 * product_flops);
    end(&made);
}

static void an_unknown_device_has_no_utilisation(void **state)
{
    (void)state;
    struct made made;
    begin(&made, "");
    make_training(&made, true, false);
    make_table(&made, SS_ROOFLINE_BY_FAMILY);
    struct ss_roofline_steps steps = steps_of(&made);
    assert_float_equal(ss_roofline_mfu(&steps), 0, 0);
    assert_float_equal(ss_roofline_rate(&steps), 3 * product_flops / 100e-6, 1e3);
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
        cmocka_unit_test(the_backward_counts_by_its_own_shapes),
        cmocka_unit_test(a_backward_without_shapes_is_assumed),
        cmocka_unit_test(what_is_computed_again_is_not_the_model),
        cmocka_unit_test(an_unknown_device_has_no_utilisation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
