/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training with a device, in memory: what each step launches is known, for the tests of what is
 * derived from launches. Times of a step are relative to its start, every 1000 ns:
 *
 *     phases     forward [90, 450)  backward [490, 800)
 *     main       linear [100, 300) { addmm [110, 290) number 5 + step { launch [150, 160) matmul,
 *                                                                       copy call [200, 210) } }
 *                launch [400, 410) other, in no operator
 *     Python     main [0, 1000) { forward of train.py:10 [90, 310) { a function of PyTorch
 *                [95, 305) { a built-in function [100, 300) } } }
 *     modules    Net [90, 310) { Linear [95, 305) }
 *     autograd   evaluation [500, 700) { AddmmBackward0 [510, 690) number 5 + step
 *                { mm [520, 600) { launch [530, 540) matmul } } }
 *                evaluation of AccumulateGrad [700, 800) { launch [710, 720) add }
 *
 * Each launch has one work on the stream: matmul 40, a copy 20, other 7, matmul 50, add 9. A work
 * of 3 precedes all of them without a launch, and one of 2 follows.
 */
#ifndef SS_TESTS_LAUNCHED_MODEL_H
#define SS_TESTS_LAUNCHED_MODEL_H

#include "analysis/selection/selection.h"
#include "analysis/steps/steps.h"
#include "model_builder.h"

enum { LAUNCHED_STEPS = 4, LAUNCHED_STEP_NS = 126, LAUNCHED_BEFORE_NS = 3, LAUNCHED_LOST_NS = 2 };

struct launched {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
    uint32_t process, main_thread, autograd;
    const char *stack; /* the field `stack` of addmm, as JSON; NULL: calls of functions instead */
};

static inline uint32_t launched_name(struct ss_model *model, const char *text, const char *category,
                                     enum ss_event_type type)
{
    uint32_t name = build_name(model, text, category);
    model->names.data[name].type = type;
    return name;
}

static inline uint32_t launched_track(struct launched *made, enum ss_track_kind kind,
                                      uint32_t thread, const char *name)
{
    return BUILD_TRACK(&made->model, .kind = kind, .process = made->process, .thread = thread,
                       .name = name);
}

/* A range with a name of a type; returns its path. */
static inline uint32_t launched_range(struct launched *made, uint32_t track, uint32_t around,
                                      uint32_t name, uint64_t begin_ns, uint64_t end_ns,
                                      uint32_t payload)
{
    struct ss_model *model = &made->model;
    uint32_t path = ss_model_path_id(model, around, name);
    ss_vec_push(&model->ranges, (struct ss_model_range){.begin_ns = begin_ns,
                                                        .end_ns = end_ns,
                                                        .track = track,
                                                        .path = path,
                                                        .payload = payload});
    return path;
}

static inline uint32_t launched_op(struct launched *made, uint32_t track, uint32_t around,
                                   const char *text, const char *category, uint64_t begin_ns,
                                   uint64_t end_ns, uint32_t payload)
{
    uint32_t name = launched_name(&made->model, text, category, SS_EVENT_TYPE_operator);
    return launched_range(made, track, around, name, begin_ns, end_ns, payload);
}

static inline void launched_call(struct launched *made, uint32_t track, uint32_t around,
                                 const char *text, uint64_t begin_ns, int64_t correlation)
{
    uint32_t name = launched_name(&made->model, text, "runtime", SS_EVENT_TYPE_launch);
    launched_range(made, track, around, name, begin_ns, begin_ns + 10,
                   build_integer(&made->model, correlation));
}

static inline uint32_t launched_function(struct launched *made, uint32_t track, uint32_t around,
                                         const char *text, const char *file, uint32_t line,
                                         uint64_t begin_ns, uint64_t end_ns)
{
    uint32_t name = build_name(&made->model, text, NULL);
    made->model.names.data[name].file = build_text(&made->model, file);
    made->model.names.data[name].line = line;
    return launched_range(made, track, around, name, begin_ns, end_ns, 0);
}

/* A number with a field of text. */
static inline uint32_t launched_payload(struct ss_model *model, int64_t number, uint16_t field,
                                        const char *text)
{
    struct ss_model_payload payload = {.type = SS_VALUE_INT, .integer = number};
    if (text != NULL) {
        payload.first_field = (uint32_t)model->fields.count;
        ss_vec_push(&model->fields, (struct ss_model_field){.field = field,
                                                            .type = SS_VALUE_TEXT,
                                                            .text = build_text(model, text)});
        ss_vec_push_zero(&model->fields);
    }
    ss_vec_push(&model->payloads, payload);
    return (uint32_t)model->payloads.count - 1;
}

/* A copy has its size as payload, its correlation as a field. */
static inline void launched_work(struct launched *made, uint32_t track, const char *text,
                                 enum ss_event_type type, uint64_t begin_ns, uint64_t ns,
                                 int64_t correlation)
{
    struct ss_model *model = &made->model;
    uint32_t payload = correlation != 0 ? build_integer(model, correlation) : 0;
    if (type == SS_EVENT_TYPE_copy) {
        struct ss_model_payload copy = {
            .type = SS_VALUE_INT, .integer = 4096, .first_field = (uint32_t)model->fields.count};
        ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_correlation,
                                                            .type = SS_VALUE_UINT,
                                                            .natural = (uint64_t)correlation});
        ss_vec_push_zero(&model->fields);
        ss_vec_push(&model->payloads, copy);
        payload = (uint32_t)model->payloads.count - 1;
    }
    launched_range(made, track, 0, launched_name(model, text, NULL, type), begin_ns, begin_ns + ns,
                   payload);
}

static inline void launched_main(struct launched *made)
{
    struct ss_model *model = &made->model;
    uint32_t track = launched_track(made, SS_TRACK_RANGES, made->main_thread, "torch");
    for (int64_t i = 0; i < LAUNCHED_STEPS; i++) {
        uint64_t t = (uint64_t)i * 1000;
        uint32_t linear = launched_op(made, track, 0, "linear", "operator", t + 100, t + 300, 0);
        uint32_t number = launched_payload(model, 5 + i, SS_EVENT_FIELD_stack, made->stack);
        uint32_t addmm =
            launched_op(made, track, linear, "addmm", "operator", t + 110, t + 290, number);
        launched_call(made, track, addmm, "cudaLaunchKernel", t + 150, 10 * i + 1);
        launched_call(made, track, addmm, "cudaMemcpyAsync", t + 200, 10 * i + 2);
        launched_call(made, track, 0, "cudaLaunchKernel", t + 400, 10 * i + 3);
    }
}

static inline void launched_python(struct launched *made)
{
    uint32_t track = launched_track(made, SS_TRACK_RANGES, made->main_thread, "python");
    for (uint64_t t = 0; made->stack == NULL && t < LAUNCHED_STEPS * 1000; t += 1000) {
        uint32_t main = launched_function(made, track, 0, "main", "train.py", 80, t, t + 1000);
        uint32_t forward =
            launched_function(made, track, main, "forward", "train.py", 10, t + 90, t + 310);
        uint32_t call = launched_function(made, track, forward, "_call_impl",
                                          "torch/nn/modules/module.py", 5, t + 95, t + 305);
        launched_function(made, track, call, "<built-in method linear of T object at 0x7f3e>", NULL,
                          0, t + 100, t + 300);
    }
    track = launched_track(made, SS_TRACK_RANGES, made->main_thread, "torch.module");
    for (uint64_t t = 0; t < LAUNCHED_STEPS * 1000; t += 1000) {
        uint32_t net = BUILD_RANGE(&made->model, .track = track, .name = "Net", .begin_ns = t + 90,
                                   .end_ns = t + 310);
        BUILD_RANGE(&made->model, .track = track, .around = net, .name = "Linear",
                    .begin_ns = t + 95, .end_ns = t + 305);
    }
}

static inline void launched_autograd(struct launched *made)
{
    static const char evaluation[] = "autograd::engine::evaluate_function: AddmmBackward0";
    static const char accumulation[] = "autograd::engine::evaluate_function: AccumulateGrad";
    uint32_t track = launched_track(made, SS_TRACK_RANGES, made->autograd, "torch");
    for (int64_t i = 0; i < LAUNCHED_STEPS; i++) {
        uint64_t t = (uint64_t)i * 1000;
        uint32_t outer = launched_op(made, track, 0, evaluation, "backward", t + 500, t + 700, 0);
        uint32_t node = launched_op(made, track, outer, "AddmmBackward0", "backward", t + 510,
                                    t + 690, build_integer(&made->model, 5 + i));
        uint32_t mm = launched_op(made, track, node, "mm", "operator", t + 520, t + 600, 0);
        launched_call(made, track, mm, "cudaLaunchKernel", t + 530, 10 * i + 4);
        outer = launched_op(made, track, 0, accumulation, "backward", t + 700, t + 800, 0);
        launched_call(made, track, outer, "cudaLaunchKernel", t + 710, 10 * i + 5);
    }
}

static inline void launched_device(struct launched *made)
{
    struct ss_model *model = &made->model;
    ss_vec_push(&model->devices, (struct ss_model_device){.kind = SS_DEVICE_GPU});
    ss_vec_push(&model->streams, (struct ss_model_stream){.device = 1, .number = 7});
    uint32_t track = launched_track(made, SS_TRACK_RANGES, 0, "stream 7");
    model->tracks.data[track].device = 1;
    model->tracks.data[track].stream = 1;
    launched_work(made, track, "early", SS_EVENT_TYPE_kernel, 50, LAUNCHED_BEFORE_NS, 999);
    for (int64_t i = 0; i < LAUNCHED_STEPS; i++) {
        uint64_t t = (uint64_t)i * 1000;
        launched_work(made, track, "matmul", SS_EVENT_TYPE_kernel, t + 600, 40, 10 * i + 1);
        launched_work(made, track, "Memcpy HtoD", SS_EVENT_TYPE_copy, t + 650, 20, 10 * i + 2);
        launched_work(made, track, "other", SS_EVENT_TYPE_kernel, t + 680, 7, 10 * i + 3);
        launched_work(made, track, "matmul", SS_EVENT_TYPE_kernel, t + 700, 50, 10 * i + 4);
        launched_work(made, track, "ncclAllReduce", SS_EVENT_TYPE_kernel, t + 800, 9, 10 * i + 5);
    }
    launched_work(made, track, "late", SS_EVENT_TYPE_kernel, LAUNCHED_STEPS * 1000,
                  LAUNCHED_LOST_NS, 998);
}

static inline void launched_steps(struct launched *made)
{
    struct ss_model *model = &made->model;
    uint32_t steps = launched_track(made, SS_TRACK_STEPS, made->main_thread, "step");
    for (int64_t i = 0; i < LAUNCHED_STEPS; i++) {
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = (uint64_t)i * 1000,
                    .end_ns = (uint64_t)(i + 1) * 1000, .payload = build_integer(model, i));
    }
    uint32_t phases = launched_track(made, SS_TRACK_PHASES, made->main_thread, "phase");
    for (uint64_t t = 0; t < LAUNCHED_STEPS * 1000; t += 1000) {
        BUILD_RANGE(model, .track = phases, .name = "forward", .begin_ns = t + 90,
                    .end_ns = t + 450);
        BUILD_RANGE(model, .track = phases, .name = "backward", .begin_ns = t + 490,
                    .end_ns = t + 800);
    }
}

/* `stack`: see struct launched. `thread`: a filter, NULL: all. */
static inline void launched_init(struct launched *made, const char *stack, const char *thread)
{
    struct ss_selection_options options = {.idle = SS_IDLE_ALL, .thread = thread};
    static const struct ss_steps_options all_steps = {0};
    *made = (struct launched){.stack = stack};
    ss_model_init(&made->model);
    made->process = BUILD_PROCESS(&made->model, .pid = 42);
    made->main_thread =
        BUILD_THREAD(&made->model, .process = made->process, .tid = 42, .is_main = true);
    made->autograd = BUILD_THREAD(&made->model, .process = made->process, .tid = 43);
    launched_steps(made);
    launched_main(made);
    launched_python(made);
    launched_autograd(made);
    launched_device(made);
    if (ss_selection_init(&made->selection, &made->model, &options, NULL) != SS_OK) {
        ss_bug("a bad filter");
    }
    ss_step_summary_init(&made->training, &made->selection, &all_steps);
}

static inline void launched_fini(struct launched *made)
{
    ss_step_summary_fini(&made->training);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

#endif
