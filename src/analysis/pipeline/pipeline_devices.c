/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/pipeline/pipeline_devices.h"

#include "base/alloc.h"

/* The phase of a process on the host; SIZE_MAX: none. */
static size_t phase_at(const struct ss_step_parts *parts, uint32_t process, uint64_t time_ns)
{
    size_t first = ss_step_parts_first(parts, process, time_ns);
    bool is_in = first < parts->count && parts->data[first].process == process &&
                 parts->data[first].begin_ns <= time_ns;
    return is_in ? parts->data[first].phase : SIZE_MAX;
}

static void widen(uint64_t *first_ns, uint64_t *last_ns, const struct ss_device_work *work)
{
    *first_ns = work->begin_ns < *first_ns ? work->begin_ns : *first_ns;
    *last_ns = work->end_ns > *last_ns ? work->end_ns : *last_ns;
}

static void add_work(struct ss_pipeline_devices *devices, const struct ss_model *model,
                     const struct ss_device_work *work, const struct ss_step_parts *parts,
                     size_t forward, size_t backward)
{
    if (work->work_class != SS_WORK_COMPUTE || work->launch == 0) {
        return;
    }
    uint64_t launched_ns = model->ranges.data[work->launch - 1].begin_ns;
    const struct ss_step *step = ss_step_at(devices->training, work->process, launched_ns);
    size_t phase = step != NULL ? phase_at(parts, work->process, launched_ns) : SIZE_MAX;
    if (phase != forward && phase != backward) {
        return;
    }
    struct ss_pipeline_pass *pass = &devices->passes[step - devices->training->steps.data];
    if (phase == forward) {
        widen(&pass->first_forward_ns, &pass->last_forward_ns, work);
    } else {
        widen(&pass->first_backward_ns, &pass->last_backward_ns, work);
    }
}

void ss_pipeline_devices_init(struct ss_pipeline_devices *devices,
                              const struct ss_selection *selection,
                              const struct ss_step_summary *training,
                              const struct ss_step_parts *parts, size_t forward, size_t backward)
{
    const struct ss_model *model = selection->model;
    *devices =
        (struct ss_pipeline_devices){.training = training, .works = ss_selection_works(selection)};
    if (!ss_model_has_device_work(model)) {
        return;
    }
    devices->busy = ss_alloc_zero(model->processes.count, sizeof *devices->busy);
    devices->passes = ss_alloc_zero(training->steps.count + 1, sizeof *devices->passes);
    for (size_t i = 0; i < training->steps.count; i++) {
        devices->passes[i].first_forward_ns = devices->passes[i].first_backward_ns = UINT64_MAX;
    }
    for (size_t i = 0; i < devices->works->parts.count; i++) {
        const struct ss_device_part *part = &devices->works->parts.data[i];
        const struct ss_device_work *works = devices->works->works.data + part->first;
        size_t count = part->end - part->first;
        if (i > 0 && part[-1].process == part->process) {
            continue;
        }
        ss_busy_init(&devices->busy[part->process], works, count);
        for (size_t k = 0; k < count; k++) {
            add_work(devices, model, &works[k], parts, forward, backward);
        }
    }
}

bool ss_pipeline_devices_lack(const struct ss_pipeline_devices *devices, const struct ss_step *step)
{
    return step->lacks_kernels && devices->busy != NULL &&
           devices->busy[step->process].segments.count > 0;
}

void ss_pipeline_devices_fini(struct ss_pipeline_devices *devices)
{
    for (size_t i = 0; i < devices->works->parts.count; i++) {
        ss_busy_fini(&devices->busy[devices->works->parts.data[i].process]);
    }
    ss_free(devices->busy);
    ss_free(devices->passes);
}

bool ss_pipeline_devices_find(const struct ss_pipeline_devices *devices, const struct ss_step *step,
                              struct ss_pipeline_pass *pass)
{
    if (devices->passes == NULL) {
        return false;
    }
    const struct ss_pipeline_pass *found = &devices->passes[step - devices->training->steps.data];
    if (found->last_forward_ns == 0 || found->last_backward_ns == 0) {
        return false;
    }
    uint64_t forwards = pass->forwards;
    *pass = *found;
    pass->forwards = forwards;
    return true;
}

uint64_t ss_pipeline_devices_work_ns(const struct ss_pipeline_devices *devices, uint32_t process,
                                     uint64_t from_ns, uint64_t until_ns)
{
    struct ss_busy_times times = {0};
    ss_busy_add_between(&devices->busy[process], from_ns, until_ns, &times);
    return times.class_ns[SS_WORK_COMPUTE];
}
