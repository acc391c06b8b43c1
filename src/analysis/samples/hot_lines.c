/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/hot_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/steps/phase_spread.h"
#include "analysis/table/rule_limits.h"
#include "analysis/table/uncertainty.h"
#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/core/owner.h"

enum phase_kind { HAS_RULES, COMPUTES, NEITHER };

/* Samples of one stack in the searched phase. */
struct stack_samples {
    uint32_t stack;
    enum ss_activity activity;
    uint64_t samples;   /* counted */
    uint64_t computing; /* not counted */
    uint64_t records;
};

struct search {
    const struct ss_model *model;
    const struct ss_selection *selection;
    const struct ss_step_summary *steps;
    const struct ss_hot_lines_options *options;
    struct ss_vec_of(struct stack_samples) entries;
    bool has_forward;
    uint64_t *samples;          /* by frame: total samples in the phase */
    uint64_t *other_phases;     /* by frame: total samples in all other phases */
    uint64_t *function_samples; /* by representative frame: total of its function */
    uint32_t *function;         /* by frame: the representative frame of its function */
    uint32_t *seen_function;
    uint32_t *seen; /* by frame: index + 1 of the last stack added to it */
};

static enum phase_kind kind_of(const struct ss_model *model, const struct ss_step_phase *phase)
{
    static const char *const own_rules[] = {ss_phase_evaluation,    ss_phase_checkpoint,
                                            ss_phase_communication, ss_phase_compile,
                                            ss_phase_inference,     ss_phase_profiler};
    static const char *const computes[] = {ss_phase_forward, ss_phase_backward, ss_phase_optimizer};
    struct ss_strview name = ss_step_phase_text(model, phase);
    for (size_t i = 0; i < sizeof own_rules / sizeof *own_rules; i++) {
        if (ss_strview_equal(name, ss_strview_of(own_rules[i]))) {
            return HAS_RULES;
        }
    }
    for (size_t i = 0; i < sizeof computes / sizeof *computes; i++) {
        if (ss_strview_equal(name, ss_strview_of(computes[i]))) {
            return COMPUTES;
        }
    }
    return NEITHER;
}

static const struct ss_model_frame *frame_of(const struct ss_model *model, uint32_t stack)
{
    return &model->frames.data[model->stacks.data[stack].frame];
}

/* The owner of the innermost frame that does the work: not one that only wraps calls. */
static enum ss_code_owner owner_of_work(const struct ss_model *model, uint32_t stack)
{
    while (model->stacks.data[stack].parent != 0 &&
           frame_of(model, stack)->owner == SS_OWNER_STDLIB_WRAPPER) {
        stack = model->stacks.data[stack].parent;
    }
    return frame_of(model, stack)->owner;
}

/* The part of the stack that ends with its innermost frame of user code; 0: none. */
static uint32_t user_stack_of(const struct ss_model *model, uint32_t stack)
{
    uint32_t at = stack;
    while (at != 0 && frame_of(model, at)->owner != SS_OWNER_PROGRAM) {
        at = model->stacks.data[at].parent;
    }
    return at;
}

/* The activity of the sample; else TENSOR_READ if its innermost line of user code reads tensor
 * values: the reductions on that line serve the read. */
static enum ss_activity activity_of(const struct search *search, const struct ss_model_total *total)
{
    struct ss_activities *activities = search->options->activities;
    enum ss_activity activity = ss_activity_of_total(activities, total);
    if (activity != SS_ACTIVITY_NOTHING) {
        return activity;
    }
    enum ss_activity of_line = ss_activity_of_stack(
        activities, user_stack_of(search->model, total->stack), SS_STATE_ON_CPU, SS_GIL_UNKNOWN);
    return of_line == SS_ACTIVITY_TENSOR_READ ? of_line : SS_ACTIVITY_NOTHING;
}

static bool is_main_step_sample(const struct search *search, size_t total)
{
    const struct ss_model_total *row = &search->model->totals.data[total];
    return search->selection->totals[total] && row->step == SS_SAMPLE_LATER_STEP &&
           search->model->threads.data[row->thread].is_main;
}

/* --- the samples that count ------------------------------------------------------------------ */

/* Activities that rules of their own cover. */
static bool has_own_rule(enum ss_activity activity)
{
    return activity == SS_ACTIVITY_LOADER_WAIT || activity == SS_ACTIVITY_GIL_WAIT ||
           activity == SS_ACTIVITY_REQUESTS || activity == SS_ACTIVITY_COMMUNICATION ||
           activity == SS_ACTIVITY_COMPILATION || activity == SS_ACTIVITY_CHECKPOINT ||
           activity == SS_ACTIVITY_LOGGING;
}

/* An operator that only serves the training. */
static bool computes(const struct search *search, const struct ss_model_total *total,
                     enum ss_activity activity)
{
    const struct ss_model *model = search->model;
    return activity == SS_ACTIVITY_NOTHING &&
           (total->in_operator == SS_OPERATOR_INSIDE ||
            (total->in_operator == SS_OPERATOR_UNKNOWN &&
             ss_owner_is_torch(owner_of_work(model, total->stack))));
}

/* In forward, backward and optimizer: neither an operator, nor PyTorch or model packages that
 * dispatch operators and modules. */
static bool is_foreign(const struct search *search, const struct ss_model_total *total,
                       enum ss_activity activity)
{
    enum ss_code_owner owner = owner_of_work(search->model, total->stack);
    if (activity == SS_ACTIVITY_COPY || activity == SS_ACTIVITY_SERIALISATION) {
        return owner != SS_OWNER_PROGRAM || total->in_operator != SS_OPERATOR_INSIDE;
    }
    bool is_user = owner == SS_OWNER_PROGRAM && total->in_operator == SS_OPERATOR_OUTSIDE;
    return total->in_operator != SS_OPERATOR_INSIDE && !ss_owner_is_torch(owner) &&
           (activity != SS_ACTIVITY_NOTHING || is_user || ss_owner_is_stdlib(owner) ||
            owner == SS_OWNER_DATA_LIBRARY);
}

/* A forward() of user code that is called as a plain function: no phase begins there. */
static bool is_in_user_forward(const struct ss_model *model, const struct ss_model_total *total)
{
    uint32_t at = total->phase == 0 ? total->stack : 0;
    while (at != 0 && !(frame_of(model, at)->owner == SS_OWNER_PROGRAM &&
                        strcmp(ss_model_text(model, frame_of(model, at)->name), "forward") == 0)) {
        at = model->stacks.data[at].parent;
    }
    return at != 0;
}

static bool counts(const struct search *search, const struct ss_model_total *total,
                   enum phase_kind kind, enum ss_activity activity)
{
    if (total->stack == 0 || has_own_rule(activity) ||
        total->in_operator == SS_OPERATOR_COLLECTOR) {
        return false;
    }
    bool may_compute =
        total->in_pass || !search->has_forward || is_in_user_forward(search->model, total);
    return kind == COMPUTES ? is_foreign(search, total, activity)
                            : !(may_compute && computes(search, total, activity));
}

/* Adds to every frame of the stack once. */
static void add_to_frames(const struct search *search, uint32_t stack, uint64_t samples,
                          uint32_t mark, uint64_t *sums)
{
    const struct ss_model *model = search->model;
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t frame = model->stacks.data[at].frame;
        if (search->seen[frame] != mark) {
            search->seen[frame] = mark;
            sums[frame] += samples;
        }
    }
}

static bool is_in_phase(const struct ss_step_phase *phase, const struct ss_model_total *total)
{
    return phase->name == total->phase;
}

static void collect(struct search *search, const struct ss_step_phase *phase, enum phase_kind kind,
                    struct ss_phase_line *line)
{
    const struct ss_model *model = search->model;
    ss_vec_clear(&search->entries);
    memset(search->other_phases, 0, (model->frames.count + 1) * sizeof *search->other_phases);
    memset(search->seen, 0, (model->frames.count + 1) * sizeof *search->seen);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (!is_main_step_sample(search, i)) {
            continue;
        }
        if (!is_in_phase(phase, total)) {
            add_to_frames(search, total->stack, total->samples, (uint32_t)i + 1,
                          search->other_phases);
            continue;
        }
        line->all += total->samples;
        line->records += total->records;
        enum ss_activity activity = activity_of(search, total);
        bool is_counted = counts(search, total, kind, activity);
        bool waits_for_core = search->options->is_disturbed && total->state == SS_STATE_RUNNABLE;
        if (total->stack != 0 && !waits_for_core) {
            ss_vec_push(&search->entries,
                        (struct stack_samples){.stack = total->stack,
                                               .activity = activity,
                                               .samples = is_counted ? total->samples : 0,
                                               .computing = is_counted ? 0 : total->samples,
                                               .records = total->records});
        }
    }
}

/* --- the line -------------------------------------------------------------------------------- */

/* True if the stack has the frame, or `frame` is 0. */
static bool has_frame(const struct ss_model *model, uint32_t stack, uint32_t frame)
{
    uint32_t at = stack;
    while (frame != 0 && at != 0 && model->stacks.data[at].frame != frame) {
        at = model->stacks.data[at].parent;
    }
    return frame == 0 || at != 0;
}

/* The line encloses the whole loop, or a function that does more than this phase. */
static bool is_enclosing(const struct search *search, uint32_t frame)
{
    uint64_t other_phases = search->other_phases[frame], here = search->samples[frame];
    return 100 * other_phases > SS_LIMIT_ENCLOSING_LINE_PERCENT * (other_phases + here);
}

static bool can_be_named(const struct search *search, uint32_t frame, bool of_packages)
{
    const struct ss_model_frame *row = &search->model->frames.data[frame];
    bool has_owner = of_packages ? ss_owner_is_package(row->owner) && !ss_owner_is_torch(row->owner)
                                 : row->owner == SS_OWNER_PROGRAM;
    return frame != 0 && has_owner && !is_enclosing(search, frame);
}

/* Adds to the function of every frame of the stack once. */
static void add_to_functions(const struct search *search, uint32_t stack, uint64_t samples,
                             uint32_t mark)
{
    const struct ss_model *model = search->model;
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t function = search->function[model->stacks.data[at].frame];
        if (search->seen_function[function] != mark) {
            search->seen_function[function] = mark;
            search->function_samples[function] += samples;
        }
    }
}

/* Sums the samples of each frame and function over the stacks that have `outer`. */
static void sum_samples(struct search *search, uint32_t outer)
{
    const struct ss_model *model = search->model;
    size_t frames = model->frames.count + 1;
    memset(search->samples, 0, frames * sizeof *search->samples);
    memset(search->function_samples, 0, frames * sizeof *search->function_samples);
    memset(search->seen, 0, frames * sizeof *search->seen);
    memset(search->seen_function, 0, frames * sizeof *search->seen_function);
    for (size_t i = 0; i < search->entries.count; i++) {
        const struct stack_samples *entry = &search->entries.data[i];
        if (entry->samples > 0 && has_frame(model, entry->stack, outer)) {
            add_to_frames(search, entry->stack, entry->samples, (uint32_t)i + 1, search->samples);
            add_to_functions(search, entry->stack, entry->samples, (uint32_t)i + 1);
        }
    }
}

static uint32_t heaviest(const struct search *search, bool of_packages)
{
    uint32_t most = 0;
    for (uint32_t frame = 1; frame < search->model->frames.count; frame++) {
        if (search->samples[frame] > 0 && can_be_named(search, frame, of_packages) &&
            (most == 0 || search->samples[frame] > search->samples[most])) {
            most = frame;
        }
    }
    return most;
}

/* Depth of the frame in the first stack that has it. Of two frames with the same samples, the
 * deeper one is closer to the work. */
static uint32_t depth_of(const struct search *search, uint32_t frame, uint32_t outer)
{
    const struct ss_model *model = search->model;
    for (size_t i = 0; i < search->entries.count; i++) {
        const struct stack_samples *entry = &search->entries.data[i];
        if (entry->samples == 0 || !has_frame(model, entry->stack, outer)) {
            continue;
        }
        for (uint32_t at = entry->stack; at != 0; at = model->stacks.data[at].parent) {
            if (model->stacks.data[at].frame == frame) {
                return model->stacks.data[at].depth;
            }
        }
    }
    return 0;
}

/* The deepest line with SS_LIMIT_DEEPER_LINE_PERCENT of the samples of `frame`; or, if a deeper
 * function has as many, the heaviest line of that function. */
static uint32_t descend(struct search *search, uint32_t frame, bool *is_function)
{
    uint64_t least = (search->samples[frame] * SS_LIMIT_DEEPER_LINE_PERCENT + 99) / 100;
    uint32_t deepest = frame, depth = depth_of(search, frame, frame);
    sum_samples(search, frame);
    *is_function = false;
    for (uint32_t other = 1; other < search->model->frames.count; other++) {
        bool has_most = search->samples[other] >= least;
        bool is_of_most = search->samples[other] > 0 &&
                          search->function_samples[search->function[other]] >= least;
        if (other == frame || !(has_most || is_of_most) || !can_be_named(search, other, false)) {
            continue;
        }
        uint32_t below = depth_of(search, other, frame);
        bool is_heavier = below == depth && search->samples[other] > search->samples[deepest];
        if (below > depth || is_heavier) {
            deepest = other;
            depth = below;
            *is_function = !has_most;
        }
    }
    return deepest;
}

/* True if the stack has the line or, with is_function, any line of its function. */
static bool is_at(const struct search *search, uint32_t stack, uint32_t frame, bool is_function)
{
    const struct ss_model *model = search->model;
    if (!is_function) {
        return has_frame(model, stack, frame);
    }
    uint32_t at = stack;
    while (at != 0 && search->function[model->stacks.data[at].frame] != search->function[frame]) {
        at = model->stacks.data[at].parent;
    }
    return at != 0;
}

/* Moves the samples of the line from the search into `line`. */
static void extract_line(struct search *search, uint32_t frame, struct ss_hot_line *line)
{
    const struct ss_model *model = search->model;
    struct stack_samples most = {0};
    struct ss_activity_counts activities = {0};
    for (size_t i = 0; i < search->entries.count; i++) {
        struct stack_samples *entry = &search->entries.data[i];
        if (entry->samples == 0 || !is_at(search, entry->stack, frame, line->is_function)) {
            continue;
        }
        most = entry->samples > most.samples ? *entry : most;
        line->line.samples += entry->samples;
        ss_activity_count(&activities, entry->activity, entry->samples);
        entry->samples = 0;
    }
    uint32_t leaf = model->stacks.data[most.stack].frame;
    bool is_leaf =
        line->is_function ? search->function[leaf] == search->function[frame] : leaf == frame;
    line->line.frame = frame;
    line->line.leaf = is_leaf ? 0 : leaf;
    line->activity = ss_activity_majority(&activities);
}

static void insert(struct ss_hot_lines *lines, const struct ss_hot_line *line)
{
    size_t at = lines->count < SS_MAX_HOT_LINES ? lines->count++ : SS_MAX_HOT_LINES - 1;
    if (at + 1 == SS_MAX_HOT_LINES && lines->rows[at].cost_ns >= line->cost_ns) {
        return;
    }
    for (; at > 0 && lines->rows[at - 1].cost_ns < line->cost_ns; at--) {
        lines->rows[at] = lines->rows[at - 1];
    }
    lines->rows[at] = *line;
}

/* True if many samples of exactly this line are in operators that it calls itself: the Python code
 * between two of these belongs to them. */
static bool mostly_computes(const struct search *search, uint32_t frame, uint64_t samples)
{
    const struct ss_model *model = search->model;
    uint64_t computing = 0;
    for (size_t i = 0; i < search->entries.count; i++) {
        const struct stack_samples *entry = &search->entries.data[i];
        if (entry->computing > 0 &&
            model->stacks.data[user_stack_of(model, entry->stack)].frame == frame) {
            computing += entry->computing;
        }
    }
    return 100 * computing >= SS_LIMIT_COMPUTING_LINE_PERCENT * (computing + samples);
}

static void search_phase(struct search *search, const struct ss_step_phase *phase,
                         struct ss_hot_lines *lines)
{
    enum { MAX_TRIED = 8 };
    struct ss_phase_line phase_line = {0};
    collect(search, phase, kind_of(search->model, phase), &phase_line);
    uint64_t phase_ns = ss_phase_spread_of(search->steps, phase).mean_ns;
    for (int tries = 0; tries < MAX_TRIED; tries++) {
        sum_samples(search, 0);
        uint32_t frame = heaviest(search, false);
        frame = frame != 0 ? frame : heaviest(search, true);
        if (frame == 0 || search->samples[frame] < SS_MIN_CLAIM_SAMPLES) {
            return;
        }
        struct ss_hot_line line = {.phase = phase, .line = phase_line};
        uint32_t below = descend(search, frame, &line.is_function);
        line.caller = below != frame ? frame : 0;
        extract_line(search, below, &line);
        line.cost_ns = (uint64_t)((double)phase_ns * (double)line.line.samples /
                                  (double)(phase_line.all > 0 ? phase_line.all : 1));
        uint64_t hits =
            line.line.samples < phase_line.records ? line.line.samples : phase_line.records;
        line.error_ns = ss_share_error_ns(hits, phase_line.records, phase_line.all, phase_ns);
        if (!mostly_computes(search, line.line.frame, line.line.samples)) {
            insert(lines, &line);
        }
    }
}

struct frame_key {
    uint32_t function, file, frame;
};

static int compare_functions(const void *left, const void *right)
{
    const struct frame_key *a = left, *b = right;
    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    if (a->function != b->function) {
        return a->function < b->function ? -1 : 1;
    }
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* By frame: the first frame of its function. */
static uint32_t *find_functions(const struct ss_model *model)
{
    size_t count = model->frames.count;
    uint32_t *function = ss_alloc_zero(count + 1, sizeof *function);
    struct frame_key *rows = ss_alloc((count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct ss_model_frame *frame = &model->frames.data[i];
        rows[i] = (struct frame_key){frame->function, frame->file, (uint32_t)i};
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
    struct search search = {.model = model,
                            .selection = selection,
                            .steps = steps,
                            .options = options,
                            .samples = ss_alloc_zero(frames, sizeof *search.samples),
                            .other_phases = ss_alloc_zero(frames, sizeof *search.other_phases),
                            .function_samples =
                                ss_alloc_zero(frames, sizeof *search.function_samples),
                            .function = find_functions(model),
                            .seen_function = ss_alloc_zero(frames, sizeof(uint32_t)),
                            .seen = ss_alloc_zero(frames, sizeof *search.seen)};
    search.has_forward = ss_step_phase_named(steps, model, ss_phase_forward) < steps->phases.count;
    for (size_t i = 0; i < steps->phases.count; i++) {
        const struct ss_step_phase *phase = &steps->phases.data[i];
        if (kind_of(model, phase) != HAS_RULES && phase->total_ns > 0) {
            search_phase(&search, phase, lines);
        }
    }
    ss_vec_fini(&search.entries);
    ss_free(search.samples);
    ss_free(search.other_phases);
    ss_free(search.function_samples);
    ss_free(search.function);
    ss_free(search.seen_function);
    ss_free(search.seen);
}
