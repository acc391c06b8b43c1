/* SPDX-License-Identifier: Apache-2.0 */
/* What interrupts the steps of a training: late compiling, checkpoints, collections of garbage. */
#include <string.h>

#include "analysis/table/rule_limits.h"
#include "analysis/training/training_facts.h"
#include "base/shared_names.h"

struct scan {
    struct ss_training_facts *facts;
    const struct ss_step *last_compiling; /* the last step with a late compile */
};

/* Compiling is expected in the first steps of a process. */
static bool is_late(const struct ss_step_summary *steps, const struct ss_step *step)
{
    size_t at = (size_t)(step - steps->steps.data);
    return at >= SS_LIMIT_LAST_COMPILING_STEP &&
           step[-SS_LIMIT_LAST_COMPILING_STEP].process == step->process;
}

static void add_collection(struct ss_training_facts *facts, const struct ss_step *step,
                           const struct ss_model_range *range)
{
    const struct ss_phase_time *phase =
        ss_phase_times_at(&facts->steps->index.phases, step->process, range->begin_ns);
    bool counts = step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER;
    bool compiles =
        phase != NULL && strcmp(ss_model_text(facts->model, phase->name), ss_phase_compile) == 0;
    if (counts && !compiles) {
        facts->collections++;
        facts->collections_ns += range->end_ns - range->begin_ns;
    }
}

/* The step that the range belongs to: the one that it begins in or follows; NULL: it is before the
 * first step or after the last one. */
static const struct ss_step *step_of(const struct ss_step_summary *steps, uint32_t process,
                                     const struct ss_model_range *range)
{
    const struct ss_step *step = ss_step_last(steps, process, range->begin_ns);
    if (step == NULL) {
        return NULL;
    }
    const struct ss_step *end = steps->steps.data + steps->steps.count;
    bool is_last = step + 1 == end || step[1].process != process;
    return is_last && range->begin_ns >= step->end_ns ? NULL : step;
}

/* Times are sums until the end. */
static void add_range(struct scan *scan, const char *domain, uint32_t process, bool is_main,
                      const struct ss_model_range *range)
{
    struct ss_training_facts *facts = scan->facts;
    const struct ss_step *step = step_of(facts->steps, process, range);
    uint64_t ns = range->end_ns - range->begin_ns;
    if (step == NULL) {
        return;
    }
    if (strcmp(domain, ss_domain_torch_compile) == 0 && is_late(facts->steps, step)) {
        facts->late_compiles++;
        facts->late_compile_steps += step != scan->last_compiling;
        facts->late_compile_ns += ns;
        scan->last_compiling = step;
    } else if (strcmp(domain, ss_domain_torch_checkpoint) == 0 && is_main) {
        facts->saves++;
        facts->saves_ns += ns;
    } else if (strcmp(domain, ss_domain_python_gc) == 0 && range->begin_ns < step->end_ns &&
               is_main) {
        add_collection(facts, step, range);
    }
}

static void add_run(struct scan *scan, const struct ss_range_run *run)
{
    const struct ss_model *model = scan->facts->model;
    const struct ss_model_track *track = &model->tracks.data[run->track];
    const char *domain = ss_model_text(model, track->name);
    uint32_t process = ss_range_run_process(model, run);
    bool is_main = model->threads.data[track->thread].is_main;
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        bool is_outermost = model->paths.data[range->path].depth == 1;
        if ((range->flags & SS_RANGE_OUTSIDE) == 0 && is_outermost) {
            add_range(scan, domain, process, is_main, range);
        }
    }
}

static uint64_t count_late_steps(const struct ss_step_summary *steps)
{
    uint64_t count = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        count += is_late(steps, step) && step->kind != SS_STEP_CUT &&
                 step->kind != SS_STEP_PROFILED && step->kind != SS_STEP_OUTSIDE;
    }
    return count;
}

void ss_training_interruptions_find(struct ss_training_facts *facts,
                                    const struct ss_selection *selection)
{
    const struct ss_step_summary *steps = facts->steps;
    struct scan scan = {.facts = facts};
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(&steps->index.runs, run, SS_ROLE_RANGES)) != NULL) {
        if (ss_training_has_run(facts, selection, run)) {
            add_run(&scan, run);
        }
    }
    uint64_t but_warm_up = steps->steady + steps->outliers;
    facts->late_compile_ns = ss_training_per(facts->late_compile_ns, count_late_steps(steps));
    facts->collections_ns = ss_training_per(facts->collections_ns, but_warm_up);
    facts->saves_ns = ss_training_per(facts->saves_ns, but_warm_up);
}
