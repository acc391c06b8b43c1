/* SPDX-License-Identifier: Apache-2.0 */
/* Operators with shapes, the kernels that they launch, and trainings of them, in memory, whose
 * rooflines can be computed by hand. Include after cmocka.h. */
#ifndef SS_TESTS_ROOFLINE_BUILDER_H
#define SS_TESTS_ROOFLINE_BUILDER_H

#include <string.h>

#include "../model_builder.h"
#include "analysis/roofline/roofline.h"

/* One process on one device; autograd has a thread of its own. */
struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
    struct ss_table table;
    uint32_t process, steps, operators, nodes, modules, stream;
    uint64_t launches;
};

static inline uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t thread,
                                 const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = made->process, .thread = thread,
                       .name = name);
}

static inline void begin(struct made *made, const char *device)
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

static inline void make_table(struct made *made, unsigned grouping)
{
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    static const struct ss_steps_options none = {0};
    struct ss_roofline_options options = {.grouping = grouping};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->training, &made->selection, &none);
    ss_roofline_table(&made->selection, &made->training, &options, &made->table);
}

static inline void end(struct made *made)
{
    ss_table_fini(&made->table);
    ss_step_summary_fini(&made->training);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static inline uint32_t last_name(struct made *made, enum ss_event_type type)
{
    const struct ss_model *model = &made->model;
    uint32_t name = model->paths.data[model->ranges.data[model->ranges.count - 1].path].name;
    model->names.data[name].type = type;
    return name;
}

static inline void add_field(struct made *made, uint32_t payload, uint32_t field, const char *text)
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
static inline uint32_t add_operator(struct made *made, uint32_t track, uint32_t around,
                                    const char *name, uint64_t begin_ns, uint64_t end_ns,
                                    int64_t number, const char *shapes, const char *types)
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

static inline void launch(struct made *made, uint32_t track, uint32_t around, uint64_t at_ns,
                          uint64_t correlation)
{
    BUILD_RANGE(&made->model, .track = track, .around = around, .name = "cudaLaunchKernel",
                .category = "runtime", .begin_ns = at_ns, .end_ns = at_ns + 1,
                .payload = build_integer(&made->model, (int64_t)correlation));
    last_name(made, SS_EVENT_TYPE_launch);
}

static inline void add_kernel(struct made *made, const char *name, uint64_t begin_ns,
                              uint64_t duration_ns, uint64_t correlation)
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

static inline void assert_text(const struct ss_cell *cell, const char *text)
{
    assert_int_equal(cell->type, SS_CELL_TEXT);
    assert_int_equal(cell->text.length, strlen(text));
    assert_memory_equal(cell->text.data, text, cell->text.length);
}

static inline void assert_real(const struct ss_cell *cell, double real)
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
static inline void make_linear(struct made *made)
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

/* Steps of 100 µs. In each, Linear within Net multiplies, once by two operators; the node of
 * autograd multiplies twice, on its own thread, or not at all; with `again`, it first repeats the
 * forward. */
static inline void make_training(struct made *made, bool has_backward, bool again)
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

static inline struct ss_roofline_steps steps_of(struct made *made)
{
    struct ss_roofline_steps steps;
    ss_roofline_find_steps(&steps, &made->selection, &made->training);
    return steps;
}

#endif
