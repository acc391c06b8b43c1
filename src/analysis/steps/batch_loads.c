/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/batch_loads.h"

#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"

static double *sum_of(const struct ss_model *model, const struct ss_model_track *track,
                      struct ss_batch_load *load)
{
    const char *name = ss_model_text(model, track->name);
    return track->kind != SS_TRACK_COUNTER || track->process == 0 ? NULL
           : strcmp(name, ss_counter_batch_examples) == 0         ? &load->examples
           : strcmp(name, ss_counter_batch_tokens) == 0           ? &load->tokens
           : strcmp(name, ss_counter_batch_length) == 0           ? &load->length
           : strcmp(name, ss_counter_batch_elements) == 0         ? &load->elements
                                                                  : NULL;
}

static bool is_counted(const struct ss_step *step)
{
    return step != NULL && (step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER);
}

struct ss_batch_load *ss_batch_loads_find(const struct ss_model *model,
                                          const struct ss_step_summary *training)
{
    size_t processes = model->processes.count + 1;
    struct ss_batch_load *loads = ss_alloc_zero(processes, sizeof *loads);
    uint64_t *steps = ss_alloc_zero(processes, sizeof *steps);
    uint64_t *lengths = ss_alloc_zero(processes, sizeof *lengths);
    for (size_t i = 0; i < training->steps.count; i++) {
        steps[training->steps.data[i].process] += is_counted(&training->steps.data[i]);
    }
    for (size_t i = 0; i < model->values.count && training->steps.count > 0; i++) {
        const struct ss_model_value *value = &model->values.data[i];
        const struct ss_model_track *track = &model->tracks.data[value->track];
        struct ss_batch_load *load = &loads[track->process];
        double *sum = sum_of(model, track, load);
        if (sum != NULL && is_counted(ss_step_at(training, track->process, value->time_ns))) {
            *sum += ss_model_real(value);
            lengths[track->process] += sum == &load->length;
        }
    }
    for (size_t i = 0; i < processes; i++) {
        double count = steps[i] > 0 ? (double)steps[i] : 1;
        loads[i].examples /= count;
        loads[i].tokens /= count;
        loads[i].elements /= count;
        loads[i].length /= lengths[i] > 0 ? (double)lengths[i] : 1;
    }
    ss_free(steps);
    ss_free(lengths);
    return loads;
}
