/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/recorded_steps.h"

#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"

/* A step lost nothing when the value at its start is positive and no loss follows it. */
static struct ss_recorded_values summarize(const struct ss_model *model, size_t first, size_t end)
{
    struct ss_recorded_values summary = {.at = first, .end = end};
    for (size_t i = first; i < end; i++) {
        double value = ss_model_real(&model->values.data[i]);
        bool is_lossy = i + 1 < end && ss_model_real(&model->values.data[i + 1]) < 0;
        summary.lost_some = summary.lost_some || value < 0;
        summary.has_whole = summary.has_whole || (value > 0 && i + 1 < end && !is_lossy);
    }
    return summary;
}

void ss_recorded_steps_init(struct ss_recorded_steps *recorded, const struct ss_model *model)
{
    *recorded = (struct ss_recorded_steps){
        .model = model,
        .summaries = ss_alloc_zero(model->processes.count + 1, sizeof *recorded->summaries),
        .details = ss_alloc_zero(model->processes.count + 1, sizeof *recorded->details)};
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t id = model->values.data[first].track;
        const struct ss_model_track *track = &model->tracks.data[id];
        for (end = first; end < model->values.count && model->values.data[end].track == id;) {
            end++;
        }
        const char *name = ss_model_text(model, track->name);
        if (track->process != 0 && strcmp(name, ss_counter_operators_recorded) == 0) {
            recorded->summaries[track->process] = summarize(model, first, end);
        } else if (track->process != 0 && strcmp(name, ss_counter_detail_recorded) == 0) {
            recorded->details[track->process] =
                (struct ss_recorded_values){.at = first, .end = end};
        }
    }
}

void ss_recorded_steps_fini(struct ss_recorded_steps *recorded)
{
    ss_free(recorded->summaries);
    ss_free(recorded->details);
    *recorded = (struct ss_recorded_steps){0};
}

/* The last value before the end; 1 without any. */
static double value_at(const struct ss_recorded_steps *recorded, struct ss_recorded_values *cursor,
                       uint64_t end_ns)
{
    const struct ss_model_value *values = recorded->model->values.data;
    while (cursor->at + 1 < cursor->end && values[cursor->at + 1].time_ns < end_ns) {
        cursor->at++;
    }
    return cursor->at == cursor->end || values[cursor->at].time_ns >= end_ns
               ? 1
               : ss_model_real(&values[cursor->at]);
}

bool ss_recorded_steps_has(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns)
{
    return value_at(recorded, &recorded->summaries[process], end_ns) != 0;
}

bool ss_recorded_steps_is_whole(struct ss_recorded_steps *recorded, uint32_t process,
                                uint64_t end_ns)
{
    return value_at(recorded, &recorded->details[process], end_ns) == 1;
}

bool ss_recorded_steps_is_summed(struct ss_recorded_steps *recorded, uint32_t process,
                                 uint64_t end_ns)
{
    return value_at(recorded, &recorded->details[process], end_ns) == 0;
}

bool ss_recorded_steps_counts(struct ss_recorded_steps *recorded, uint32_t process, uint64_t end_ns)
{
    double value = value_at(recorded, &recorded->summaries[process], end_ns);
    return ss_recorded_steps_is_whole(recorded, process, end_ns) &&
           (value > 0 || (value < 0 && !recorded->summaries[process].has_whole));
}

bool ss_recorded_steps_lost_some(const struct ss_recorded_steps *recorded, uint32_t process)
{
    return recorded->summaries[process].lost_some && !recorded->summaries[process].has_whole;
}

/* Slices of a program without steps are in sums, too. */
bool ss_model_has_summed_steps(const struct ss_model *model)
{
    struct ss_recorded_steps recorded;
    bool found = false;
    ss_recorded_steps_init(&recorded, model);
    for (size_t i = 1; i < model->tracks.count && !found; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        const struct ss_recorded_values *values = &recorded.details[track->process];
        for (size_t k = values->at; track->kind == SS_TRACK_STEPS && k < values->end; k++) {
            found = found || ss_model_real(&model->values.data[k]) == 0;
        }
    }
    ss_recorded_steps_fini(&recorded);
    return found;
}

bool ss_model_has_summed_ranges(const struct ss_model *model)
{
    uint32_t name =
        ss_intern_find(&model->strings, ss_domain_range_sums, sizeof ss_domain_range_sums - 1);
    for (size_t i = 1; i < model->tracks.count && name != 0; i++) {
        if (model->tracks.data[i].name == name) {
            return true;
        }
    }
    return false;
}
