/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/hot_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/uncertainty.h"
#include "base/alloc.h"

/* Of a line's samples, in percent: */
enum {
    MOST_OF_OTHER_PHASES = 10, /* more in phases that compute: the line is around the loop's work */
    LEAST_BELOW = 80,          /* as much in one line that it calls: that one is named */
    LEAST_COMPUTING = 25       /* as much in operators that it calls itself: it computes */
};

enum phase_kind { OWN_RULES, COMPUTES, PASSES };

/* A stack with samples in the phase that is looked at. */
struct weight {
    uint32_t stack;
    enum ss_activity activity;
    uint64_t samples;   /* that count */
    uint64_t computing; /* that do not */
    uint64_t records;
};

struct looking {
    const struct ss_model *model;
    const struct ss_selection *selection;
    const struct ss_step_summary *steps;
    const struct ss_hot_lines_options *options;
    struct ss_vec_of(struct weight) weights;
    bool has_forward;
    uint64_t *at;          /* by frame: samples of the phase below it */
    uint64_t *elsewhere;   /* by frame: samples of all other phases below it */
    uint64_t *at_function; /* by frame that stands for its function: samples of the phase below */
    uint32_t *function;    /* by frame: the one that stands for its function */
    uint32_t *seen_function;
    uint32_t *seen; /* by frame: the last stack + 1 that was counted for it */
};

static enum phase_kind kind_of(const struct ss_model *model, const struct ss_step_phase *phase)
{
    static const char *const own_rules[] = {"evaluation", "checkpoint", "communication", "compile",
                                            "inference"};
    static const char *const computes[] = {"forward", "backward", "optimizer"};
    struct ss_strview name = ss_step_phase_text(model, phase);
    for (size_t i = 0; i < sizeof own_rules / sizeof *own_rules; i++) {
        if (ss_strview_equal(name, ss_strview_of(own_rules[i]))) {
            return OWN_RULES;
        }
    }
    for (size_t i = 0; i < sizeof computes / sizeof *computes; i++) {
        if (ss_strview_equal(name, ss_strview_of(computes[i]))) {
            return COMPUTES;
        }
    }
    return PASSES;
}

static const struct ss_model_frame *frame_of(const struct ss_model *model, uint32_t stack)
{
    return &model->frames.data[model->stacks.data[stack].frame];
}

static bool has_any(const char *text, const char *const *words)
{
    while (*words != NULL && strstr(text, *words) == NULL) {
        words++;
    }
    return *words != NULL;
}

static bool is_of_torch(const struct ss_model *model, const struct ss_model_frame *frame)
{
    return strstr(ss_model_text(model, frame->file), "/torch/") != NULL;
}

/* Parts of the standard library that stand around calls of others and do nothing themselves. */
static bool is_glue(const struct ss_model *model, const struct ss_model_frame *frame)
{
    static const char *const files[] = {"contextlib.py", "functools.py", "typing.py", "enum.py",
                                        "abc.py",        "weakref.py",   "<frozen",   NULL};
    return frame->origin == SS_ORIGIN_STDLIB && has_any(ss_model_text(model, frame->file), files);
}

/* Packages that work on data, not on a model: within a model's forward too. */
static bool is_of_data_package(const struct ss_model *model, const struct ss_model_frame *frame)
{
    static const char *const packages[] = {
        "/numpy/", "/pandas/",  "/scipy/", "/sklearn/", "/PIL/",      "/cv2/",     "/skimage/",
        "/h5py/",  "/pyarrow/", "/nltk/",  "/spacy/",   "/requests/", "/urllib3/", NULL};
    return frame->origin == SS_ORIGIN_PACKAGE &&
           has_any(ss_model_text(model, frame->file), packages);
}

/* Who does the work: the frame next to the leaf that is no glue. */
static const struct ss_model_frame *worker_of(const struct ss_model *model, uint32_t stack)
{
    while (model->stacks.data[stack].parent != 0 && is_glue(model, frame_of(model, stack))) {
        stack = model->stacks.data[stack].parent;
    }
    return frame_of(model, stack);
}

/* The stack down to the line of your own code next to the leaf; 0: there is none. */
static uint32_t own_stack_of(const struct ss_model *model, uint32_t stack)
{
    uint32_t at = stack;
    while (at != 0 && frame_of(model, at)->origin != SS_ORIGIN_USER) {
        at = model->stacks.data[at].parent;
    }
    return at;
}

/* What the frames behind the line do; else what its source says, where it reads values: tensors are
 * reduced in order to be read. */
static enum ss_activity activity_of(const struct looking *looking,
                                    const struct ss_model_total *total)
{
    struct ss_activities *activities = looking->options->activities;
    enum ss_activity activity = ss_activity_of_total(activities, total);
    if (activity != SS_ACTIVITY_NOTHING) {
        return activity;
    }
    enum ss_activity of_line = ss_activity_of_stack(
        activities, own_stack_of(looking->model, total->stack), SS_STATE_ON_CPU, SS_GIL_UNKNOWN);
    return of_line == SS_ACTIVITY_TENSOR_READ ? of_line : SS_ACTIVITY_NOTHING;
}

static bool is_main_step_sample(const struct looking *looking, size_t total)
{
    const struct ss_model_total *row = &looking->model->totals.data[total];
    return looking->selection->totals[total] && row->step == SS_SAMPLE_LATER_STEP &&
           looking->model->threads.data[row->thread].is_main;
}

/* --- the samples that count ------------------------------------------------------------------ */

/* Rules of their own speak of these. */
static bool has_own_rule(enum ss_activity activity)
{
    return activity == SS_ACTIVITY_LOADER_WAIT || activity == SS_ACTIVITY_GIL_WAIT ||
           activity == SS_ACTIVITY_COMMUNICATION || activity == SS_ACTIVITY_COMPILATION ||
           activity == SS_ACTIVITY_CHECKPOINT || activity == SS_ACTIVITY_LOGGING;
}

/* An operator that serves nothing but the training. */
static bool computes(const struct looking *looking, const struct ss_model_total *total,
                     enum ss_activity activity)
{
    const struct ss_model *model = looking->model;
    return activity == SS_ACTIVITY_NOTHING &&
           (total->in_operator == SS_OPERATOR_INSIDE ||
            (total->in_operator == SS_OPERATOR_UNKNOWN &&
             is_of_torch(model, worker_of(model, total->stack))));
}

/* Of the forward, the backward and the update: what is neither an operator nor the dispatching of
 * operators and modules by PyTorch and packages of models. */
static bool is_foreign(const struct looking *looking, const struct ss_model_total *total,
                       enum ss_activity activity)
{
    const struct ss_model *model = looking->model;
    const struct ss_model_frame *worker = worker_of(model, total->stack);
    if (activity == SS_ACTIVITY_COPY || activity == SS_ACTIVITY_SERIALISATION) {
        return worker->origin != SS_ORIGIN_USER || total->in_operator != SS_OPERATOR_INSIDE;
    }
    bool is_own = worker->origin == SS_ORIGIN_USER && total->in_operator == SS_OPERATOR_OUTSIDE;
    return total->in_operator != SS_OPERATOR_INSIDE && !is_of_torch(model, worker) &&
           (activity != SS_ACTIVITY_NOTHING || is_own || worker->origin == SS_ORIGIN_STDLIB ||
            is_of_data_package(model, worker));
}

/* A module's forward() that is called as a function: no phase begins there. */
static bool is_in_own_forward(const struct ss_model *model, const struct ss_model_total *total)
{
    uint32_t at = total->phase == 0 ? total->stack : 0;
    while (at != 0 && !(frame_of(model, at)->origin == SS_ORIGIN_USER &&
                        strcmp(ss_model_text(model, frame_of(model, at)->name), "forward") == 0)) {
        at = model->stacks.data[at].parent;
    }
    return at != 0;
}

static bool counts(const struct looking *looking, const struct ss_model_total *total,
                   enum phase_kind kind, enum ss_activity activity)
{
    if (total->stack == 0 || has_own_rule(activity) ||
        total->in_operator == SS_OPERATOR_COLLECTOR) {
        return false;
    }
    bool may_compute =
        total->in_pass || !looking->has_forward || is_in_own_forward(looking->model, total);
    return kind == COMPUTES ? is_foreign(looking, total, activity)
                            : !(may_compute && computes(looking, total, activity));
}

/* Adds to every user frame of the stack once. */
static void add_to_frames(const struct looking *looking, uint32_t stack, uint64_t samples,
                          uint32_t mark, uint64_t *sums)
{
    const struct ss_model *model = looking->model;
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t frame = model->stacks.data[at].frame;
        if (looking->seen[frame] != mark) {
            looking->seen[frame] = mark;
            sums[frame] += samples;
        }
    }
}

/* The phase of a total as the summary has it. */
static bool is_in_phase(const struct ss_step_phase *phase, const struct ss_model_total *total)
{
    return phase->name == total->phase;
}

static void collect(struct looking *looking, const struct ss_step_phase *phase,
                    enum phase_kind kind, struct ss_phase_line *line)
{
    const struct ss_model *model = looking->model;
    ss_vec_clear(&looking->weights);
    memset(looking->elsewhere, 0, (model->frames.count + 1) * sizeof *looking->elsewhere);
    memset(looking->seen, 0, (model->frames.count + 1) * sizeof *looking->seen);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (!is_main_step_sample(looking, i)) {
            continue;
        }
        if (!is_in_phase(phase, total)) {
            add_to_frames(looking, total->stack, total->samples, (uint32_t)i + 1,
                          looking->elsewhere);
            continue;
        }
        line->all += total->samples;
        line->records += total->records;
        enum ss_activity activity = activity_of(looking, total);
        bool is_counted = counts(looking, total, kind, activity);
        if (total->stack != 0) {
            ss_vec_push(&looking->weights,
                        (struct weight){.stack = total->stack,
                                        .activity = activity,
                                        .samples = is_counted ? total->samples : 0,
                                        .computing = is_counted ? 0 : total->samples,
                                        .records = total->records});
        }
    }
}

/* --- the line -------------------------------------------------------------------------------- */

/* Whether the stack has this frame; 0: any stack has. */
static bool has_frame(const struct ss_model *model, uint32_t stack, uint32_t frame)
{
    uint32_t at = stack;
    while (frame != 0 && at != 0 && model->stacks.data[at].frame != frame) {
        at = model->stacks.data[at].parent;
    }
    return frame == 0 || at != 0;
}

/* It lies around the whole loop, or around a function that does more than this phase. */
static bool is_around(const struct looking *looking, uint32_t frame)
{
    uint64_t elsewhere = looking->elsewhere[frame], here = looking->at[frame];
    return 100 * elsewhere > MOST_OF_OTHER_PHASES * (elsewhere + here);
}

static bool can_be_named(const struct looking *looking, uint32_t frame, bool of_packages)
{
    const struct ss_model_frame *row = &looking->model->frames.data[frame];
    bool has_origin = of_packages
                          ? row->origin == SS_ORIGIN_PACKAGE && !is_of_torch(looking->model, row)
                          : row->origin == SS_ORIGIN_USER;
    return frame != 0 && has_origin && !is_around(looking, frame);
}

/* Adds to the function of every frame of the stack once. */
static void add_to_functions(const struct looking *looking, uint32_t stack, uint64_t samples,
                             uint32_t mark)
{
    const struct ss_model *model = looking->model;
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t function = looking->function[model->stacks.data[at].frame];
        if (looking->seen_function[function] != mark) {
            looking->seen_function[function] = mark;
            looking->at_function[function] += samples;
        }
    }
}

/* Sums up the samples below each frame and function, of the stacks that have `outer`. */
static void sum_up(struct looking *looking, uint32_t outer)
{
    const struct ss_model *model = looking->model;
    size_t frames = model->frames.count + 1;
    memset(looking->at, 0, frames * sizeof *looking->at);
    memset(looking->at_function, 0, frames * sizeof *looking->at_function);
    memset(looking->seen, 0, frames * sizeof *looking->seen);
    memset(looking->seen_function, 0, frames * sizeof *looking->seen_function);
    for (size_t i = 0; i < looking->weights.count; i++) {
        const struct weight *weight = &looking->weights.data[i];
        if (weight->samples > 0 && has_frame(model, weight->stack, outer)) {
            add_to_frames(looking, weight->stack, weight->samples, (uint32_t)i + 1, looking->at);
            add_to_functions(looking, weight->stack, weight->samples, (uint32_t)i + 1);
        }
    }
}

static uint32_t heaviest(const struct looking *looking, bool of_packages)
{
    uint32_t most = 0;
    for (uint32_t frame = 1; frame < looking->model->frames.count; frame++) {
        if (looking->at[frame] > 0 && can_be_named(looking, frame, of_packages) &&
            (most == 0 || looking->at[frame] > looking->at[most])) {
            most = frame;
        }
    }
    return most;
}

/* Depth of the frame in the first stack that has it; of two frames around the same samples the
 * deeper one is nearer to what they do. */
static uint32_t depth_of(const struct looking *looking, uint32_t frame, uint32_t outer)
{
    const struct ss_model *model = looking->model;
    for (size_t i = 0; i < looking->weights.count; i++) {
        const struct weight *weight = &looking->weights.data[i];
        if (weight->samples == 0 || !has_frame(model, weight->stack, outer)) {
            continue;
        }
        for (uint32_t at = weight->stack; at != 0; at = model->stacks.data[at].parent) {
            if (model->stacks.data[at].frame == frame) {
                return model->stacks.data[at].depth;
            }
        }
    }
    return 0;
}

/* The deepest line that most of the samples of `frame` pass; or, of a deeper function that most of
 * them pass, its heaviest line. */
static uint32_t go_down(struct looking *looking, uint32_t frame, bool *is_function)
{
    uint64_t least = (looking->at[frame] * LEAST_BELOW + 99) / 100;
    uint32_t deepest = frame, depth = depth_of(looking, frame, frame);
    sum_up(looking, frame);
    *is_function = false;
    for (uint32_t other = 1; other < looking->model->frames.count; other++) {
        bool has_most = looking->at[other] >= least;
        bool is_of_most =
            looking->at[other] > 0 && looking->at_function[looking->function[other]] >= least;
        if (other == frame || !(has_most || is_of_most) || !can_be_named(looking, other, false)) {
            continue;
        }
        uint32_t below = depth_of(looking, other, frame);
        bool is_heavier = below == depth && looking->at[other] > looking->at[deepest];
        if (below > depth || is_heavier) {
            deepest = other;
            depth = below;
            *is_function = !has_most;
        }
    }
    return deepest;
}

/* Takes the samples of the line out of what is looked at; sums them up. */
static bool is_at(const struct looking *looking, uint32_t stack, uint32_t frame, bool is_function)
{
    const struct ss_model *model = looking->model;
    if (!is_function) {
        return has_frame(model, stack, frame);
    }
    uint32_t at = stack;
    while (at != 0 && looking->function[model->stacks.data[at].frame] != looking->function[frame]) {
        at = model->stacks.data[at].parent;
    }
    return at != 0;
}

static void take_out(struct looking *looking, uint32_t frame, struct ss_hot_line *line)
{
    const struct ss_model *model = looking->model;
    struct weight most = {0};
    struct ss_activity_counts activities = {0};
    for (size_t i = 0; i < looking->weights.count; i++) {
        struct weight *weight = &looking->weights.data[i];
        if (weight->samples == 0 || !is_at(looking, weight->stack, frame, line->is_function)) {
            continue;
        }
        most = weight->samples > most.samples ? *weight : most;
        line->line.samples += weight->samples;
        ss_activity_count(&activities, weight->activity, weight->samples);
        weight->samples = 0;
    }
    uint32_t leaf = model->stacks.data[most.stack].frame;
    bool is_leaf =
        line->is_function ? looking->function[leaf] == looking->function[frame] : leaf == frame;
    line->line.frame = frame;
    line->line.leaf = is_leaf ? 0 : leaf;
    line->activity = ss_activity_most(&activities);
}

/* Mean of the phase per step, slow ones too, without warm-up. */
static uint64_t mean_of(const struct ss_step_summary *steps, const struct ss_step_phase *phase)
{
    size_t column = (size_t)(phase - steps->phases.data);
    uint64_t sum_ns = 0, count = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        enum ss_step_kind kind = steps->steps.data[i].kind;
        if (kind == SS_STEP_USUAL || kind == SS_STEP_OUTLIER) {
            uint64_t ns = steps->phase_ns[i * steps->phases.count + column];
            sum_ns += ns < UINT64_MAX - sum_ns ? ns : 0;
            count++;
        }
    }
    return count > 0 ? sum_ns / count : 0;
}

static void put(struct ss_hot_lines *lines, const struct ss_hot_line *line)
{
    size_t at = lines->count < SS_MOST_HOT_LINES ? lines->count++ : SS_MOST_HOT_LINES - 1;
    if (at + 1 == SS_MOST_HOT_LINES && lines->rows[at].cost_ns >= line->cost_ns) {
        return;
    }
    for (; at > 0 && lines->rows[at - 1].cost_ns < line->cost_ns; at--) {
        lines->rows[at] = lines->rows[at - 1];
    }
    lines->rows[at] = *line;
}

/* Samples at exactly this line, in operators that it calls itself: between two of them there is
 * Python that belongs to them. */
static bool mostly_computes(const struct looking *looking, uint32_t frame, uint64_t samples)
{
    const struct ss_model *model = looking->model;
    uint64_t computing = 0;
    for (size_t i = 0; i < looking->weights.count; i++) {
        const struct weight *weight = &looking->weights.data[i];
        if (weight->computing > 0 &&
            model->stacks.data[own_stack_of(model, weight->stack)].frame == frame) {
            computing += weight->computing;
        }
    }
    return 100 * computing >= LEAST_COMPUTING * (computing + samples);
}

static void look_at(struct looking *looking, const struct ss_step_phase *phase,
                    struct ss_hot_lines *lines)
{
    enum { MOST_TRIED = 8 };
    struct ss_phase_line of = {0};
    collect(looking, phase, kind_of(looking->model, phase), &of);
    uint64_t phase_ns = mean_of(looking->steps, phase);
    for (int tried = 0; tried < MOST_TRIED; tried++) {
        sum_up(looking, 0);
        uint32_t frame = heaviest(looking, false);
        frame = frame != 0 ? frame : heaviest(looking, true);
        if (frame == 0 || looking->at[frame] < SS_MIN_CLAIM_SAMPLES) {
            return;
        }
        struct ss_hot_line line = {.phase = phase, .line = of};
        uint32_t below = go_down(looking, frame, &line.is_function);
        line.caller = below != frame ? frame : 0;
        take_out(looking, below, &line);
        line.cost_ns = (uint64_t)((double)phase_ns * (double)line.line.samples /
                                  (double)(of.all > 0 ? of.all : 1));
        uint64_t hits = line.line.samples < of.records ? line.line.samples : of.records;
        line.error_ns = ss_share_error_ns(hits, of.records, of.all, phase_ns);
        if (!mostly_computes(looking, line.line.frame, line.line.samples)) {
            put(lines, &line);
        }
    }
}

struct by_function {
    uint32_t function, file, frame;
};

static int compare_functions(const void *left, const void *right)
{
    const struct by_function *a = left, *b = right;
    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    if (a->function != b->function) {
        return a->function < b->function ? -1 : 1;
    }
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* For each frame the first of its function. */
static uint32_t *find_functions(const struct ss_model *model)
{
    size_t count = model->frames.count;
    uint32_t *function = ss_alloc_zero(count + 1, sizeof *function);
    struct by_function *rows = ss_alloc((count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct ss_model_frame *frame = &model->frames.data[i];
        rows[i] = (struct by_function){frame->function, frame->file, (uint32_t)i};
    }
    if (count > 0) {
        qsort(rows, count, sizeof *rows, compare_functions);
    }
    for (size_t i = 0; i < count; i++) {
        bool is_same =
            i > 0 && rows[i].function == rows[i - 1].function && rows[i].file == rows[i - 1].file;
        function[rows[i].frame] = is_same ? function[rows[i - 1].frame] : rows[i].frame;
    }
    ss_free(rows);
    return function;
}

void ss_hot_lines_find(struct ss_hot_lines *lines, const struct ss_selection *selection,
                       const struct ss_step_summary *steps,
                       const struct ss_hot_lines_options *options)
{
    *lines = (struct ss_hot_lines){0};
    const struct ss_model *model = selection->model;
    size_t frames = model->frames.count + 1;
    struct looking looking = {.model = model,
                              .selection = selection,
                              .steps = steps,
                              .options = options,
                              .at = ss_alloc_zero(frames, sizeof *looking.at),
                              .elsewhere = ss_alloc_zero(frames, sizeof *looking.elsewhere),
                              .at_function = ss_alloc_zero(frames, sizeof *looking.at_function),
                              .function = find_functions(model),
                              .seen_function = ss_alloc_zero(frames, sizeof(uint32_t)),
                              .seen = ss_alloc_zero(frames, sizeof *looking.seen)};
    for (size_t i = 0; i < steps->phases.count; i++) {
        const struct ss_step_phase *phase = &steps->phases.data[i];
        looking.has_forward =
            looking.has_forward ||
            ss_strview_equal(ss_step_phase_text(model, phase), ss_strview_of("forward"));
    }
    for (size_t i = 0; i < steps->phases.count; i++) {
        const struct ss_step_phase *phase = &steps->phases.data[i];
        if (kind_of(model, phase) != OWN_RULES && phase->total_ns > 0) {
            look_at(&looking, phase, lines);
        }
    }
    ss_vec_fini(&looking.weights);
    ss_free(looking.at);
    ss_free(looking.elsewhere);
    ss_free(looking.at_function);
    ss_free(looking.function);
    ss_free(looking.seen_function);
    ss_free(looking.seen);
}
