/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/recorded_steps.h"

#include <string.h>

#include "base/alloc.h"

/* A step without losses is one whose begin is told, and no loss after that. */
static struct ss_told_values told_values(const struct ss_model *model, size_t first, size_t end)
{
    struct ss_told_values told = {.at = first, .end = end};
    for (size_t i = first; i < end; i++) {
        double value = ss_model_real(&model->values.data[i]);
        bool is_lossy = i + 1 < end && ss_model_real(&model->values.data[i + 1]) < 0;
        told.lost_some = told.lost_some || value < 0;
        told.has_whole = told.has_whole || (value > 0 && i + 1 < end && !is_lossy);
    }
    return told;
}

void ss_recorded_steps_init(struct ss_recorded_steps *recorded, const struct ss_model *model)
{
    *recorded = (struct ss_recorded_steps){
        .model = model, .told = ss_alloc_zero(model->processes.count + 1, sizeof *recorded->told)};
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t id = model->values.data[first].track;
        const struct ss_model_track *track = &model->tracks.data[id];
        for (end = first; end < model->values.count && model->values.data[end].track == id;) {
            end++;
        }
        if (track->process != 0 &&
            strcmp(ss_model_text(model, track->name), "operators recorded") == 0) {
            recorded->told[track->process] = told_values(model, first, end);
        }
    }
}

void ss_recorded_steps_fini(struct ss_recorded_steps *recorded)
{
    ss_free(recorded->told);
    *recorded = (struct ss_recorded_steps){0};
}

/* What was told last before the end: 1 where nothing was. */
static double told_at(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns)
{
    const struct ss_model_value *values = recorded->model->values.data;
    struct ss_told_values *told = &recorded->told[process];
    while (told->at + 1 < told->end && values[told->at + 1].time_ns < end_ns) {
        told->at++;
    }
    return told->at == told->end || values[told->at].time_ns >= end_ns
               ? 1
               : ss_model_real(&values[told->at]);
}

bool ss_recorded_steps_has(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns)
{
    return told_at(recorded, process, end_ns) != 0;
}

bool ss_recorded_steps_counts(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns)
{
    double told = told_at(recorded, process, end_ns);
    return told > 0 || (told < 0 && !recorded->told[process].has_whole);
}

bool ss_recorded_steps_lost_some(const struct ss_recorded_steps *recorded, uint32_t process)
{
    return recorded->told[process].lost_some && !recorded->told[process].has_whole;
}
