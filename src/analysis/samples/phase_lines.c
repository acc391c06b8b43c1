/* SPDX-License-Identifier: Apache-2.0 */
/* The hot line of each phase, in user code. */
#include "analysis/samples/line_samples.h"

static size_t phase_of(const struct ss_step_summary *summary, uint32_t name)
{
    size_t at = 0;
    while (summary->phases.data[at].name != name) { /* "other", 0, is the last */
        if (++at == summary->phases.count) {
            return at;
        }
    }
    return at;
}

void ss_phase_lines_find(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_line_samples lines;
    ss_line_samples_init(&lines, model);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        bool in_step = total->phase != 0 || total->step != SS_SAMPLE_NO_STEP;
        size_t phase = phase_of(summary, total->phase);
        if (selection->totals[i] && in_step && model->threads.data[total->thread].is_main &&
            phase < summary->phases.count) {
            ss_line_samples_add(&lines, model, phase, total, &summary->phases.data[phase].line);
        }
    }
    for (size_t i = 0; i < summary->phases.count; i++) {
        ss_line_samples_find(&lines, i, &summary->phases.data[i].line);
    }
    ss_line_samples_fini(&lines);
}
