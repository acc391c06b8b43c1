/* SPDX-License-Identifier: Apache-2.0 */
/* What the samples of a training's main threads tell of it. */
#include <string.h>

#include "analysis/spots.h"
#include "analysis/training_facts.h"
#include "base/alloc.h"

enum group { LOGS, PREPARES, READS, WORKERS, COLLATES };

enum { FAR, NEAR_IT, IT };

enum line_use { NOT_LOOKED_AT, PRINTS, READS_VALUES, OF_NO_USE };

struct samples {
    const struct ss_model *model;
    const struct ss_source_lines *source;
    uint8_t *line_uses; /* enum line_use; by frame */
    /* By frame: it lies near a line that reads values (NEAR_IT), or is one (IT). */
    uint8_t *near_reads;
};

static bool has_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strstr(text, *words) != NULL) {
            return true;
        }
    }
    return false;
}

static bool view_has(struct ss_strview text, const char *word)
{
    return memmem(text.data, text.length, word, strlen(word)) != NULL;
}

/* Functions in C have no frames: what a line calls, its source tells. */
static enum line_use use_of_line(struct samples *samples, uint32_t frame)
{
    const struct ss_model_frame *row = &samples->model->frames.data[frame];
    uint8_t *use = &samples->line_uses[frame];
    if (*use != NOT_LOOKED_AT) {
        return (enum line_use) * use;
    }
    *use = OF_NO_USE;
    if (samples->source == NULL || samples->source->line == NULL || row->line <= 0) {
        return OF_NO_USE;
    }
    struct ss_strview text = samples->source->line(
        samples->source->context, ss_intern_get(&samples->model->strings, row->file),
        (uint32_t)row->line);
    if (text.data == NULL) {
        return OF_NO_USE;
    }
    bool prints = view_has(text, "print(") || view_has(text, ".write(");
    bool reads = view_has(text, ".item(") || view_has(text, ".tolist(") || view_has(text, ".cpu(");
    *use = prints ? PRINTS : reads ? READS_VALUES : OF_NO_USE;
    return (enum line_use) * use;
}

/* --- logging --------------------------------------------------------------------------------- */

static const char *const log_packages[] = {
    "/tqdm/",     "/wandb/",   "/tensorboard/", "/tensorboardX/", "/mlflow/",       "/loguru/",
    "/comet_ml/", "/neptune/", "/rich/",        "/aim/",          "_tensor_str.py", NULL};

static bool is_log_frame(const struct ss_model *model, const struct ss_model_frame *frame)
{
    const char *file = ss_model_text(model, frame->file);
    return frame->origin == SS_ORIGIN_STDLIB
               ? strstr(file, "/logging/") != NULL
               : frame->origin == SS_ORIGIN_PACKAGE && has_any(file, log_packages);
}

/* A progress bar around a loader has the loader's frames above its own: what they do is no log. */
static bool is_passed_over(const struct ss_model *model, const struct ss_model_frame *frame)
{
    const char *file = ss_model_text(model, frame->file);
    bool is_torch = strstr(file, "/torch/") != NULL && strstr(file, "/torch/utils/data/") == NULL;
    return frame->origin == SS_ORIGIN_STDLIB || frame->origin == SS_ORIGIN_NATIVE || is_torch;
}

static bool logs(struct samples *samples, uint32_t stack)
{
    const struct ss_model *model = samples->model;
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t id = model->stacks.data[at].frame;
        const struct ss_model_frame *frame = &model->frames.data[id];
        if (is_log_frame(model, frame)) {
            return true;
        }
        if (!is_passed_over(model, frame)) {
            return at == stack && frame->origin == SS_ORIGIN_USER &&
                   use_of_line(samples, id) == PRINTS;
        }
    }
    return false;
}

/* --- preparing data -------------------------------------------------------------------------- */

/* In your own code, or in what it called other than torch. */
static bool is_own_work(const struct ss_model *model, uint32_t stack)
{
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        const struct ss_model_frame *frame = &model->frames.data[model->stacks.data[at].frame];
        if (frame->origin == SS_ORIGIN_USER) {
            return true;
        }
        if (strstr(ss_model_text(model, frame->file), "/torch/") != NULL) {
            return false;
        }
    }
    return false;
}

static bool reads_values(struct samples *samples, uint32_t stack)
{
    const struct ss_model *model = samples->model;
    uint32_t frame = model->stacks.data[stack].frame;
    return stack != 0 && model->frames.data[frame].origin == SS_ORIGIN_USER &&
           use_of_line(samples, frame) == READS_VALUES;
}

/* What a loop does between its reads of values is no preparing of data. */
static void mark_around(struct samples *samples, uint32_t reading)
{
    enum { NEAR_LINES = 4 };
    const struct ss_model_frame *frames = samples->model->frames.data;
    for (size_t i = 1; i < samples->model->frames.count; i++) {
        int64_t lines = (int64_t)frames[i].line - frames[reading].line;
        if (frames[i].function == frames[reading].function &&
            frames[i].file == frames[reading].file && lines >= -NEAR_LINES && lines <= NEAR_LINES &&
            samples->near_reads[i] == FAR) {
            samples->near_reads[i] = NEAR_IT;
        }
    }
    samples->near_reads[reading] = IT;
}

static void find_lines_near_reads(struct samples *samples)
{
    const struct ss_model *model = samples->model;
    for (size_t i = 0; i < model->totals.count; i++) {
        uint32_t stack = model->totals.data[i].stack;
        uint32_t frame = model->stacks.data[stack].frame;
        if (samples->near_reads[frame] != IT && reads_values(samples, stack)) {
            mark_around(samples, frame);
        }
    }
}

/* --- collating ------------------------------------------------------------------------------- */

static bool is_of_fetch(const struct ss_model *model, uint32_t stack)
{
    const struct ss_model_frame *frame = &model->frames.data[model->stacks.data[stack].frame];
    return strstr(ss_model_text(model, frame->file), "/torch/utils/data/_utils/fetch.py") != NULL;
}

/* A fetch takes samples, then calls what makes a batch of them. */
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

/* --- all samples ----------------------------------------------------------------------------- */

static void take_trainer(struct samples *samples, struct ss_training_samples *found,
                         struct ss_spots *spots, const struct ss_model_total *total)
{
    if (total->step != SS_SAMPLE_LATER_STEP) {
        return;
    }
    found->all += total->samples;
    found->runnable += total->state == SS_STATE_RUNNABLE ? total->samples : 0;
    found->other += total->phase == 0 ? total->samples : 0;
    if (total->phase != 0 &&
        strcmp(ss_model_text(samples->model, total->phase), "checkpoint") == 0) {
        return; /* what writes and copies there is told as a checkpoint */
    }
    if (collates(samples->model, total->stack)) {
        ss_spots_add(spots, samples->model, COLLATES, total, &found->collates);
    } else if (logs(samples, total->stack)) {
        ss_spots_add(spots, samples->model, LOGS, total, &found->logs);
    } else if (reads_values(samples, total->stack)) {
        ss_spots_add(spots, samples->model, READS, total, &found->reads);
    } else if (total->phase == 0 && is_own_work(samples->model, total->stack) &&
               samples->near_reads[samples->model->stacks.data[total->stack].frame] == FAR) {
        ss_spots_add(spots, samples->model, PREPARES, total, &found->prepares);
    }
}

/* Workers belong to their trainer, whatever names were asked for. */
static bool is_of_worker(const struct ss_training_facts *facts,
                         const struct ss_selection *selection, const struct ss_model_total *total)
{
    uint32_t process = facts->model->threads.data[total->thread].process;
    uint32_t trainer = ss_training_trainer(facts, process);
    return trainer != 0 && trainer != process && selection->processes[trainer] &&
           facts->workers > 0;
}

static void take_worker(const struct ss_model *model, struct ss_training_samples *found,
                        struct ss_spots *spots, const struct ss_model_total *total)
{
    bool computes = total->state == SS_STATE_ON_CPU || total->state == SS_STATE_RUNNABLE;
    found->of_workers += total->samples;
    found->computing_workers += computes ? total->samples : 0;
    if (total->state == SS_STATE_SLEEPING) {
        return;
    }
    ss_spots_add(spots, model, WORKERS, total, &found->workers);
    if (collates(model, total->stack)) {
        ss_spots_add(spots, model, COLLATES, total, &found->collates);
    }
}

void ss_training_samples_find(struct ss_training_facts *facts, const struct ss_selection *selection,
                              const struct ss_source_lines *source)
{
    const struct ss_model *model = facts->model;
    struct ss_training_samples *found = &facts->samples;
    struct samples samples = {.model = model,
                              .source = source,
                              .line_uses = ss_alloc_zero(model->frames.count + 1, 1),
                              .near_reads = ss_alloc_zero(model->frames.count + 1, 1)};
    find_lines_near_reads(&samples);
    struct ss_spots spots;
    ss_spots_init(&spots, model);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        const struct ss_model_thread *thread = &model->threads.data[total->thread];
        if (!thread->is_main) {
            continue;
        }
        if (ss_training_has_steps(facts, thread->process)) {
            if (selection->threads[total->thread]) {
                take_trainer(&samples, found, &spots, total);
            }
        } else if (is_of_worker(facts, selection, total)) {
            take_worker(model, found, &spots, total);
        }
    }
    ss_spots_find(&spots, LOGS, &found->logs);
    ss_spots_find(&spots, PREPARES, &found->prepares);
    ss_spots_find(&spots, READS, &found->reads);
    ss_spots_find(&spots, WORKERS, &found->workers);
    ss_spots_find(&spots, COLLATES, &found->collates);
    ss_spots_fini(&spots);
    ss_free(samples.line_uses);
    ss_free(samples.near_reads);
}
