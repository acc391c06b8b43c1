/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training on a device, for the rules: one step, call by call and work by work, which repeats
 * without a change. So each figure per step follows from the shape. Times are in µs from the start
 * of the step. What the shape leaves out is 0.
 *
 *     struct device_shape shape = device_clean;
 *     shape.calls[0] = (struct shaped_call){"cudaLaunchKernel", 1500, 1510};
 *     shape.works[0].begin_us = 1520;
 *     struct device_made made;
 *     device_make(&made, &shape);
 *     …
 *     device_end(&made);
 */
#ifndef SS_TESTS_DEVICE_SHAPE_H
#define SS_TESTS_DEVICE_SHAPE_H

#include "../timed_device.h"
#include "analysis/diagnosis/rules.h"
#include "base/device_api.h"
#include "base/shared_names.h"

enum {
    DEVICE_STEPS = 20,
    SHAPE_PHASES = 2,
    SHAPE_CALLS = 4,
    SHAPE_WORKS = 4,
    SHAPE_STREAMS = 2,
    SHAPE_RANKS = 2,
    FIRST_SHORT_US = 100, /* when the first short kernel is launched */
    SHORT_LAUNCH_US = 10,
    SHORT_DELAY_US = 20,
    CORRELATIONS = 1000, /* of a step */
    SHORT_CORRELATION = 100
};

#define SHAPE_US UINT64_C(1000)

struct shaped_phase {
    const char *name;
    uint64_t begin_us, end_us;
};

/* A call of the device's runtime on the main thread; its name says whether it launches or waits. */
struct shaped_call {
    const char *name;
    uint64_t begin_us, end_us;
    uint32_t each;     /* it is in one of so many steps; 0: in each */
    const char *stack; /* its frames of Python, as the field has them */
};

/* Its name says whether it is a kernel or a copy. */
struct shaped_work {
    const char *name;
    uint64_t begin_us, end_us;
    unsigned launch; /* the call with this number, from 1; 0: none was recorded */
    unsigned stream; /* 0 or 1 */
    const char *from_memory;
    int64_t bytes;
    const char *module; /* of a collective */
};

struct device_shape {
    uint64_t step_us;
    struct shaped_phase phases[SHAPE_PHASES];
    struct shaped_call calls[SHAPE_CALLS]; /* in order of time */
    struct shaped_work works[SHAPE_WORKS]; /* of a stream in order of time */
    /* Of rank 1, which makes the same calls. Without a first one there is only one rank. */
    struct shaped_work works_of_rank_1[SHAPE_WORKS];
    /* So many kernels before all other work: launched every 10 µs, run every `short_each_us`. */
    uint32_t short_kernels;
    uint64_t short_us, short_each_us;
    int64_t allocated_bytes; /* taken from the device at 200 µs, given back at 300 µs */
    const char *model;       /* of the device */
    uint64_t data_samples;   /* at train.py:12, in the phase data */
};

/* Of 10 ms, a matrix product takes 9.78 ms. The device is idle for 200 µs until its launch, and for
 * 20 µs from there: no finding. */
static const struct device_shape device_clean = {
    .step_us = 10000,
    .calls = {{"cudaLaunchKernel", 100, 110, 0}},
    .works = {{.name = "gemm", .begin_us = 120, .end_us = 9900, .launch = 1}}};

struct device_made {
    struct timed timed;
    struct ss_training_facts facts;
    struct ss_diagnosis diagnosis;
};

static inline uint64_t shape_step_ns(const struct device_shape *shape, int64_t step)
{
    return ((uint64_t)step + 1) * shape->step_us * SHAPE_US;
}

static inline void shape_put_host(struct timed *timed, const struct device_shape *shape)
{
    for (int64_t step = 0; step < DEVICE_STEPS; step++) {
        timed_step(timed, shape_step_ns(shape, step), shape_step_ns(shape, step + 1));
    }
    for (int64_t step = 0; step < DEVICE_STEPS; step++) {
        uint64_t at_ns = shape_step_ns(shape, step);
        for (size_t i = 0; i < SHAPE_PHASES && shape->phases[i].name != NULL; i++) {
            const struct shaped_phase *phase = &shape->phases[i];
            timed_phase(timed, phase->name, at_ns + phase->begin_us * SHAPE_US,
                        at_ns + phase->end_us * SHAPE_US);
        }
    }
}

/* Adds the field to the range that was added last. */
static inline void shape_put_field(struct ss_model *model, uint32_t field, const char *text)
{
    model->payloads.data[model->payloads.count - 1].first_field = (uint32_t)model->fields.count;
    ss_vec_push(&model->fields, (struct ss_model_field){.field = field,
                                                        .type = SS_VALUE_TEXT,
                                                        .text = build_text(model, text)});
    ss_vec_push_zero(&model->fields);
}

static inline void shape_put_calls(struct timed *timed, const struct device_shape *shape,
                                   int64_t step)
{
    uint64_t at_ns = shape_step_ns(shape, step);
    for (uint32_t i = 0; i < shape->short_kernels; i++) {
        uint64_t begin_ns = at_ns + (FIRST_SHORT_US + i * SHORT_LAUNCH_US) * SHAPE_US;
        timed_launch(timed, begin_ns, begin_ns + SHORT_LAUNCH_US * SHAPE_US / 2,
                     step * CORRELATIONS + SHORT_CORRELATION + i);
    }
    for (size_t i = 0; i < SHAPE_CALLS && shape->calls[i].name != NULL; i++) {
        const struct shaped_call *call = &shape->calls[i];
        if (call->each == 0 || step % call->each == 0) {
            timed_call(timed, call->name, ss_device_call_type(ss_strview_of(call->name)),
                       at_ns + call->begin_us * SHAPE_US, at_ns + call->end_us * SHAPE_US,
                       step * CORRELATIONS + (int64_t)i + 1);
            if (call->stack != NULL) {
                shape_put_field(&timed->model, SS_EVENT_FIELD_stack, call->stack);
            }
        }
    }
}

static inline void shape_put_short_kernels(struct timed *timed, const struct device_shape *shape,
                                           uint32_t stream, int64_t step)
{
    uint64_t at_ns = shape_step_ns(shape, step) + (FIRST_SHORT_US + SHORT_DELAY_US) * SHAPE_US;
    for (uint32_t i = 0; i < shape->short_kernels; i++) {
        uint64_t begin_ns = at_ns + i * shape->short_each_us * SHAPE_US;
        timed_kernel(timed, stream, "vectorized_elementwise_kernel", begin_ns,
                     begin_ns + shape->short_us * SHAPE_US,
                     step * CORRELATIONS + SHORT_CORRELATION + i);
    }
}

static inline void shape_put_work(struct timed *timed, const struct shaped_work *work,
                                  uint32_t stream, uint64_t at_ns, int64_t correlation)
{
    uint64_t begin_ns = at_ns + work->begin_us * SHAPE_US, end_ns = at_ns + work->end_us * SHAPE_US;
    if (ss_device_work_type(ss_strview_of(work->name)) == SS_EVENT_TYPE_copy) {
        timed_copy_from(timed, stream, work->name, begin_ns, end_ns, correlation, work->from_memory,
                        work->bytes);
    } else {
        timed_kernel(timed, stream, work->name, begin_ns, end_ns, correlation);
        if (work->module != NULL) {
            shape_put_field(&timed->model, SS_EVENT_FIELD_module, work->module);
        }
    }
}

static inline void shape_put_allocation(struct timed *timed, uint32_t track, uint64_t time_ns,
                                        int64_t bytes)
{
    struct ss_model *model = &timed->model;
    uint32_t first = (uint32_t)model->fields.count;
    ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_address,
                                                        .type = SS_VALUE_UINT,
                                                        .natural = 4096});
    ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_to_memory,
                                                        .type = SS_VALUE_TEXT,
                                                        .text = build_text(model, "device")});
    ss_vec_push_zero(&model->fields);
    ss_vec_push(
        &model->payloads,
        (struct ss_model_payload){.type = SS_VALUE_INT, .integer = bytes, .first_field = first});
    BUILD_MARK(model, .track = track, .name = "memory", .time_ns = time_ns,
               .payload = (uint32_t)model->payloads.count - 1);
    model->names.data[build_name(model, "memory", NULL)].type = SS_EVENT_TYPE_allocation;
}

static inline void shape_put_allocations(struct timed *timed, const struct device_shape *shape,
                                         uint32_t device)
{
    uint32_t track = BUILD_TRACK(&timed->model, .kind = SS_TRACK_RANGES, .process = timed->process,
                                 .device = device, .group = "GPU", .name = ss_domain_cuda_memory);
    for (int64_t step = 0; step < DEVICE_STEPS && shape->allocated_bytes > 0; step++) {
        uint64_t at_ns = shape_step_ns(shape, step);
        shape_put_allocation(timed, track, at_ns + 200 * SHAPE_US, shape->allocated_bytes);
        shape_put_allocation(timed, track, at_ns + 300 * SHAPE_US, -shape->allocated_bytes);
    }
}

static inline void shape_put_device(struct timed *timed, const struct device_shape *shape,
                                    const struct shaped_work *works, int32_t number)
{
    uint32_t device = timed_device(timed, number);
    timed->model.devices.data[device].model = build_text(&timed->model, shape->model);
    shape_put_allocations(timed, shape, device);
    for (unsigned of = 0; of < SHAPE_STREAMS; of++) {
        uint32_t stream = timed_stream(timed, device, 7 + of);
        for (int64_t step = 0; step < DEVICE_STEPS; step++) {
            if (of == 0) {
                shape_put_short_kernels(timed, shape, stream, step);
            }
            for (size_t i = 0; i < SHAPE_WORKS && works[i].name != NULL; i++) {
                if (works[i].stream == of) {
                    int64_t correlation =
                        works[i].launch > 0 ? step * CORRELATIONS + works[i].launch : TIMED_NONE;
                    shape_put_work(timed, &works[i], stream, shape_step_ns(shape, step),
                                   correlation);
                }
            }
        }
    }
}

static inline void shape_put_samples(struct timed *timed, const struct device_shape *shape)
{
    struct ss_model *model = &timed->model;
    ss_model_add_total(
        model, &(struct ss_model_total){
                   .thread = timed->thread,
                   .stack = BUILD_CALL(model, 0, .function = "train", .file = "train.py",
                                       .line = 12, .first_line = 1, .origin = SS_ORIGIN_USER),
                   .phase = build_text(model, "data"),
                   .step = SS_SAMPLE_LATER_STEP,
                   .state = SS_STATE_SLEEPING,
                   .samples = shape->data_samples,
                   .records = shape->data_samples});
}

static inline void shape_put_rank(struct timed *timed, const struct device_shape *shape,
                                  const struct shaped_work *works, int32_t rank, uint32_t ranks)
{
    struct ss_model_process *process = &timed->model.processes.data[timed->process];
    process->rank = (uint32_t)rank;
    process->world_size = ranks;
    process->has_rank = ranks > 1;
    shape_put_host(timed, shape);
    for (int64_t step = 0; step < DEVICE_STEPS; step++) {
        shape_put_calls(timed, shape, step);
    }
    shape_put_device(timed, shape, works, rank);
    if (shape->data_samples > 0) {
        shape_put_samples(timed, shape);
    }
}

static inline void device_make(struct device_made *made, const struct device_shape *shape)
{
    struct timed *timed = &made->timed;
    uint32_t ranks = shape->works_of_rank_1[0].name != NULL ? SHAPE_RANKS : 1;
    timed_begin(timed);
    shape_put_rank(timed, shape, shape->works, 0, ranks);
    if (ranks > 1) {
        timed_process(timed, 43);
        shape_put_rank(timed, shape, shape->works_of_rank_1, 1, ranks);
    }
    timed_load(timed);
    ss_training_facts_init(&made->facts, &timed->selection, &timed->training,
                           &(struct ss_source_lines){0});
    ss_diagnosis_init(&made->diagnosis, &made->facts);
}

static inline void device_end(struct device_made *made)
{
    ss_diagnosis_fini(&made->diagnosis);
    ss_training_facts_fini(&made->facts);
    timed_end(&made->timed);
}

#endif
