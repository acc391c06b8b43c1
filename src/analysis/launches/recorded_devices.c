/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/launches/recorded_devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

/* The values of a counter of one process. */
struct counter {
    size_t first, end;
};

struct counters {
    struct counter *devices, *detail; /* by process */
    bool *has_steps;
};

static void find_counters(struct counters *counters, const struct ss_model *model)
{
    size_t count = model->processes.count + 1;
    counters->devices = ss_alloc_zero(count, sizeof *counters->devices);
    counters->detail = ss_alloc_zero(count, sizeof *counters->detail);
    counters->has_steps = ss_alloc_zero(count, sizeof *counters->has_steps);
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t id = model->values.data[first].track;
        const struct ss_model_track *track = &model->tracks.data[id];
        const char *name = ss_model_text(model, track->name);
        for (end = first; end < model->values.count && model->values.data[end].track == id;) {
            end++;
        }
        if (track->process != 0 && strcmp(name, ss_counter_device_work_recorded) == 0) {
            counters->devices[track->process] = (struct counter){first, end};
        } else if (track->process != 0 && strcmp(name, ss_counter_detail_recorded) == 0) {
            counters->detail[track->process] = (struct counter){first, end};
        }
    }
    for (size_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        counters->has_steps[track->process] |= track->kind == SS_TRACK_STEPS;
    }
}

static void free_counters(struct counters *counters)
{
    ss_free(counters->devices);
    ss_free(counters->detail);
    ss_free(counters->has_steps);
}

/* From each value above 0 to the next value, or without end; `from_begin`: what is before the first
 * value counts, too. */
static void add_windows(struct ss_recorded_devices *recorded, uint32_t process,
                        struct counter counter, bool from_begin)
{
    const struct ss_model_value *values = recorded->model->values.data;
    if (from_begin) {
        ss_vec_push(&recorded->windows,
                    (struct ss_recorded_window){process, 0, values[counter.first].time_ns});
    }
    for (size_t i = counter.first; i < counter.end; i++) {
        if (ss_model_real(&values[i]) > 0) {
            struct ss_recorded_window window = {process, values[i].time_ns,
                                                i + 1 < counter.end ? values[i + 1].time_ns
                                                                    : UINT64_MAX};
            ss_vec_push(&recorded->windows, window);
        }
    }
}

/* Cuts the windows from `first` on to the steps that are not summed. */
static void cut_windows(struct ss_recorded_devices *recorded, size_t first, uint32_t process,
                        struct counter detail)
{
    struct ss_recorded_devices steps = {.model = recorded->model};
    size_t end = recorded->windows.count;
    add_windows(&steps, process, detail, true);
    for (size_t i = first, at = 0; i < end; i++) {
        struct ss_recorded_window window = recorded->windows.data[i];
        while (at > 0 && steps.windows.data[at - 1].end_ns > window.begin_ns) {
            at--;
        }
        for (; at < steps.windows.count && steps.windows.data[at].begin_ns < window.end_ns; at++) {
            struct ss_recorded_window part = steps.windows.data[at];
            part.begin_ns = part.begin_ns > window.begin_ns ? part.begin_ns : window.begin_ns;
            part.end_ns = part.end_ns < window.end_ns ? part.end_ns : window.end_ns;
            if (part.begin_ns < part.end_ns) {
                ss_vec_push(&recorded->windows, part);
            }
        }
    }
    size_t cut = recorded->windows.count - end;
    memmove(recorded->windows.data + first, recorded->windows.data + end,
            cut * sizeof *recorded->windows.data);
    recorded->windows.count = first + cut;
    ss_vec_fini(&steps.windows);
}

static void add_process(struct ss_recorded_devices *recorded, const struct counters *counters,
                        uint32_t process)
{
    struct counter devices = counters->devices[process], detail = counters->detail[process];
    bool is_thinned = detail.end > 0 && counters->has_steps[process];
    size_t first = recorded->windows.count;
    recorded->is_partial[process] = devices.end > 0 || is_thinned;
    if (devices.end > 0) {
        add_windows(recorded, process, devices, false);
    }
    if (is_thinned && devices.end > 0) {
        cut_windows(recorded, first, process, detail);
    } else if (is_thinned) {
        add_windows(recorded, process, detail, true);
    }
}

void ss_recorded_devices_init(struct ss_recorded_devices *recorded, const struct ss_model *model)
{
    struct counters counters;
    *recorded = (struct ss_recorded_devices){
        .model = model,
        .is_partial = ss_alloc_zero(model->processes.count + 1, sizeof *recorded->is_partial)};
    find_counters(&counters, model);
    for (uint32_t process = 1; process < model->processes.count; process++) {
        add_process(recorded, &counters, process);
    }
    free_counters(&counters);
}

void ss_recorded_devices_fini(struct ss_recorded_devices *recorded)
{
    ss_free(recorded->is_partial);
    ss_vec_fini(&recorded->windows);
    *recorded = (struct ss_recorded_devices){0};
}

/* The first window of the process that ends after the time, or of a later process. */
static size_t find(const struct ss_recorded_devices *recorded, uint32_t process, uint64_t time_ns)
{
    return ss_search(i, 0, recorded->windows.count,
                     ss_pair_at_most(recorded->windows.data[i].process,
                                     recorded->windows.data[i].end_ns, process, time_ns));
}

uint64_t ss_recorded_devices_until(const struct ss_recorded_devices *recorded, uint32_t process,
                                   uint64_t time_ns)
{
    size_t at = find(recorded, process, time_ns);
    const struct ss_recorded_window *window = &recorded->windows.data[at];
    bool has =
        at < recorded->windows.count && window->process == process && window->begin_ns <= time_ns;
    return has ? window->end_ns : UINT64_MAX;
}

bool ss_recorded_devices_has(const struct ss_recorded_devices *recorded, uint32_t process,
                             uint64_t begin_ns, uint64_t end_ns)
{
    if (!recorded->is_partial[process]) {
        return true;
    }
    uint64_t covered_ns = 0;
    for (size_t i = find(recorded, process, begin_ns); i < recorded->windows.count; i++) {
        const struct ss_recorded_window *window = &recorded->windows.data[i];
        if (window->process != process || window->begin_ns >= end_ns) {
            break;
        }
        uint64_t from_ns = window->begin_ns > begin_ns ? window->begin_ns : begin_ns;
        uint64_t to_ns = window->end_ns < end_ns ? window->end_ns : end_ns;
        covered_ns += to_ns > from_ns ? to_ns - from_ns : 0;
    }
    return (double)covered_ns >= 0.9 * (double)(end_ns - begin_ns);
}
