/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_profiles.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/ranks/collective_table.h"
#include "analysis/selection/program_facts.h"
#include "analysis/table/distribution.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* --- steps ------------------------------------------------------------------------------------ */

static struct ss_rank_profile *profile_of(struct ss_rank_profiles *profiles, uint32_t process)
{
    for (size_t i = profiles->rows.count; i > 0; i--) {
        if (profiles->rows.data[i - 1].process == process) {
            return &profiles->rows.data[i - 1];
        }
    }
    ss_vec_push(&profiles->rows, (struct ss_rank_profile){.process = process});
    return &profiles->rows.data[profiles->rows.count - 1];
}

const struct ss_rank_profile *ss_rank_profile_of(const struct ss_rank_profiles *profiles,
                                                 uint32_t process)
{
    for (size_t i = 0; i < profiles->rows.count; i++) {
        if (profiles->rows.data[i].process == process) {
            return &profiles->rows.data[i];
        }
    }
    return NULL;
}

static bool is_counted(const struct ss_step *step)
{
    return step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER;
}

static void sum_steps(struct ss_rank_profiles *profiles, const struct ss_step_summary *training)
{
    size_t phases = training->phases.count;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        struct ss_rank_profile *row = profile_of(profiles, step->process);
        if (!is_counted(step)) {
            continue;
        }
        row->steps++;
        row->device_steps += step->has_device_work;
        row->step_ns += step->end_ns - step->begin_ns;
        for (size_t p = 0; p < phases; p++) {
            row->phase_ns[p] += training->phase_ns[i * phases + p];
        }
    }
}

static void sum_devices(struct ss_rank_profiles *profiles, const struct ss_device_summary *devices,
                        const struct ss_step_summary *training)
{
    for (size_t i = 0; devices != NULL && i < devices->steps.count; i++) {
        const struct ss_device_step *on = &devices->steps.data[i];
        const struct ss_step *step = &training->steps.data[on->step];
        if (is_counted(step)) {
            struct ss_rank_profile *row = profile_of(profiles, step->process);
            row->compute_ns += on->times.class_ns[SS_WORK_COMPUTE];
            row->communication_ns += on->times.class_ns[SS_WORK_COMMUNICATION];
        }
    }
}

static uint64_t phase_ns(const struct ss_rank_profile *row, const struct ss_step_summary *training,
                         const struct ss_model *model, const char *name)
{
    for (size_t p = 0; p < training->phases.count; p++) {
        struct ss_strview text = ss_step_phase_text(model, &training->phases.data[p]);
        if (ss_strview_equal(text, ss_strview_of(name))) {
            return row->phase_ns[p];
        }
    }
    return 0;
}

static uint64_t find_batch(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_note *fact = ss_program_fact(model, process, ss_fact_model_batch_size);
    if (fact == NULL) {
        fact = ss_program_fact(model, process, ss_fact_loader_batch_size);
    }
    return fact != NULL && fact->value > 0 ? (uint64_t)fact->value : 0;
}

static void finish_row(struct ss_rank_profile *row, const struct ss_step_summary *training,
                       const struct ss_model *model, bool has_devices)
{
    uint64_t steps = row->steps > 0 ? row->steps : 1;
    for (size_t p = 0; p < training->phases.count; p++) {
        row->phase_ns[p] /= steps;
    }
    row->step_ns /= steps;
    row->compute_ns /= row->device_steps > 0 ? row->device_steps : 1;
    row->communication_ns /= row->device_steps > 0 ? row->device_steps : 1;
    row->data_ns = phase_ns(row, training, model, ss_phase_data);
    row->rank = ss_rank_of(model, row->process);
    row->batch = find_batch(model, row->process);
    if (!has_devices) {
        row->communication_ns = phase_ns(row, training, model, ss_phase_communication);
        row->compute_ns = phase_ns(row, training, model, ss_phase_forward) +
                          phase_ns(row, training, model, ss_phase_backward) +
                          phase_ns(row, training, model, ss_phase_optimizer);
    }
}

/* --- stages ----------------------------------------------------------------------------------- */

/* The lower of two middle values: of two ranks, the slower one exceeds the other. */
static uint64_t median_of_phase(const struct ss_rank_profiles *profiles, size_t phase,
                                uint64_t *values)
{
    size_t count = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        if (profiles->rows.data[i].steps > 0) {
            values[count++] = profiles->rows.data[i].phase_ns[phase];
        }
    }
    if (count == 0) {
        return 0;
    }
    ss_sort_u64(values, count);
    return values[(count - 1) / 2];
}

/* Time in communication is what others cause. */
static void find_stages(struct ss_rank_profiles *profiles, const struct ss_step_summary *training,
                        const struct ss_model *model)
{
    uint64_t *values = ss_alloc_zero(profiles->rows.count + 1, sizeof *values);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        profiles->rows.data[i].stage = training->phases.count;
    }
    for (size_t p = 0; p < training->phases.count; p++) {
        struct ss_strview text = ss_step_phase_text(model, &training->phases.data[p]);
        uint64_t median_ns = median_of_phase(profiles, p, values);
        bool is_waiting = ss_strview_equal(text, ss_strview_of(ss_phase_communication));
        for (size_t i = 0; i < profiles->rows.count && !is_waiting; i++) {
            struct ss_rank_profile *row = &profiles->rows.data[i];
            uint64_t more_ns = row->phase_ns[p] > median_ns ? row->phase_ns[p] - median_ns : 0;
            if (more_ns > row->stage_ns) {
                row->stage = p;
                row->stage_ns = more_ns;
            }
        }
    }
    ss_free(values);
}

/* --- all -------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct ss_rank_profile *a = left, *b = right;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->process > b->process) - (a->process < b->process);
}

/* Processes with collectives, but without steps. */
static void add_collective_ranks(struct ss_rank_profiles *profiles, const struct ss_model *model)
{
    const struct ss_collectives *collectives = &profiles->collectives;
    bool *is_rank = ss_alloc_zero(model->processes.count, sizeof *is_rank);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        is_rank[profiles->rows.data[i].process] = true;
    }
    for (size_t i = 0; i < collectives->rows.count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        for (size_t k = row->first; k < row->first + row->count; k++) {
            uint32_t process = collectives->calls.rows.data[k].process;
            if (!is_rank[process]) {
                ss_vec_push(&profiles->rows, (struct ss_rank_profile){.process = process});
                is_rank[process] = true;
            }
        }
    }
    ss_free(is_rank);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* The job of a rank, from 1; 0: it has no collectives. */
static uint32_t job_of(const struct ss_rank_profiles *profiles, uint32_t process)
{
    const struct ss_rank_calls *calls = &profiles->collectives.calls;
    for (size_t i = 0; i < calls->rows.count; i++) {
        if (calls->rows.data[i].process == process) {
            return calls->rows.data[i].job + 1;
        }
    }
    return 0;
}

/* Ranks are compared with those of their job: the one with most ranks stays. */
static void keep_largest_job(struct ss_rank_profiles *profiles)
{
    uint32_t jobs = profiles->collectives.calls.jobs, largest = 1;
    if (jobs < 2) {
        return;
    }
    uint32_t *job = ss_alloc_zero(profiles->rows.count, sizeof *job);
    size_t *ranks = ss_alloc_zero(jobs + 1, sizeof *ranks);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        job[i] = job_of(profiles, profiles->rows.data[i].process);
        ranks[job[i]]++;
        largest = job[i] != 0 && ranks[job[i]] > ranks[largest] ? job[i] : largest;
    }
    size_t count = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        if (job[i] == 0 || job[i] == largest) {
            profiles->rows.data[count++] = profiles->rows.data[i];
        }
    }
    profiles->left_out = profiles->rows.count - count;
    profiles->rows.count = count;
    ss_free(ranks);
    ss_free(job);
}

static uint32_t find_world_size(const struct ss_rank_profiles *profiles,
                                const struct ss_model *model)
{
    uint32_t size = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        uint32_t stated = model->processes.data[profiles->rows.data[i].process].world_size;
        if (stated == 0 || (size != 0 && stated != size)) {
            return 0;
        }
        size = stated;
    }
    return size;
}

void ss_rank_profiles_init(struct ss_rank_profiles *profiles, const struct ss_selection *selection,
                           const struct ss_device_summary *devices,
                           const struct ss_step_summary *training)
{
    *profiles = (struct ss_rank_profiles){.has_steps = training->steps.count > 0};
    ss_collectives_init(&profiles->collectives, selection, ss_selection_works(selection), training);
    ss_blame_init(&profiles->blame, selection->model, &profiles->collectives,
                  profiles->collectives.steady > 0);
    sum_steps(profiles, training);
    sum_devices(profiles, devices, training);
    add_collective_ranks(profiles, selection->model);
    keep_largest_job(profiles);
    profiles->world_size = find_world_size(profiles, selection->model);
    bool has_devices = devices != NULL && devices->steps.count > 0;
    struct ss_batch_load *loads = ss_batch_loads_find(selection->model, training);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        finish_row(&profiles->rows.data[i], training, selection->model, has_devices);
        profiles->rows.data[i].load = loads[profiles->rows.data[i].process];
    }
    ss_free(loads);
    if (profiles->rows.count > 1) {
        qsort(profiles->rows.data, profiles->rows.count, sizeof *profiles->rows.data, compare);
    }
    find_stages(profiles, training, selection->model);
}

void ss_rank_profiles_fini(struct ss_rank_profiles *profiles)
{
    ss_blame_fini(&profiles->blame);
    ss_collectives_fini(&profiles->collectives);
    ss_vec_fini(&profiles->rows);
}

/* Few steps are stated as they are. */
static bool is_by_chance(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row)
{
    const struct ss_blame *blame = &profiles->blame;
    bool is_judged = !profiles->has_steps || row->steps >= SS_LIMIT_FEWEST_STEPS;
    return is_judged && !isnan(blame->excess_error_ns) &&
           blame->excess_ns < SS_LIMIT_SLOW_RANK_ERRORS * blame->excess_error_ns;
}

static bool is_small(const struct ss_rank_profiles *profiles, const struct ss_rank_profile *row)
{
    uint64_t cost_ns = ss_rank_profiles_cost_ns(profiles, row);
    return row->step_ns > 0 && 100 * cost_ns < SS_LIMIT_FINDING_PERCENT * row->step_ns;
}

const struct ss_rank_profile *ss_rank_profiles_slowest(const struct ss_rank_profiles *profiles)
{
    const struct ss_rank_profile *row =
        profiles->blame.most != 0 ? ss_rank_profile_of(profiles, profiles->blame.most) : NULL;
    return row != NULL && !is_by_chance(profiles, row) && !is_small(profiles, row) ? row : NULL;
}

/* What the others are in communication and nothing else, per step: a collective that computation
 * hides makes no rank wait. 0: unknown. */
static uint64_t longest_communication(const struct ss_rank_profiles *profiles,
                                      const struct ss_rank_profile *row)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        const struct ss_rank_profile *other = &profiles->rows.data[i];
        if (other->process != row->process && other->communication_ns > longest_ns) {
            longest_ns = other->communication_ns;
        }
    }
    return longest_ns;
}

uint64_t ss_rank_profiles_cost_ns(const struct ss_rank_profiles *profiles,
                                  const struct ss_rank_profile *row)
{
    uint64_t others = profiles->rows.count - 1;
    uint64_t all_ns = profiles->blame.ranks[row->process].caused_ns;
    uint64_t each_ns = others > 0 ? ss_rank_profiles_per_step(profiles, all_ns) / others : 0;
    uint64_t most_ns = longest_communication(profiles, row);
    return most_ns > 0 && most_ns < each_ns ? most_ns : each_ns;
}

uint64_t ss_rank_profiles_per_step(const struct ss_rank_profiles *profiles, uint64_t sum_ns)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        steps = profiles->rows.data[i].steps > steps ? profiles->rows.data[i].steps : steps;
    }
    return steps > 0 ? sum_ns / steps : 0;
}
