/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/waits.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/spots.h"
#include "base/alloc.h"

/* --- what a sample waits for ----------------------------------------------------------------- */

static bool is_asleep(const struct ss_model_total *total)
{
    return total->state == SS_STATE_SLEEPING || total->state == SS_STATE_UNINTERRUPTIBLE;
}

/* By the kernel, whatever asked for the data. An uninterruptible sleep of which earlier versions
 * recorded no more is one of them. */
static bool is_disk(const struct ss_model_total *total)
{
    return total->wait == SS_WAIT_FILE ||
           (total->wait == SS_WAIT_UNKNOWN && total->state == SS_STATE_UNINTERRUPTIBLE);
}

static enum ss_wait_group group_of_activity(enum ss_activity activity, bool on_disk)
{
    switch (activity) {
    case SS_ACTIVITY_GIL_WAIT:
        return SS_WAITS_GIL;
    case SS_ACTIVITY_LOCK_WAIT:
        return SS_WAITS_LOCK;
    case SS_ACTIVITY_QUEUE_WAIT:
    case SS_ACTIVITY_THREAD_WAIT:
        return SS_WAITS_THREAD;
    case SS_ACTIVITY_SUBPROCESS:
    case SS_ACTIVITY_PROCESS_WAIT:
        return SS_WAITS_PROCESS;
    case SS_ACTIVITY_NETWORK:
        return SS_WAITS_NETWORK;
    case SS_ACTIVITY_SLEEP:
        return SS_WAITS_SLEEP;
    /* Other rules speak of these, disk or not. */
    case SS_ACTIVITY_LOADER_WAIT:
    case SS_ACTIVITY_COMMUNICATION:
    case SS_ACTIVITY_CHECKPOINT:
    case SS_ACTIVITY_LOGGING:
    case SS_ACTIVITY_IMPORT:
    case SS_ACTIVITY_START:
        return SS_WAITS_NONE;
    default:
        return on_disk ? SS_WAITS_DISK : SS_WAITS_NONE;
    }
}

static bool is_other_phase(const struct ss_model *model, uint32_t phase, bool has_loader)
{
    const char *name = ss_model_text(model, phase);
    return strcmp(name, "checkpoint") == 0 || (has_loader && strcmp(name, "data") == 0);
}

enum ss_wait_group ss_wait_group_of(struct ss_activities *activities,
                                    const struct ss_model_total *total, bool has_loader)
{
    if (total->gil == SS_GIL_WAITED) {
        return SS_WAITS_GIL;
    }
    if (!is_asleep(total) || is_other_phase(activities->model, total->phase, has_loader)) {
        return SS_WAITS_NONE;
    }
    return group_of_activity(ss_activity_of_total(activities, total), is_disk(total));
}

/* --- all samples ----------------------------------------------------------------------------- */

struct finding {
    const struct ss_model *model;
    const struct ss_step_summary *steps;
    struct ss_waits *waits;
    bool *has_steps; /* by process */
    struct ss_activities activities;
    struct ss_spots spots;
    uint64_t in_phase[SS_WAITS_GROUPS][SS_STEP_MAX_PHASES];
};

static bool *processes_with_steps(const struct ss_model *model, const struct ss_step_summary *steps)
{
    bool *has_steps = ss_alloc_zero(model->processes.count + 1, 1);
    for (size_t i = 0; i < steps->steps.count; i++) {
        has_steps[steps->steps.data[i].process] = true;
    }
    return has_steps;
}

static size_t phase_index(const struct ss_step_summary *steps, uint32_t name)
{
    for (size_t i = 0; i < steps->phases.count; i++) {
        if (steps->phases.data[i].name == name) {
            return i;
        }
    }
    return steps->phases.count > 0 ? steps->phases.count - 1 : 0; /* "other" */
}

static void take(struct finding *finding, const struct ss_model_total *total, bool has_loader)
{
    finding->waits->samples += total->samples;
    enum ss_wait_group group = ss_wait_group_of(&finding->activities, total, has_loader);
    if (group != SS_WAITS_NONE) {
        ss_spots_add(&finding->spots, finding->model, group, total,
                     &finding->waits->groups[group].line);
        finding->in_phase[group][phase_index(finding->steps, total->phase)] += total->samples;
    }
}

static void find_phase(const struct finding *finding, enum ss_wait_group group)
{
    struct ss_wait *wait = &finding->waits->groups[group];
    for (size_t i = 0; i < finding->steps->phases.count; i++) {
        if (finding->in_phase[group][i] > wait->in_phase) {
            wait->in_phase = finding->in_phase[group][i];
            wait->phase = finding->steps->phases.data[i].name;
        }
    }
}

/* --- the holder of the GIL ------------------------------------------------------------------- */

struct waiting {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

static int compare_waiting(const void *left, const void *right)
{
    const struct waiting *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

struct waitings ss_vec_of(struct waiting);

/* When the main threads waited; those of one process do not overlap. */
static void collect_waitings(const struct finding *finding, struct waitings *waitings)
{
    const struct ss_model *model = finding->model;
    for (size_t i = 0; i < model->gil_spans.count; i++) {
        const struct ss_model_gil_span *span = &model->gil_spans.data[i];
        uint32_t process = model->threads.data[span->thread].process;
        if (!span->holds && finding->has_steps[process]) {
            ss_vec_push(waitings, (struct waiting){process, span->begin_ns, span->end_ns});
        }
    }
    if (waitings->count > 0) {
        qsort(waitings->data, waitings->count, sizeof *waitings->data, compare_waiting);
    }
}

/* The first that ends after the time. */
static size_t first_after(const struct waitings *waitings, uint32_t process, uint64_t time_ns)
{
    size_t low = 0, high = waitings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct waiting *waiting = &waitings->data[middle];
        bool is_before = waiting->process < process ||
                         (waiting->process == process && waiting->end_ns <= time_ns);
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Ticks of the span at which the main thread waited. */
static uint64_t ticks_waited(const struct finding *finding, const struct waitings *waitings,
                             const struct ss_model_gil_span *span)
{
    const struct ss_model *model = finding->model;
    uint32_t process = model->threads.data[span->thread].process;
    double rate_hz = model->inputs.data[model->processes.data[process].input].rate_hz;
    uint64_t shared_ns = 0;
    for (size_t i = first_after(waitings, process, span->begin_ns); i < waitings->count; i++) {
        const struct waiting *waiting = &waitings->data[i];
        if (waiting->process != process || waiting->begin_ns >= span->end_ns) {
            break;
        }
        shared_ns +=
            earlier(waiting->end_ns, span->end_ns) - later(waiting->begin_ns, span->begin_ns);
    }
    return (uint64_t)((double)shared_ns / 1e9 * rate_hz + 0.5);
}

static void take_holder(struct finding *finding, const struct ss_model_gil_span *span,
                        uint64_t ticks)
{
    struct ss_model_total total = {.stack = span->stack, .samples = ticks, .records = 1};
    ss_spots_add(&finding->spots, finding->model, SS_WAITS_GROUPS, &total,
                 &finding->waits->holder.line);
}

/* The thread that had it most often while a main thread waited for it, then that thread's line. */
static void find_holder(struct finding *finding)
{
    const struct ss_model *model = finding->model;
    struct ss_gil_holder *holder = &finding->waits->holder;
    struct waitings waitings = {0};
    collect_waitings(finding, &waitings);
    uint64_t *ticks = ss_alloc_zero(model->gil_spans.count + 1, sizeof *ticks);
    uint64_t *of_thread = ss_alloc_zero(model->threads.count + 1, sizeof *of_thread);
    for (size_t i = 0; i < model->gil_spans.count && waitings.count > 0; i++) {
        const struct ss_model_gil_span *span = &model->gil_spans.data[i];
        ticks[i] = span->holds ? ticks_waited(finding, &waitings, span) : 0;
        of_thread[span->thread] += ticks[i];
        holder->known += ticks[i];
        if (of_thread[span->thread] > holder->samples) {
            holder->samples = of_thread[span->thread];
            holder->thread = span->thread;
        }
    }
    for (size_t i = 0; i < model->gil_spans.count; i++) {
        if (ticks[i] > 0 && model->gil_spans.data[i].thread == holder->thread) {
            take_holder(finding, &model->gil_spans.data[i], ticks[i]);
        }
    }
    ss_spots_find(&finding->spots, SS_WAITS_GROUPS, &holder->line);
    ss_free(of_thread);
    ss_free(ticks);
    ss_vec_fini(&waitings);
}

void ss_waits_find(struct ss_waits *waits, const struct ss_selection *selection,
                   const struct ss_step_summary *steps, const struct ss_source_lines *source,
                   bool has_loader)
{
    const struct ss_model *model = selection->model;
    *waits = (struct ss_waits){0};
    struct finding finding = {.model = model,
                              .steps = steps,
                              .waits = waits,
                              .has_steps = processes_with_steps(model, steps)};
    ss_activities_init(&finding.activities, model, source);
    ss_spots_init(&finding.spots, model);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        const struct ss_model_thread *thread = &model->threads.data[total->thread];
        if (thread->is_main && selection->threads[total->thread] &&
            total->step == SS_SAMPLE_LATER_STEP && finding.has_steps[thread->process]) {
            take(&finding, total, has_loader);
        }
    }
    for (size_t group = 0; group < SS_WAITS_GROUPS; group++) {
        ss_spots_find(&finding.spots, group, &waits->groups[group].line);
        find_phase(&finding, (enum ss_wait_group)group);
    }
    find_holder(&finding);
    ss_spots_fini(&finding.spots);
    ss_activities_fini(&finding.activities);
    ss_free(finding.has_steps);
}
