/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/late_rank.h"

#include "analysis/spots.h"
#include "analysis/told.h"
#include "base/alloc.h"

enum { FEWEST_STEPS = 5 };

/* Means per step, of usual steps and outliers. */
struct rank {
    uint32_t process;
    uint64_t steps, step_ns;
    uint64_t phase_ns[SS_STEP_MAX_PHASES];
};

struct ranks ss_vec_of(struct rank);

static size_t communication_of(const struct ss_model *model, const struct ss_step_summary *steps)
{
    size_t at = 0;
    while (at < steps->phases.count &&
           !ss_strview_equal(ss_step_phase_text(model, &steps->phases.data[at]),
                             ss_strview_of("communication"))) {
        at++;
    }
    return at;
}

static void level(struct rank *rank, size_t phases)
{
    uint64_t steps = rank->steps > 0 ? rank->steps : 1;
    rank->step_ns /= steps;
    for (size_t p = 0; p < phases; p++) {
        rank->phase_ns[p] /= steps;
    }
}

static void collect(const struct ss_step_summary *steps, struct ranks *ranks)
{
    size_t phases = steps->phases.count;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        if (ranks->count == 0 || ranks->data[ranks->count - 1].process != step->process) {
            ss_vec_push(ranks, (struct rank){.process = step->process});
        }
        if (step->kind == SS_STEP_USUAL || step->kind == SS_STEP_OUTLIER) {
            struct rank *rank = &ranks->data[ranks->count - 1];
            rank->steps++;
            rank->step_ns += step->end_ns - step->begin_ns;
            for (size_t p = 0; p < phases; p++) {
                rank->phase_ns[p] += steps->phase_ns[i * phases + p];
            }
        }
    }
    for (size_t i = 0; i < ranks->count; i++) {
        level(&ranks->data[i], phases);
    }
}

/* The one that waits least; the mean of the others. */
static struct rank others_than(const struct ranks *ranks, size_t least, size_t phases)
{
    struct rank mean = {0};
    for (size_t i = 0; i < ranks->count; i++) {
        if (i != least) {
            mean.steps++;
            mean.step_ns += ranks->data[i].step_ns;
            for (size_t p = 0; p < phases; p++) {
                mean.phase_ns[p] += ranks->data[i].phase_ns[p];
            }
        }
    }
    level(&mean, phases);
    return mean;
}

static void find_phase(struct ss_late_rank *late, const struct ss_step_summary *steps,
                       const struct rank *rank, const struct rank *others, size_t communication)
{
    for (size_t p = 0; p < steps->phases.count; p++) {
        uint64_t more_ns =
            rank->phase_ns[p] > others->phase_ns[p] ? rank->phase_ns[p] - others->phase_ns[p] : 0;
        if (p != communication && more_ns > late->more_ns) {
            late->more_ns = more_ns;
            late->phase = &steps->phases.data[p];
        }
    }
}

static void find_line(struct ss_late_rank *late, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_spots spots;
    ss_spots_init(&spots, model);
    for (size_t i = 0; i < model->totals.count && late->phase != NULL; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        const struct ss_model_thread *thread = &model->threads.data[total->thread];
        if (thread->is_main && thread->process == late->process &&
            total->step == SS_SAMPLE_LATER_STEP && total->phase == late->phase->name) {
            ss_spots_add(&spots, model, 0, total, &late->line);
        }
    }
    ss_spots_find(&spots, 0, &late->line);
    ss_spots_fini(&spots);
}

void ss_late_rank_find(struct ss_late_rank *late, const struct ss_selection *selection,
                       const struct ss_step_summary *steps)
{
    *late = (struct ss_late_rank){.rank = -1};
    size_t communication = communication_of(selection->model, steps), least = 0;
    struct ranks ranks = {0};
    if (communication < steps->phases.count) {
        collect(steps, &ranks);
    }
    bool has_few = false;
    for (size_t i = 0; i < ranks.count; i++) {
        has_few = has_few || ranks.data[i].steps < FEWEST_STEPS;
        if (ranks.data[i].phase_ns[communication] < ranks.data[least].phase_ns[communication]) {
            least = i;
        }
    }
    if (ranks.count >= 2 && !has_few) {
        const struct rank *rank = &ranks.data[least];
        struct rank others = others_than(&ranks, least, steps->phases.count);
        uint64_t own_ns = rank->phase_ns[communication];
        uint64_t waited_ns = others.phase_ns[communication];
        if (2 * own_ns < waited_ns) {
            const struct ss_model_note *told =
                ss_told(selection->model, rank->process, "torch.rank");
            *late = (struct ss_late_rank){.process = rank->process,
                                          .rank = told != NULL ? told->value : -1,
                                          .waits_ns = waited_ns - own_ns,
                                          .of_ns = others.step_ns,
                                          .own_ns = own_ns};
            find_phase(late, steps, rank, &others, communication);
            find_line(late, selection);
        }
    }
    ss_vec_fini(&ranks);
}
