/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_gpu_recorded.h"

#include <stdio.h>
#include <string.h>

#include "analysis/launches/device_work.h"
#include "base/shared_names.h"

static const char *const kernel_names[SS_GPU_KERNELS] = {"stepscope_empty", "stepscope_sleep",
                                                         "stepscope_copy", "stepscope_fma"};

/* --- works ------------------------------------------------------------------------------------ */

static uint64_t number(const struct ss_model *model, const struct ss_model_range *range,
                       uint32_t field)
{
    int64_t value = 0;
    return ss_event_number(model, range, field, &value) && value > 0 ? (uint64_t)value : 0;
}

static struct ss_gpu_span span_of(const struct ss_model_range *range)
{
    return (struct ss_gpu_span){range->begin_ns, range->end_ns};
}

static void add_kernel(struct ss_gpu_recorded *recorded, const struct ss_model *model,
                       const struct ss_device_work *work)
{
    const struct ss_model_range *range = &model->ranges.data[work->range];
    const char *name = ss_model_text(model, model->names.data[work->name].text);
    struct ss_gpu_kernel_work kernel = {.span = span_of(range),
                                        .blocks = number(model, range, SS_EVENT_FIELD_grid_x)};
    if (work->launch != 0) {
        kernel.launch = span_of(&model->ranges.data[work->launch - 1]);
    }
    for (size_t i = 0; i < SS_GPU_KERNELS; i++) {
        if (strcmp(name, kernel_names[i]) == 0) {
            ss_vec_push(&recorded->kernels[i], kernel);
        }
    }
}

static void put_text(struct ss_strview from, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int)from.length, from.data);
}

static void add_copy(struct ss_gpu_recorded *recorded, const struct ss_model *model,
                     const struct ss_device_work *work)
{
    const struct ss_model_range *range = &model->ranges.data[work->range];
    struct ss_gpu_copy_work copy = {.span = span_of(range),
                                    .bytes = number(model, range, SS_EVENT_FIELD_bytes),
                                    .is_set = work->type == SS_EVENT_TYPE_memset};
    put_text(ss_event_text(model, range, SS_EVENT_FIELD_from_memory), copy.from, sizeof copy.from);
    put_text(ss_event_text(model, range, SS_EVENT_FIELD_to_memory), copy.to, sizeof copy.to);
    ss_vec_push(&recorded->copies, copy);
}

static void read_works(struct ss_gpu_recorded *recorded, const struct ss_selection *selection)
{
    const struct ss_device_works *works = ss_selection_works(selection);
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->type == SS_EVENT_TYPE_kernel) {
            add_kernel(recorded, selection->model, work);
        } else {
            add_copy(recorded, selection->model, work);
        }
    }
}

/* --- notes ------------------------------------------------------------------------------------ */

/* The fact "KEY = TEXT" of this key, without it. */
static void read_fact(const char *fact, const char *key, char *text, size_t size)
{
    size_t length = strlen(key);
    if (strncmp(fact, key, length) == 0 && strncmp(fact + length, " = ", 3) == 0) {
        snprintf(text, size, "%s", fact + length + 3);
    }
}

static void read_notes(struct ss_gpu_recorded *recorded, const struct ss_model *model)
{
    const struct {
        const char *kind;
        uint64_t *count;
    } counts[] = {{"gpu-launches", &recorded->launches},
                  {"gpu-dropped-records", &recorded->dropped},
                  {"gpu-refused-buffers", &recorded->refused},
                  {"gpu-untimed-kernels", &recorded->untimed},
                  {"gpu-launches-without-kernel", &recorded->unlaunched},
                  {"gpu-kernels-without-launch", &recorded->unplaced},
                  {"gpu-lost-launches", &recorded->lost_launches},
                  {"gpu-lost-messages", &recorded->lost_messages}};
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        const char *kind = ss_model_text(model, note->kind);
        const char *text = ss_model_text(model, note->text);
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            *counts[j].count += strcmp(kind, counts[j].kind) == 0 ? (uint64_t)note->value : 0;
        }
        if (strcmp(kind, "fact") == 0) {
            read_fact(text, ss_fact_gpu_collector, recorded->collector, sizeof recorded->collector);
            read_fact(text, ss_fact_gpu_problem, recorded->problem, sizeof recorded->problem);
        }
    }
}

/* That of the works. */
static void read_device(struct ss_gpu_recorded *recorded, const struct ss_model *model)
{
    for (size_t i = 0; i < model->tracks.count && recorded->device[0] == '\0'; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->stream != 0 && track->device != 0) {
            const struct ss_model_device *device = &model->devices.data[track->device];
            const char *uuid = ss_model_text(model, device->uuid);
            snprintf(recorded->device, sizeof recorded->device, "%s",
                     uuid[0] != '\0' ? uuid : ss_model_text(model, device->model));
        }
    }
}

static void read_source(struct ss_gpu_recorded *recorded, const struct ss_model *model)
{
    for (size_t i = 0; i < model->sources.count; i++) {
        const struct ss_model_source *source = &model->sources.data[i];
        if (strcmp(ss_model_text(model, source->name), "gpu") == 0) {
            snprintf(recorded->reason, sizeof recorded->reason, "%s",
                     ss_model_text(model, source->reason));
        }
    }
}

/* --- all -------------------------------------------------------------------------------------- */

enum ss_status ss_gpu_recorded_read(const char *path, struct ss_gpu_recorded *recorded,
                                    struct ss_error *err)
{
    static const struct ss_model_load load = {.size = sizeof load, .quiet = true};
    static const struct ss_selection_options all = {.size = sizeof all, .idle = SS_IDLE_ALL};
    struct ss_model model;
    struct ss_selection selection = {0};
    ss_model_init(&model);
    enum ss_status status = ss_model_add_input(&model, path, &load, err);
    if (status == SS_OK) {
        status = ss_selection_init(&selection, &model, &all, err);
    }
    if (status == SS_OK) {
        recorded->is_there = true;
        read_works(recorded, &selection);
        read_notes(recorded, &model);
        read_source(recorded, &model);
        read_device(recorded, &model);
    }
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return status;
}

void ss_gpu_recorded_fini(struct ss_gpu_recorded *recorded)
{
    for (size_t i = 0; i < SS_GPU_KERNELS; i++) {
        ss_vec_fini(&recorded->kernels[i]);
    }
    ss_vec_fini(&recorded->copies);
}

uint64_t ss_gpu_recorded_kernels(const struct ss_gpu_recorded *recorded)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SS_GPU_KERNELS; i++) {
        sum += recorded->kernels[i].count;
    }
    return sum;
}

uint64_t ss_gpu_recorded_count(const struct ss_gpu_recorded *recorded, enum ss_gpu_kernel kind,
                               uint64_t blocks)
{
    uint64_t count = 0;
    for (size_t i = 0; i < recorded->kernels[kind].count; i++) {
        count += recorded->kernels[kind].data[i].blocks == blocks;
    }
    return count;
}
