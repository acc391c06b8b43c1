/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/waits.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/samples/line_samples.h"
#include "analysis/table/uncertainty.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

/* --- what a sample waits for ----------------------------------------------------------------- */

static bool is_asleep(const struct ss_model_total *total)
{
    return total->state == SS_STATE_SLEEPING || total->state == SS_STATE_UNINTERRUPTIBLE;
}

/* By the kernel's record, whatever requests the data. An uninterruptible sleep without a recorded
 * wait, of earlier versions, counts as one. */
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
    case SS_ACTIVITY_REQUESTS:
        return SS_WAITS_CLIENTS;
    case SS_ACTIVITY_SLEEP:
        return SS_WAITS_SLEEP;
    /* Other rules cover these, disk or not. */
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
    return strcmp(name, ss_phase_checkpoint) == 0 ||
           (has_loader && strcmp(name, ss_phase_data) == 0);
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
    enum ss_wait_group group =
        group_of_activity(ss_activity_of_total(activities, total), is_disk(total));
    bool imports = group == SS_WAITS_DISK && ss_activity_imports(activities, total->stack);
    return imports ? SS_WAITS_NONE : group;
}

/* --- all samples ----------------------------------------------------------------------------- */

struct scan {
    const struct ss_model *model;
    const struct ss_step_summary *steps;
    struct ss_waits *waits;
    struct ss_activities activities;
    struct ss_line_samples lines;
    uint64_t in_phase[SS_WAITS_GROUPS][SS_STEP_MAX_PHASES];
};

static size_t phase_index(const struct ss_step_summary *steps, uint32_t name)
{
    for (size_t i = 0; i < steps->phases.count; i++) {
        if (steps->phases.data[i].name == name) {
            return i;
        }
    }
    return steps->phases.count > 0 ? steps->phases.count - 1 : 0; /* "other" */
}

static void add_sample(struct scan *scan, const struct ss_model_total *total, bool has_loader)
{
    scan->waits->samples += total->samples;
    enum ss_wait_group group = ss_wait_group_of(&scan->activities, total, has_loader);
    if (group != SS_WAITS_NONE) {
        ss_line_samples_add(&scan->lines, scan->model, group, total,
                            &scan->waits->groups[group].line);
        scan->in_phase[group][phase_index(scan->steps, total->phase)] += total->samples;
    }
}

static void find_phase(const struct scan *scan, enum ss_wait_group group)
{
    struct ss_wait *wait = &scan->waits->groups[group];
    for (size_t i = 0; i < scan->steps->phases.count; i++) {
        if (scan->in_phase[group][i] > wait->in_phase) {
            wait->in_phase = scan->in_phase[group][i];
            wait->phase = scan->steps->phases.data[i].name;
        }
    }
}

/* --- the holder of the GIL ------------------------------------------------------------------- */

struct gil_wait {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

static int compare_gil_waits(const void *left, const void *right)
{
    const struct gil_wait *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

struct gil_waits ss_vec_of(struct gil_wait);

/* The GIL waits of main threads; those of one process do not overlap. */
static void collect_gil_waits(const struct scan *scan, struct gil_waits *gil_waits)
{
    const struct ss_model *model = scan->model;
    for (size_t i = 0; i < model->gil_spans.count; i++) {
        const struct ss_model_gil_span *span = &model->gil_spans.data[i];
        uint32_t process = model->threads.data[span->thread].process;
        if (!span->holds && ss_step_has_process(scan->steps, process)) {
            ss_vec_push(gil_waits, (struct gil_wait){process, span->begin_ns, span->end_ns});
        }
    }
    if (gil_waits->count > 0) {
        qsort(gil_waits->data, gil_waits->count, sizeof *gil_waits->data, compare_gil_waits);
    }
}

/* The first wait of the process that ends after `time_ns`. */
static size_t first_after(const struct gil_waits *gil_waits, uint32_t process, uint64_t time_ns)
{
    return ss_search(
        i, 0, gil_waits->count,
        ss_pair_at_most(gil_waits->data[i].process, gil_waits->data[i].end_ns, process, time_ns));
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
static uint64_t ticks_waited(const struct scan *scan, const struct gil_waits *gil_waits,
                             const struct ss_model_gil_span *span)
{
    const struct ss_model *model = scan->model;
    uint32_t process = model->threads.data[span->thread].process;
    double rate_hz = model->inputs.data[model->processes.data[process].input].rate_hz;
    uint64_t shared_ns = 0;
    for (size_t i = first_after(gil_waits, process, span->begin_ns); i < gil_waits->count; i++) {
        const struct gil_wait *gil_wait = &gil_waits->data[i];
        if (gil_wait->process != process || gil_wait->begin_ns >= span->end_ns) {
            break;
        }
        shared_ns +=
            earlier(gil_wait->end_ns, span->end_ns) - later(gil_wait->begin_ns, span->begin_ns);
    }
    return (uint64_t)((double)shared_ns / 1e9 * rate_hz + 0.5);
}

static void add_holder_ticks(struct scan *scan, const struct ss_model_gil_span *span,
                             uint64_t ticks)
{
    struct ss_model_total total = {.stack = span->stack, .samples = ticks, .records = 1};
    ss_line_samples_add(&scan->lines, scan->model, SS_WAITS_GROUPS, &total,
                        &scan->waits->holder.line);
}

/* Finds the thread that holds the GIL most often while a main thread waits for it, then that
 * thread's hot line. */
static void find_holder(struct scan *scan)
{
    const struct ss_model *model = scan->model;
    struct ss_gil_holder *holder = &scan->waits->holder;
    struct gil_waits gil_waits = {0};
    collect_gil_waits(scan, &gil_waits);
    uint64_t *ticks = ss_alloc_zero(model->gil_spans.count + 1, sizeof *ticks);
    uint64_t *of_thread = ss_alloc_zero(model->threads.count + 1, sizeof *of_thread);
    for (size_t i = 0; i < model->gil_spans.count && gil_waits.count > 0; i++) {
        const struct ss_model_gil_span *span = &model->gil_spans.data[i];
        ticks[i] = span->holds ? ticks_waited(scan, &gil_waits, span) : 0;
        of_thread[span->thread] += ticks[i];
        holder->known += ticks[i];
        if (of_thread[span->thread] > holder->samples) {
            holder->samples = of_thread[span->thread];
            holder->thread = span->thread;
        }
    }
    for (size_t i = 0; i < model->gil_spans.count; i++) {
        if (ticks[i] > 0 && model->gil_spans.data[i].thread == holder->thread) {
            add_holder_ticks(scan, &model->gil_spans.data[i], ticks[i]);
        }
    }
    ss_line_samples_find(&scan->lines, SS_WAITS_GROUPS, &holder->line);
    ss_free(of_thread);
    ss_free(ticks);
    ss_vec_fini(&gil_waits);
}

static bool is_other_holder(const struct scan *scan, const struct ss_model_total *total)
{
    const struct ss_model_thread *thread = &scan->model->threads.data[total->thread];
    return !thread->is_main && total->gil == SS_GIL_HELD &&
           ss_step_has_process(scan->steps, thread->process);
}

/* Where too few ticks show both threads: the thread that had the GIL in most of its own samples. */
static void find_likely_holder(struct scan *scan)
{
    const struct ss_model *model = scan->model;
    struct ss_gil_holder likely = {.is_likely = true};
    uint64_t *of_thread = ss_alloc_zero(model->threads.count + 1, sizeof *of_thread);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (is_other_holder(scan, total)) {
            of_thread[total->thread] += total->samples;
            if (of_thread[total->thread] > likely.samples) {
                likely.samples = likely.known = of_thread[total->thread];
                likely.thread = total->thread;
            }
        }
    }
    ss_free(of_thread);
    if (likely.samples < SS_MIN_CLAIM_SAMPLES) {
        return;
    }
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (total->thread == likely.thread && is_other_holder(scan, total)) {
            ss_line_samples_add(&scan->lines, model, SS_WAITS_GROUPS + 1, total, &likely.line);
        }
    }
    ss_line_samples_find(&scan->lines, SS_WAITS_GROUPS + 1, &likely.line);
    scan->waits->holder = likely;
}

void ss_waits_find(struct ss_waits *waits, const struct ss_selection *selection,
                   const struct ss_step_summary *steps, const struct ss_source_lines *source,
                   bool has_loader)
{
    const struct ss_model *model = selection->model;
    *waits = (struct ss_waits){0};
    struct scan scan = {.model = model, .steps = steps, .waits = waits};
    ss_activities_init(&scan.activities, model, source);
    ss_line_samples_init(&scan.lines, model);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        const struct ss_model_thread *thread = &model->threads.data[total->thread];
        if (thread->is_main && selection->threads[total->thread] &&
            total->step == SS_SAMPLE_LATER_STEP && ss_step_has_process(steps, thread->process)) {
            add_sample(&scan, total, has_loader);
        }
    }
    for (size_t group = 0; group < SS_WAITS_GROUPS; group++) {
        ss_line_samples_find(&scan.lines, group, &waits->groups[group].line);
        find_phase(&scan, (enum ss_wait_group)group);
    }
    find_holder(&scan);
    if (waits->holder.samples < SS_MIN_CLAIM_SAMPLES) {
        find_likely_holder(&scan);
    }
    const struct ss_phase_line *lock = &waits->groups[SS_WAITS_LOCK].line;
    ss_lock_holder_find(&waits->lock_holder, model, steps, source,
                        lock->all >= SS_MIN_CLAIM_SAMPLES ? lock->frame : 0);
    ss_line_samples_fini(&scan.lines);
    ss_activities_fini(&scan.activities);
}
