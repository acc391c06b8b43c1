/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/recorded_devices.h"

#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"

/* A window ends with the next value, or not at all. */
static void add_windows(struct ss_recorded_devices *recorded, uint32_t process, size_t first,
                        size_t end)
{
    const struct ss_model_value *values = recorded->model->values.data;
    for (size_t i = first; i < end; i++) {
        if (ss_model_real(&values[i]) > 0) {
            struct ss_recorded_window window = {process, values[i].time_ns,
                                                i + 1 < end ? values[i + 1].time_ns : UINT64_MAX};
            ss_vec_push(&recorded->windows, window);
        }
    }
}

void ss_recorded_devices_init(struct ss_recorded_devices *recorded, const struct ss_model *model)
{
    *recorded = (struct ss_recorded_devices){
        .model = model,
        .tracks = ss_alloc_zero(model->processes.count + 1, sizeof *recorded->tracks)};
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t id = model->values.data[first].track;
        const struct ss_model_track *track = &model->tracks.data[id];
        for (end = first; end < model->values.count && model->values.data[end].track == id;) {
            end++;
        }
        if (track->process != 0 &&
            strcmp(ss_model_text(model, track->name), ss_counter_device_work_recorded) == 0) {
            recorded->tracks[track->process] = id;
            add_windows(recorded, track->process, first, end);
        }
    }
}

void ss_recorded_devices_fini(struct ss_recorded_devices *recorded)
{
    ss_free(recorded->tracks);
    ss_vec_fini(&recorded->windows);
    *recorded = (struct ss_recorded_devices){0};
}

bool ss_recorded_devices_has(const struct ss_recorded_devices *recorded, uint32_t process,
                             uint64_t begin_ns, uint64_t end_ns)
{
    if (recorded->tracks[process] == 0) {
        return true;
    }
    uint64_t covered_ns = 0;
    for (size_t i = 0; i < recorded->windows.count; i++) {
        const struct ss_recorded_window *window = &recorded->windows.data[i];
        uint64_t from_ns = window->begin_ns > begin_ns ? window->begin_ns : begin_ns;
        uint64_t to_ns = window->end_ns < end_ns ? window->end_ns : end_ns;
        covered_ns += window->process == process && to_ns > from_ns ? to_ns - from_ns : 0;
    }
    return (double)covered_ns >= 0.9 * (double)(end_ns - begin_ns);
}
