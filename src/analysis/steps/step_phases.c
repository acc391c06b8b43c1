/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of steps: which there are, and the time of each in each step. */
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/step_parts.h"
#include "base/alloc.h"
#include "base/parallel.h"
#include "base/search.h"
#include "base/shared_names.h"

static const char *const ordered_phases[] = {
    ss_phase_data,      ss_phase_forward,    ss_phase_backward,   ss_phase_communication,
    ss_phase_optimizer, ss_phase_checkpoint, ss_phase_evaluation, ss_phase_inference};
enum { ORDERED_COUNT = sizeof ordered_phases / sizeof *ordered_phases, BLOCK_STEPS = 1024 };

static size_t order_of(const struct ss_model *model, const struct ss_step_phase *phase)
{
    size_t at = 0;
    while (at < ORDERED_COUNT &&
           strcmp(ss_model_text(model, phase->name), ordered_phases[at]) != 0) {
        at++;
    }
    return at;
}

/* Known phases first, in the order in which a step has them; the others in order of appearance. */
static void order_phases(struct ss_step_summary *summary, const struct ss_model *model)
{
    struct ss_step_phase *rows = summary->phases.data;
    for (size_t i = 1; i < summary->phases.count; i++) {
        struct ss_step_phase row = rows[i];
        size_t at = i;
        for (; at > 0 && order_of(model, &rows[at - 1]) > order_of(model, &row); at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
}

static void list_phase(struct ss_step_summary *summary, uint32_t name)
{
    size_t count = summary->phases.count;
    if (name != 0 && count < SS_STEP_MAX_PHASES - 1 &&
        ss_step_find_phase(summary, count, name) == count) {
        ss_vec_push(&summary->phases, (struct ss_step_phase){.name = name});
    }
}

static void list_phases(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    if (summary->index.waits.spans.count > 0) {
        list_phase(summary, ss_step_find_name(model, ss_phase_communication));
    }
    const struct ss_range_run *run = NULL;
    while ((run = ss_step_next_run(summary, selection, run)) != NULL) {
        for (size_t i = run->first; i < run->end; i++) {
            list_phase(summary, ss_step_phase_name(model, &model->ranges.data[i]));
        }
    }
    order_phases(summary, model);
    ss_vec_push(&summary->phases, (struct ss_step_phase){.name = 0});
}

/* The phase's time in the process until `time_ns`. */
static uint64_t phase_time_until(const struct ss_step_parts *parts, size_t phase, uint32_t process,
                                 uint64_t time_ns)
{
    const struct ss_step_part key = {.process = process, .phase = phase, .begin_ns = time_ns};
    size_t low =
        ss_search(i, 0, parts->count, ss_step_part_compare_of_phase(&parts->data[i], &key) < 0);
    const struct ss_step_part *last = low > 0 ? &parts->data[low - 1] : NULL;
    if (last == NULL || last->phase != phase || last->process != process) {
        return 0;
    }
    return last->before_ns + (last->end_ns < time_ns ? last->end_ns : time_ns) - last->begin_ns;
}

/* Splits the step into the times of its phases. */
static void split_step(const struct ss_step *step, const struct ss_step_parts *parts,
                       uint64_t *phase_ns, size_t other)
{
    uint64_t rest_ns = step->end_ns - step->begin_ns;
    for (size_t i = 0; i < other; i++) {
        phase_ns[i] = phase_time_until(parts, i, step->process, step->end_ns) -
                      phase_time_until(parts, i, step->process, step->begin_ns);
        rest_ns -= phase_ns[i];
    }
    phase_ns[other] = rest_ns;
}

struct splitting {
    const struct ss_step_summary *summary;
    const struct ss_step_parts *parts;
};

static void split_block(void *context, size_t block)
{
    const struct splitting *splitting = context;
    const struct ss_step_summary *summary = splitting->summary;
    size_t phases = summary->phases.count, end = (block + 1) * BLOCK_STEPS;
    end = end < summary->steps.count ? end : summary->steps.count;
    for (size_t i = block * BLOCK_STEPS; i < end; i++) {
        split_step(&summary->steps.data[i], splitting->parts, summary->phase_ns + i * phases,
                   phases - 1);
    }
}

static void split_steps(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    struct ss_step_parts parts;
    const struct splitting splitting = {summary, &parts};
    ss_step_parts_init(&parts, summary, selection);
    ss_step_parts_sort_by_phase(&parts);
    size_t phases = summary->phases.count;
    summary->phase_ns = ss_alloc_zero(summary->steps.count * phases + 1, sizeof(uint64_t));
    ss_parallel_run(selection->workers, (summary->steps.count + BLOCK_STEPS - 1) / BLOCK_STEPS,
                    split_block, (void *)&splitting);
    ss_step_parts_fini(&parts);
}

void ss_step_phases_find(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    list_phases(summary, selection);
    split_steps(summary, selection);
}
