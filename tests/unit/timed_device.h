/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that uses devices, whose times a test gives one by one: calls of its main thread, works
 * on streams, steps and phases. Ranges of a track are added in order of their start, those of one
 * track together.
 *
 *     struct timed timed;
 *     timed_begin(&timed);
 *     timed_launch(&timed, 100, 110, 1);
 *     uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
 *     timed_kernel(&timed, stream, "gemm", 150, 250, 1);
 *     timed_load(&timed);
 *     …
 *     timed_end(&timed);
 *
 * Further processes, such as ranks, come one after the other: timed_process().
 */
#ifndef SS_TESTS_TIMED_DEVICE_H
#define SS_TESTS_TIMED_DEVICE_H

#include "analysis/selection/selection.h"
#include "analysis/steps/steps.h"
#include "model_builder.h"

enum { TIMED_NONE = -1 }; /* no correlation */

struct timed {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary training;
    uint32_t process, thread, steps, phases, calls;
    int64_t step_count;
};

/* What is added from here on is of a new process, whose main thread has its number. */
static inline void timed_process(struct timed *timed, int32_t pid)
{
    timed->process = BUILD_PROCESS(&timed->model, .pid = pid);
    timed->thread =
        BUILD_THREAD(&timed->model, .process = timed->process, .tid = pid, .is_main = true);
    timed->step_count = 0;
    timed->steps = BUILD_TRACK(&timed->model, .kind = SS_TRACK_STEPS, .process = timed->process,
                               .thread = timed->thread, .name = "step");
    timed->phases = BUILD_TRACK(&timed->model, .kind = SS_TRACK_PHASES, .process = timed->process,
                                .thread = timed->thread, .name = "phase");
    timed->calls = BUILD_TRACK(&timed->model, .kind = SS_TRACK_RANGES, .process = timed->process,
                               .thread = timed->thread, .name = "torch");
}

static inline void timed_begin(struct timed *timed)
{
    *timed = (struct timed){0};
    ss_model_init(&timed->model);
    timed_process(timed, 42);
}

static inline void timed_range(struct timed *timed, uint32_t track, const char *name,
                               const char *category, enum ss_event_type type, uint64_t begin_ns,
                               uint64_t end_ns, uint32_t payload)
{
    struct ss_model *model = &timed->model;
    BUILD_RANGE(model, .track = track, .name = name, .category = category, .begin_ns = begin_ns,
                .end_ns = end_ns, .payload = payload);
    uint32_t path = model->ranges.data[model->ranges.count - 1].path;
    model->names.data[model->paths.data[path].name].type = type;
}

static inline void timed_step(struct timed *timed, uint64_t begin_ns, uint64_t end_ns)
{
    timed_range(timed, timed->steps, "step", NULL, SS_EVENT_TYPE_NONE, begin_ns, end_ns,
                build_integer(&timed->model, timed->step_count++));
}

static inline void timed_phase(struct timed *timed, const char *name, uint64_t begin_ns,
                               uint64_t end_ns)
{
    timed_range(timed, timed->phases, name, NULL, SS_EVENT_TYPE_NONE, begin_ns, end_ns, 0);
}

static inline uint32_t timed_number(struct timed *timed, int64_t number)
{
    return number != TIMED_NONE ? build_integer(&timed->model, number) : 0;
}

static inline void timed_call(struct timed *timed, const char *name, enum ss_event_type type,
                              uint64_t begin_ns, uint64_t end_ns, int64_t correlation)
{
    timed_range(timed, timed->calls, name, "runtime", type, begin_ns, end_ns,
                timed_number(timed, correlation));
}

static inline void timed_launch(struct timed *timed, uint64_t begin_ns, uint64_t end_ns,
                                int64_t correlation)
{
    timed_call(timed, "cudaLaunchKernel", SS_EVENT_TYPE_launch, begin_ns, end_ns, correlation);
}

static inline uint32_t timed_device(struct timed *timed, int32_t number)
{
    ss_vec_push(&timed->model.devices,
                (struct ss_model_device){.kind = SS_DEVICE_GPU, .number = number});
    return (uint32_t)timed->model.devices.count - 1;
}

/* Returns its track. */
static inline uint32_t timed_stream(struct timed *timed, uint32_t device, uint64_t number)
{
    struct ss_model *model = &timed->model;
    ss_vec_push(&model->streams, (struct ss_model_stream){.device = device, .number = number});
    uint32_t track = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = timed->process,
                                 .device = device, .name = "stream");
    model->tracks.data[track].stream = (uint32_t)model->streams.count - 1;
    return track;
}

static inline void timed_kernel(struct timed *timed, uint32_t stream, const char *name,
                                uint64_t begin_ns, uint64_t end_ns, int64_t correlation)
{
    timed_range(timed, stream, name, "kernel", SS_EVENT_TYPE_kernel, begin_ns, end_ns,
                timed_number(timed, correlation));
}

/* A copy has its size as payload, its correlation and the memory that it reads as fields. NULL: the
 * memory is unknown. */
static inline void timed_copy_from(struct timed *timed, uint32_t stream, const char *name,
                                   uint64_t begin_ns, uint64_t end_ns, int64_t correlation,
                                   const char *from_memory, int64_t bytes)
{
    struct ss_model *model = &timed->model;
    struct ss_model_payload payload = {.type = SS_VALUE_INT, .integer = bytes};
    if (correlation != TIMED_NONE || from_memory != NULL) {
        payload.first_field = (uint32_t)model->fields.count;
        if (correlation != TIMED_NONE) {
            ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_correlation,
                                                                .type = SS_VALUE_UINT,
                                                                .natural = (uint64_t)correlation});
        }
        if (from_memory != NULL) {
            ss_vec_push(&model->fields,
                        (struct ss_model_field){.field = SS_EVENT_FIELD_from_memory,
                                                .type = SS_VALUE_TEXT,
                                                .text = build_text(model, from_memory)});
        }
        ss_vec_push_zero(&model->fields);
    }
    ss_vec_push(&model->payloads, payload);
    timed_range(timed, stream, name, "copy", SS_EVENT_TYPE_copy, begin_ns, end_ns,
                (uint32_t)model->payloads.count - 1);
}

static inline void timed_copy(struct timed *timed, uint32_t stream, const char *name,
                              uint64_t begin_ns, uint64_t end_ns, int64_t correlation)
{
    timed_copy_from(timed, stream, name, begin_ns, end_ns, correlation, NULL, 4096);
}

static inline void timed_load(struct timed *timed)
{
    static const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    static const struct ss_steps_options all_steps = {0};
    if (ss_selection_init(&timed->selection, &timed->model, &all, NULL) != SS_OK) {
        ss_bug("a bad filter");
    }
    ss_step_summary_init(&timed->training, &timed->selection, &all_steps);
}

static inline void timed_end(struct timed *timed)
{
    ss_step_summary_fini(&timed->training);
    ss_selection_fini(&timed->selection);
    ss_model_fini(&timed->model);
}

#endif
