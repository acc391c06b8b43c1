/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/step_points.h"

static uint64_t duration_of(const struct ss_step *step)
{
    return step->end_ns - step->begin_ns;
}

static uint64_t first_begin(const struct ss_step_summary *training)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < training->steps.count; i++) {
        uint64_t begin_ns = training->steps.data[i].begin_ns;
        first = begin_ns < first ? begin_ns : first;
    }
    return first;
}

static void add_point(struct ss_step_points *points, const struct ss_step_summary *training,
                      size_t step, uint64_t origin_ns)
{
    const struct ss_step *from = &training->steps.data[step];
    ss_vec_push(&points->rows, (struct ss_step_point){.process = from->process,
                                                      .number = from->number,
                                                      .kind = from->kind,
                                                      .begin_ns = from->begin_ns - origin_ns,
                                                      .duration_ns = duration_of(from)});
    for (size_t p = 0; p < training->phases.count; p++) {
        ss_vec_push(&points->phase_ns, training->phase_ns[step * training->phases.count + p]);
    }
}

/* The longest of at most `each` steps of one process from `first` on; `*end`: after the last. */
static size_t longest_of(const struct ss_step_summary *training, size_t first, size_t each,
                         size_t *end)
{
    size_t longest = first, at = first + 1;
    uint32_t process = training->steps.data[first].process;
    while (at < training->steps.count && at < first + each &&
           training->steps.data[at].process == process) {
        if (duration_of(&training->steps.data[at]) > duration_of(&training->steps.data[longest])) {
            longest = at;
        }
        at++;
    }
    *end = at;
    return longest;
}

void ss_step_points_init(struct ss_step_points *points, const struct ss_model *model,
                         const struct ss_step_summary *training)
{
    size_t count = training->steps.count;
    uint64_t origin_ns = first_begin(training);
    *points =
        (struct ss_step_points){.phase_count = training->phases.count,
                                .each = (count + SS_STEP_POINTS_MOST - 1) / SS_STEP_POINTS_MOST};
    for (size_t i = 0; i < points->phase_count; i++) {
        points->phases[i] = ss_step_phase_text(model, &training->phases.data[i]);
    }
    for (size_t i = 0; i < model->processes.count; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        ss_vec_push(&points->pids, (int64_t)process->pid);
        ss_vec_push(&points->ranks, process->has_rank ? (int64_t)process->rank : -1);
    }
    for (size_t at = 0, end; at < count; at = end) {
        size_t longest = longest_of(training, at, points->each, &end);
        add_point(points, training, longest, origin_ns);
    }
}

void ss_step_points_fini(struct ss_step_points *points)
{
    ss_vec_fini(&points->rows);
    ss_vec_fini(&points->phase_ns);
    ss_vec_fini(&points->pids);
    ss_vec_fini(&points->ranks);
}
