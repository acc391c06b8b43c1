/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_profiles.h"

#include <stdlib.h>

#include "analysis/selection/jobs.h"
#include "analysis/selection/program_facts.h"
#include "analysis/table/distribution.h"
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
    for (size_t i = 0; i < devices->steps.count; i++) {
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

/* Processes with collectives, but without steps. */
static void add_collective_ranks(struct ss_rank_profiles *profiles, const struct ss_model *model)
{
    const struct ss_collectives *collectives = profiles->collectives;
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

struct members ss_vec_of(struct ss_job_member);

/* Ranks without collectives are of a job by when their steps were. */
static void list_members(const struct ss_step_summary *training, const struct ss_model *model,
                         struct members *members)
{
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        const struct ss_model_process *process = &model->processes.data[step->process];
        struct ss_job_member member = {.process = step->process,
                                       .pid = process->pid,
                                       .has_rank = process->has_rank,
                                       .rank = process->rank,
                                       .world_size = process->world_size,
                                       .begin_ns = step->begin_ns,
                                       .end_ns = step->end_ns};
        if (members->count > 0 && members->data[members->count - 1].process == step->process) {
            members->data[members->count - 1].end_ns = step->end_ns;
        } else {
            ss_vec_push(members, member);
        }
    }
}

/* By process: its job, from 1; 0: unknown. */
static uint32_t *find_jobs(struct ss_rank_profiles *profiles, const struct ss_model *model,
                           const struct ss_step_summary *training)
{
    const struct ss_rank_calls *calls = &profiles->collectives->calls;
    uint32_t *jobs = ss_alloc_zero(model->processes.count, sizeof *jobs);
    struct members members = {0};
    for (size_t i = 0; i < calls->rows.count; i++) {
        jobs[calls->rows.data[i].process] = calls->rows.data[i].job + 1;
    }
    profiles->jobs = calls->jobs;
    if (calls->rows.count == 0) {
        list_members(training, model, &members);
        profiles->jobs = ss_jobs_assign(members.data, members.count);
    }
    for (size_t i = 0; i < members.count; i++) {
        jobs[members.data[i].process] = members.data[i].job + 1; /* 0: of a copy */
    }
    ss_vec_fini(&members);
    return jobs;
}

/* Ranks are compared with those of their job: the one with most ranks stays. */
static void keep_largest_job(struct ss_rank_profiles *profiles, const uint32_t *jobs)
{
    uint32_t largest = 1;
    size_t *ranks = ss_alloc_zero(profiles->jobs + 1, sizeof *ranks);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        uint32_t job = jobs[profiles->rows.data[i].process];
        ranks[job]++;
        largest = job != 0 && ranks[job] > ranks[largest] ? job : largest;
    }
    size_t count = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        uint32_t job = jobs[profiles->rows.data[i].process];
        if (job == 0 || job == largest) {
            profiles->rows.data[count++] = profiles->rows.data[i];
        }
    }
    profiles->left_out = profiles->rows.count - count;
    profiles->rows.count = count;
    profiles->scope.job = largest - 1;
    ss_free(ranks);
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

/* --- all -------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct ss_rank_profile *a = left, *b = right;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->process > b->process) - (a->process < b->process);
}

/* Collectives outside of steady-state steps count where no other ones do. */
static void sum_waits(struct ss_rank_profiles *profiles, const struct ss_model *model,
                      const struct ss_step_summary *training)
{
    struct ss_collective_step *steps =
        ss_collective_steps_find(profiles->collectives, model, training);
    profiles->scope.steps = steps;
    ss_wait_sums_init(&profiles->waits, &profiles->scope, model);
    if (profiles->waits.counted == 0) {
        ss_wait_sums_fini(&profiles->waits);
        profiles->scope.steps = NULL;
        ss_free(steps);
        ss_wait_sums_init(&profiles->waits, &profiles->scope, model);
    }
}

static void finish_rows(struct ss_rank_profiles *profiles, const struct ss_model *model,
                        const struct ss_step_summary *training)
{
    struct ss_batch_load *loads = ss_batch_loads_find(model, training);
    for (size_t i = 0; i < profiles->rows.count; i++) {
        struct ss_rank_profile *row = &profiles->rows.data[i];
        finish_row(row, training, model, profiles->has_devices);
        row->load = loads[row->process];
        profiles->steps = row->steps > profiles->steps ? row->steps : profiles->steps;
    }
    ss_free(loads);
    if (profiles->rows.count > 1) {
        qsort(profiles->rows.data, profiles->rows.count, sizeof *profiles->rows.data, compare);
    }
    find_stages(profiles, training, model);
}

static void *build(const void *of)
{
    const struct ss_selection *selection = ((const struct ss_step_analysis *)of)->selection;
    const struct ss_step_summary *training = ((const struct ss_step_analysis *)of)->training;
    const struct ss_device_summary *devices = ss_steps_devices(selection, training);
    struct ss_rank_profiles *profiles = ss_alloc_zero(1, sizeof *profiles);
    *profiles = (struct ss_rank_profiles){.collectives = ss_selection_collectives(selection),
                                          .scope.blame = ss_selection_blame(selection),
                                          .has_steps = training->steps.count > 0,
                                          .has_devices = devices->steps.count > 0,
                                          .processes = selection->model->processes.count};
    sum_steps(profiles, training);
    sum_devices(profiles, devices, training);
    add_collective_ranks(profiles, selection->model);
    uint32_t *jobs = find_jobs(profiles, selection->model, training);
    keep_largest_job(profiles, jobs);
    ss_free(jobs);
    profiles->world_size = find_world_size(profiles, selection->model);
    sum_waits(profiles, selection->model, training);
    finish_rows(profiles, selection->model, training);
    return profiles;
}

static void free_part(void *part)
{
    struct ss_rank_profiles *profiles = part;
    ss_wait_sums_fini(&profiles->waits);
    ss_free((void *)profiles->scope.steps);
    ss_vec_fini(&profiles->rows);
    ss_free(profiles);
}

const struct ss_rank_profiles *ss_steps_ranks(const struct ss_selection *selection,
                                              const struct ss_step_summary *training)
{
    static const struct ss_analysis_part ranks = {"profiles of ranks", build, free_part};
    return ss_step_analysis_get(selection, training, &ranks);
}
