/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/recorded_steps.h"

#include <string.h>

#include "base/alloc.h"

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
            recorded->told[track->process] = (struct ss_told_values){first, end};
        }
    }
}

void ss_recorded_steps_fini(struct ss_recorded_steps *recorded)
{
    ss_free(recorded->told);
    *recorded = (struct ss_recorded_steps){0};
}

bool ss_recorded_steps_has(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns)
{
    const struct ss_model_value *values = recorded->model->values.data;
    struct ss_told_values *told = &recorded->told[process];
    while (told->at + 1 < told->end && values[told->at + 1].time_ns < end_ns) {
        told->at++;
    }
    return told->at == told->end || values[told->at].time_ns >= end_ns ||
           ss_model_real(&values[told->at]) != 0;
}
