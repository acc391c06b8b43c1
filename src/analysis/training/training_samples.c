/* SPDX-License-Identifier: Apache-2.0 */
/* Facts from the samples of a training's main threads. */
#include <string.h>

#include "analysis/samples/line_samples.h"
#include "analysis/training/training_facts.h"
#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/core/owner.h"

enum group { LOGS, READS, WORKERS, COLLATES, COLLECTS, RECEIVES };

struct samples {
    const struct ss_model *model;
    struct ss_activities *activities;
    struct ss_activity_counts collating; /* what it does */
};

/* --- logging ---------------------------------------------------------------------------------- */

/* Whether the leaf is a line of user code whose source shows the activity: what it calls has no
 * frames. */
static bool is_own_line(struct samples *samples, uint32_t stack, enum ss_activity activity)
{
    const struct ss_model *model = samples->model;
    uint32_t frame = model->stacks.data[stack].frame;
    return stack != 0 && model->frames.data[frame].owner == SS_OWNER_PROGRAM &&
           ss_activity_of_stack(samples->activities, stack, SS_STATE_ON_CPU, SS_GIL_UNKNOWN) ==
               activity;
}

/* Checks the frames from the leaf to user code: logging may call numpy, torch and others. Logging
 * around a loader's work, such as a progress bar, is not a part of it. */
static bool logs(struct samples *samples, uint32_t stack)
{
    const struct ss_model *model = samples->model;
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        enum ss_code_owner owner = model->frames.data[model->stacks.data[at].frame].owner;
        if (ss_owner_logs(owner)) {
            return true;
        }
        if (owner == SS_OWNER_PROGRAM) {
            return at == stack && is_own_line(samples, stack, SS_ACTIVITY_LOGGING);
        }
        if (owner == SS_OWNER_TORCH_DATA) {
            return false;
        }
    }
    return false;
}

static bool is_in_phase(const struct ss_model *model, const struct ss_model_total *total,
                        const char *phase)
{
    return total->phase != 0 && strcmp(ss_model_text(model, total->phase), phase) == 0;
}

/* True in phases whose reads are not the program's: the optimizer and the loader read their own
 * values. */
static bool has_foreign_reads(const struct ss_model *model, const struct ss_model_total *total)
{
    return is_in_phase(model, total, ss_phase_optimizer) ||
           is_in_phase(model, total, ss_phase_data);
}

/* --- collating -------------------------------------------------------------------------------- */

static bool is_of_fetch(const struct ss_model *model, uint32_t stack)
{
    const struct ss_model_frame *frame = &model->frames.data[model->stacks.data[stack].frame];
    return frame->owner == SS_OWNER_TORCH_DATA &&
           strstr(ss_model_text(model, frame->file), "/_utils/fetch.py") != NULL;
}

/* A fetch gets the samples of a batch, then calls the collate function. */
static bool collates(const struct ss_model *model, uint32_t stack)
{
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t above = model->stacks.data[at].parent;
        if (above != 0 && is_of_fetch(model, above) && !is_of_fetch(model, at)) {
            uint32_t frame = model->stacks.data[at].frame;
            const char *name = ss_model_text(model, model->frames.data[frame].name);
            return strstr(name, "__getitem") == NULL;
        }
    }
    return false;
}

/* --- receiving -------------------------------------------------------------------------------- */

/* PyTorch's code that makes tensors of what a worker sent. */
static bool maps_tensors(const struct ss_model *model, const struct ss_model_frame *frame)
{
    return frame->owner == SS_OWNER_TORCH &&
           strstr(ss_model_text(model, frame->file), "/torch/multiprocessing/") != NULL;
}

/* Reads a batch of a worker. The thread may sleep while the worker passes it a tensor's memory;
 * asleep elsewhere below the loader, it waits until a batch is ready. */
static bool receives(const struct ss_model *model, const struct ss_model_total *total)
{
    bool is_asleep = total->state == SS_STATE_SLEEPING || total->state == SS_STATE_UNINTERRUPTIBLE;
    bool maps = false, reads = false;
    for (uint32_t at = total->stack; at != 0; at = model->stacks.data[at].parent) {
        const struct ss_model_frame *frame = &model->frames.data[model->stacks.data[at].frame];
        if (frame->owner == SS_OWNER_TORCH_DATA || frame->owner == SS_OWNER_PROGRAM) {
            return frame->owner == SS_OWNER_TORCH_DATA && (maps || (reads && !is_asleep));
        }
        maps = maps || maps_tensors(model, frame);
        reads = reads || (ss_owner_is_stdlib(frame->owner) &&
                          strstr(ss_model_text(model, frame->file), "/multiprocessing/") != NULL);
    }
    return false;
}

/* --- anomaly detection ------------------------------------------------------------------------ */

/* Anomaly detection records a traceback with each operator of the forward. */
static bool records_traceback(const struct ss_model *model, uint32_t stack)
{
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        const struct ss_model_frame *frame = &model->frames.data[model->stacks.data[at].frame];
        if (frame->owner == SS_OWNER_PROGRAM) {
            return false;
        }
        if ((frame->owner == SS_OWNER_STDLIB || frame->owner == SS_OWNER_TORCH) &&
            strstr(ss_model_text(model, frame->file), "/traceback.py") != NULL) {
            return true; /* of the standard library, or torch/fx/traceback.py */
        }
    }
    return false;
}

/* --- all samples ------------------------------------------------------------------------------ */

static void add_collating(struct samples *samples, struct ss_training_samples *found,
                          struct ss_line_samples *lines, const struct ss_model_total *total)
{
    ss_line_samples_add(lines, samples->model, COLLATES, total, &found->collates);
    ss_activity_count(&samples->collating, ss_activity_of_total(samples->activities, total),
                      total->samples);
}

static void add_trainer_sample(struct samples *samples, struct ss_training_facts *facts,
                               struct ss_line_samples *lines, const struct ss_model_total *total)
{
    struct ss_training_samples *found = &facts->samples;
    if (total->step != SS_SAMPLE_LATER_STEP) {
        return;
    }
    found->all += total->samples;
    found->runnable += total->state == SS_STATE_RUNNABLE ? total->samples : 0;
    bool is_asleep_inside =
        total->in_operator == SS_OPERATOR_INSIDE && total->state == SS_STATE_SLEEPING;
    found->asleep_in_operators += is_asleep_inside ? total->samples : 0;
    bool runs_inside = total->in_operator == SS_OPERATOR_INSIDE && total->state == SS_STATE_ON_CPU;
    found->runs_in_operators += runs_inside ? total->samples : 0;
    if (facts->has_anomaly_detection && records_traceback(samples->model, total->stack)) {
        found->tracebacks += total->samples;
        return;
    }
    if (is_in_phase(samples->model, total, ss_phase_checkpoint)) {
        return; /* its writes and copies count as the checkpoint */
    }
    bool is_in_data = is_in_phase(samples->model, total, ss_phase_data);
    found->in_data += is_in_data ? total->samples : 0;
    if (is_in_data && receives(samples->model, total)) {
        ss_line_samples_add(lines, samples->model, RECEIVES, total, &found->receives);
    } else if (collates(samples->model, total->stack)) {
        add_collating(samples, found, lines, total);
    } else if (logs(samples, total->stack)) {
        ss_line_samples_add(lines, samples->model, LOGS, total, &found->logs);
    } else if (is_own_line(samples, total->stack, SS_ACTIVITY_GARBAGE)) {
        ss_line_samples_add(lines, samples->model, COLLECTS, total, &found->collects);
    } else if (is_own_line(samples, total->stack, SS_ACTIVITY_TENSOR_READ) &&
               !has_foreign_reads(samples->model, total)) {
        ss_line_samples_add(lines, samples->model, READS, total, &found->reads);
    }
}

/* Workers follow the selection of their trainer, whatever their own names. */
static bool is_of_worker(const struct ss_training_facts *facts,
                         const struct ss_selection *selection, const struct ss_model_total *total)
{
    uint32_t process = facts->model->threads.data[total->thread].process;
    uint32_t trainer = ss_training_trainer(facts, process);
    return trainer != 0 && trainer != process && selection->processes[trainer] &&
           facts->workers > 0;
}

static void add_worker_sample(struct samples *samples, struct ss_training_samples *found,
                              struct ss_line_samples *lines, const struct ss_model_total *total)
{
    bool computes = total->state == SS_STATE_ON_CPU || total->state == SS_STATE_RUNNABLE;
    found->of_workers += total->samples;
    found->computing_workers += computes ? total->samples : 0;
    if (total->state == SS_STATE_SLEEPING) {
        return;
    }
    ss_line_samples_add(lines, samples->model, WORKERS, total, &found->workers);
    if (collates(samples->model, total->stack)) {
        add_collating(samples, found, lines, total);
    }
}

void ss_training_samples_find(struct ss_training_facts *facts, const struct ss_selection *selection,
                              const struct ss_source_lines *source)
{
    const struct ss_model *model = facts->model;
    struct ss_training_samples *found = &facts->samples;
    struct ss_activities activities;
    ss_activities_init(&activities, model, source);
    struct samples samples = {.model = model, .activities = &activities};
    struct ss_line_samples lines;
    ss_line_samples_init(&lines, model);
    facts->is_exact = selection->records == 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        const struct ss_model_thread *thread = &model->threads.data[total->thread];
        if (!thread->is_main) {
            continue;
        }
        if (ss_training_has_steps(facts, thread->process)) {
            if (selection->threads[total->thread]) {
                add_trainer_sample(&samples, facts, &lines, total);
            }
        } else if (is_of_worker(facts, selection, total)) {
            add_worker_sample(&samples, found, &lines, total);
        }
    }
    ss_line_samples_find(&lines, LOGS, &found->logs);
    ss_line_samples_find(&lines, READS, &found->reads);
    ss_line_samples_find(&lines, RECEIVES, &found->receives);
    ss_line_samples_find(&lines, COLLECTS, &found->collects);
    ss_line_samples_find(&lines, WORKERS, &found->workers);
    ss_line_samples_find(&lines, COLLATES, &found->collates);
    found->collate_activity = ss_activity_majority(&samples.collating);
    ss_line_samples_fini(&lines);
    ss_hot_lines_find(&facts->hot_lines, selection, facts->steps,
                      &(struct ss_hot_lines_options){.activities = &activities,
                                                     .is_disturbed = facts->is_disturbed});
    ss_activities_fini(&activities);
}
