/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/datatypes.h"
#include "analysis/kernel_names.h"
#include "base/device_api.h"

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

/* --- numbers ---------------------------------------------------------------------------------- */

static int compare_in_time(const void *left, const void *right)
{
    const struct ss_rank_call *a = left, *b = right;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int compare(const void *left, const void *right)
{
    const struct ss_rank_call *a = left, *b = right;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->is_counted != b->is_counted) {
        return a->is_counted ? 1 : -1;
    }
    if (a->sequence != b->sequence) {
        return a->sequence < b->sequence ? -1 : 1;
    }
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Numbers the calls that have none by their order in the process. */
static void number(struct ss_rank_calls *calls)
{
    int64_t next = 0;
    for (size_t i = 0; i < calls->rows.count; i++) {
        struct ss_rank_call *call = &calls->rows.data[i];
        bool is_new = i == 0 || call[-1].group != call->group || call[-1].process != call->process;
        next = is_new ? 0 : next;
        if (call->is_counted) {
            call->sequence = next++;
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
    if (calls->rows.count > 1) {
        qsort(calls->rows.data, calls->rows.count, sizeof *calls->rows.data, compare_in_time);
        number(calls);
        qsort(calls->rows.data, calls->rows.count, sizeof *calls->rows.data, compare);
    }
}

void ss_rank_calls_fini(struct ss_rank_calls *calls)
{
    ss_vec_fini(&calls->rows);
}
