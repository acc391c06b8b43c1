/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/kernel_names.h"
#include "analysis/selection/jobs.h"
#include "analysis/table/call_alignment.h"
#include "analysis/table/datatypes.h"
#include "base/alloc.h"
#include "base/device_api.h"
#include "base/intern.h"

static struct ss_strview name_of(const struct ss_model *model, uint32_t name)
{
    return ss_intern_get(&model->strings, model->names.data[name].text);
}

struct ss_strview ss_rank_call_kind(const struct ss_model *model, const struct ss_rank_call *call)
{
    struct ss_strview recorded =
        ss_event_text(model, &model->ranges.data[call->range], SS_EVENT_FIELD_collective);
    if (recorded.length > 0) {
        return recorded;
    }
    struct ss_strview name = name_of(model, call->name);
    const char *colon = memrchr(name.data, ':', name.length);
    if (ss_collective_scope(name) && colon != NULL) {
        size_t before = (size_t)(colon + 1 - name.data);
        return (struct ss_strview){colon + 1, name.length - before};
    }
    return ss_kernel_base_name(name);
}

bool ss_rank_call_synchronises(const struct ss_model *model, const struct ss_rank_call *call)
{
    return ss_collective_flow_of(ss_rank_call_kind(model, call)) == SS_FLOW_ALL;
}

int64_t ss_rank_call_bytes(const struct ss_model *model, const struct ss_rank_call *call)
{
    const struct ss_model_range *range = &model->ranges.data[call->range];
    int64_t number;
    if (ss_event_number(model, range, SS_EVENT_FIELD_bytes, &number)) {
        return number;
    }
    struct ss_element element = ss_element_of(ss_event_text(model, range, SS_EVENT_FIELD_datatype));
    bool has_elements = ss_event_number(model, range, SS_EVENT_FIELD_elements, &number);
    return has_elements && element.bytes > 0 && number >= 0 &&
                   number <= INT64_MAX / (int64_t)element.bytes
               ? number * (int64_t)element.bytes
               : -1;
}

/* --- collecting ------------------------------------------------------------------------------- */

static void set_group(struct ss_rank_call *call, const struct ss_model *model)
{
    const struct ss_model_range *range = &model->ranges.data[call->range];
    const struct ss_model_field *group =
        ss_model_field_of(model, range->payload, SS_EVENT_FIELD_group);
    int64_t number;
    call->is_counted = !ss_event_number(model, range, SS_EVENT_FIELD_sequence, &call->sequence);
    if (group != NULL && group->natural < model->groups.count) {
        call->group = model->groups.data[group->natural].name;
        call->size = model->groups.data[group->natural].size;
    }
    if (ss_event_number(model, range, SS_EVENT_FIELD_group_size, &number) && number > 0 &&
        number <= UINT32_MAX) {
        call->size = (uint32_t)number;
    }
}

static void add(struct ss_rank_calls *calls, const struct ss_model *model, uint32_t range,
                uint32_t process)
{
    const struct ss_model_range *row = &model->ranges.data[range];
    struct ss_rank_call call = {.begin_ns = row->begin_ns,
                                .end_ns = row->end_ns,
                                .range = range,
                                .process = process,
                                .name = model->paths.data[row->path].name};
    set_group(&call, model);
    if (model->inputs.count > 0 &&
        model->inputs.data[model->processes.data[process].input].alignment.is_contradictory) {
        calls->unaligned++;
    } else if (ss_collective_flow_of(ss_rank_call_kind(model, &call)) != SS_FLOW_OF_TWO) {
        ss_vec_push(&calls->rows, call);
    }
}

static void collect_works(struct ss_rank_calls *calls, const struct ss_model *model,
                          const struct ss_device_works *works)
{
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->work_class == SS_WORK_COMMUNICATION) {
            add(calls, model, work->range, work->process);
        }
    }
    for (size_t i = 1; i < works->parts.count; i++) {
        calls->is_ambiguous =
            calls->is_ambiguous || works->parts.data[i].process == works->parts.data[i - 1].process;
    }
}

/* Recordings of version 0.1.0 have no kinds of names. */
static bool is_on_host(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_name *name = &model->names.data[model->paths.data[range->path].name];
    struct ss_strview text = ss_intern_get(&model->strings, name->text);
    if (ss_collective_is_queued(text)) {
        return false;
    }
    return name->type == SS_EVENT_TYPE_collective ||
           (name->type == SS_EVENT_TYPE_NONE && ss_collective_scope(text));
}

/* A range whose begin or end was not recorded says neither when its rank arrived nor when it left.
 */
static void collect_host(struct ss_rank_calls *calls, const struct ss_selection *selection,
                         const struct ss_range_runs *runs)
{
    const struct ss_model *model = selection->model;
    const unsigned cut = SS_RANGE_BEGIN_UNSEEN | SS_RANGE_END_UNSEEN | SS_RANGE_OUTSIDE;
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_COLLECTIVES)) != NULL) {
        uint32_t process = ss_range_run_process(model, run);
        for (size_t i = run->first; i < run->end && selection->processes[process]; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            if (is_on_host(model, range) && (range->flags & cut) == 0) {
                add(calls, model, (uint32_t)i, process);
            }
        }
    }
}

/* --- jobs ------------------------------------------------------------------------------------- */

struct members ss_vec_of(struct ss_job_member);

/* By process: its place among the members, from 1. */
static void find_members(const struct ss_rank_calls *calls, const struct ss_model *model,
                         struct members *members)
{
    uint32_t *place = ss_alloc_zero(model->processes.count, sizeof *place);
    for (size_t i = 0; i < calls->rows.count; i++) {
        const struct ss_rank_call *call = &calls->rows.data[i];
        const struct ss_model_process *process = &model->processes.data[call->process];
        if (place[call->process] == 0) {
            ss_vec_push(members, (struct ss_job_member){.process = call->process,
                                                        .pid = process->pid,
                                                        .has_rank = process->has_rank,
                                                        .rank = process->rank,
                                                        .world_size = process->world_size,
                                                        .begin_ns = call->begin_ns});
            place[call->process] = (uint32_t)members->count;
        }
        struct ss_job_member *member = &members->data[place[call->process] - 1];
        member->begin_ns = call->begin_ns < member->begin_ns ? call->begin_ns : member->begin_ns;
        member->end_ns = call->end_ns > member->end_ns ? call->end_ns : member->end_ns;
    }
    ss_free(place);
}

static void set_jobs(struct ss_rank_calls *calls, const struct ss_model *model)
{
    struct members members = {0};
    find_members(calls, model, &members);
    calls->jobs = ss_jobs_assign(members.data, members.count);
    uint32_t *jobs = ss_alloc_zero(model->processes.count, sizeof *jobs);
    for (size_t i = 0; i < members.count; i++) {
        jobs[members.data[i].process] = members.data[i].job;
        calls->copies += members.data[i].job == SS_JOB_COPY;
    }
    size_t count = 0;
    for (size_t i = 0; i < calls->rows.count; i++) {
        struct ss_rank_call *call = &calls->rows.data[i];
        call->job = jobs[call->process];
        if (call->job != SS_JOB_COPY) {
            calls->rows.data[count++] = *call;
        }
    }
    calls->rows.count = count;
    ss_free(jobs);
    ss_vec_fini(&members);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_in_time(const void *left, const void *right)
{
    const struct ss_rank_call *a = left, *b = right;
    int by = compare_u32(a->job, b->job);
    by = by != 0 ? by : compare_u32(a->group, b->group);
    by = by != 0 ? by : a->is_counted - b->is_counted;
    by = by != 0 ? by : compare_u32(a->process, b->process);
    return by != 0 ? by : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int compare(const void *left, const void *right)
{
    const struct ss_rank_call *a = left, *b = right;
    int by = compare_u32(a->job, b->job);
    by = by != 0 ? by : compare_u32(a->group, b->group);
    by = by != 0 ? by : a->is_counted - b->is_counted;
    by = by != 0 ? by : (a->sequence > b->sequence) - (a->sequence < b->sequence);
    by = by != 0 ? by : compare_u32(a->process, b->process);
    return by != 0 ? by : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* One process's calls of a group without numbers. */
struct run {
    size_t first, count;
};

static struct run run_at(const struct ss_rank_calls *calls, size_t first)
{
    const struct ss_rank_call *row = &calls->rows.data[first];
    struct run run = {first, 1};
    while (first + run.count < calls->rows.count) {
        const struct ss_rank_call *next = row + run.count;
        if (next->job != row->job || next->group != row->group ||
            next->is_counted != row->is_counted || next->process != row->process) {
            break;
        }
        run.count++;
    }
    return run;
}

static uint64_t kind_of(const struct ss_model *model, const struct ss_rank_call *call)
{
    struct ss_strview text = ss_rank_call_kind(model, call);
    uint64_t kind = ss_hash_bytes(text.data, text.length);
    return ss_hash_u64(kind ^ (uint64_t)ss_rank_call_bytes(model, call));
}

static struct ss_aligned_call *aligned(const struct ss_rank_calls *calls,
                                       const struct ss_model *model, struct run run)
{
    struct ss_aligned_call *all = ss_alloc_zero(run.count, sizeof *all);
    for (size_t i = 0; i < run.count; i++) {
        const struct ss_rank_call *call = &calls->rows.data[run.first + i];
        all[i] = (struct ss_aligned_call){call->end_ns, kind_of(model, call)};
    }
    return all;
}

/* The calls of the process with most of them count from 0, those of the others as their partners.
 * What has none has a number of its own. */
static void number_group(struct ss_rank_calls *calls, const struct ss_model *model, size_t first,
                         size_t end)
{
    struct run most = run_at(calls, first);
    for (size_t at = first; at < end;) {
        struct run run = run_at(calls, at);
        most = run.count > most.count ? run : most;
        at += run.count;
    }
    struct ss_aligned_call *reference = aligned(calls, model, most);
    size_t *partners = ss_alloc_zero(most.count, sizeof *partners);
    int64_t alone = (int64_t)most.count;
    for (size_t at = first; at < end;) {
        struct run run = run_at(calls, at);
        struct ss_aligned_call *own = aligned(calls, model, run);
        ss_align_calls(reference, most.count, own, run.count, partners);
        for (size_t i = 0; i < run.count; i++) {
            struct ss_rank_call *call = &calls->rows.data[at + i];
            call->sequence = run.first == most.first   ? (int64_t)i
                             : partners[i] != SIZE_MAX ? (int64_t)partners[i]
                                                       : alone++;
        }
        ss_free(own);
        at += run.count;
    }
    ss_free(partners);
    ss_free(reference);
}

static void number(struct ss_rank_calls *calls, const struct ss_model *model)
{
    for (size_t first = 0, end; first < calls->rows.count; first = end) {
        const struct ss_rank_call *row = &calls->rows.data[first];
        for (end = first; end < calls->rows.count; end++) {
            const struct ss_rank_call *call = &calls->rows.data[end];
            if (call->job != row->job || call->group != row->group ||
                call->is_counted != row->is_counted) {
                break;
            }
        }
        if (row->is_counted) {
            number_group(calls, model, first, end);
        }
    }
}

void ss_rank_calls_init(struct ss_rank_calls *calls, const struct ss_selection *selection,
                        const struct ss_device_works *works, const struct ss_range_runs *runs)
{
    *calls = (struct ss_rank_calls){0};
    collect_works(calls, selection->model, works);
    calls->is_of_devices = calls->rows.count > 0;
    if (!calls->is_of_devices) {
        collect_host(calls, selection, runs);
        calls->is_ambiguous = false;
    }
    calls->jobs = calls->rows.count > 0;
    if (calls->rows.count > 1) {
        set_jobs(calls, selection->model);
        qsort(calls->rows.data, calls->rows.count, sizeof *calls->rows.data, compare_in_time);
        number(calls, selection->model);
        qsort(calls->rows.data, calls->rows.count, sizeof *calls->rows.data, compare);
    }
}

void ss_rank_calls_fini(struct ss_rank_calls *calls)
{
    ss_vec_fini(&calls->rows);
}
