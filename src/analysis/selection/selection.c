/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/selection.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/selection/program_facts.h"
#include "base/alloc.h"
#include "base/shared_names.h"
#include "base/strbuf.h"

/* Leaf functions that only wait, whatever their scheduler state (a poll with a short timeout is
 * sampled running now and then). py-spy uses the same list. */
static const struct {
    const char *name;
    const char *path_end;  /* NULL: any */
    const char *path_part; /* NULL: any */
} waiting_functions[] = {{"wait", "threading.py", NULL}, {"select", "selectors.py", NULL},
                         {"poll", "asyncore.py", NULL},  {"poll", NULL, "zmq"},
                         {"poll", NULL, "gevent"},       {"poll", NULL, "tornado"}};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end_length = strlen(ending);
    return length >= end_length && strcmp(text + length - end_length, ending) == 0;
}

static bool is_waiting_function(const struct ss_model *model, uint32_t frame_id)
{
    const struct ss_model_frame *frame = &model->frames.data[frame_id];
    const char *name = ss_model_text(model, frame->name);
    const char *path = ss_model_text(model, frame->file);
    for (size_t i = 0; i < sizeof waiting_functions / sizeof *waiting_functions; i++) {
        const char *end = waiting_functions[i].path_end;
        const char *part = waiting_functions[i].path_part;
        if (strcmp(name, waiting_functions[i].name) == 0 && (end == NULL || ends_with(path, end)) &&
            (part == NULL || strstr(path, part) != NULL)) {
            return true;
        }
    }
    return false;
}

bool ss_total_is_idle(const struct ss_model *model, const struct ss_model_total *total)
{
    if (total->state == SS_STATE_UNKNOWN) {
        return false;
    }
    bool asleep = total->state == SS_STATE_SLEEPING || total->state == SS_STATE_UNINTERRUPTIBLE ||
                  total->state == SS_STATE_STOPPED;
    return (asleep && total->gil != SS_GIL_HELD) ||
           is_waiting_function(model, model->stacks.data[total->stack].frame);
}

/* A filter of threads or processes: a number, or a regex. */
struct pattern {
    bool active, is_number;
    int64_t number;
    regex_t regex;
};

static enum ss_status pattern_init(struct pattern *pattern, const char *text, const char *option,
                                   bool number_allowed, struct ss_error *err)
{
    *pattern = (struct pattern){0};
    if (text == NULL) {
        return SS_OK;
    }
    char *end;
    errno = 0;
    pattern->number = strtoll(text, &end, 10);
    if (number_allowed && end != text && *end == '\0' && errno == 0) {
        pattern->active = pattern->is_number = true;
        return SS_OK;
    }
    int code = regcomp(&pattern->regex, text, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[128];
        regerror(code, &pattern->regex, why, sizeof why);
        return ss_fail(err, SS_E_USAGE, "--%s \"%s\" is not an extended regular expression: %s",
                       option, text, why);
    }
    pattern->active = true;
    return SS_OK;
}

static void pattern_fini(struct pattern *pattern)
{
    if (pattern->active && !pattern->is_number) {
        regfree(&pattern->regex);
    }
    pattern->active = false;
}

static bool matches(const struct pattern *pattern, const char *text)
{
    return regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}

static bool wants_process(const struct pattern *pattern, const struct ss_model *model, uint32_t id)
{
    const struct ss_model_process *process = &model->processes.data[id];
    if (!pattern->active) {
        return true;
    }
    if (pattern->is_number) {
        return process->pid == pattern->number;
    }
    return matches(pattern, ss_model_text(model, process->label)) ||
           matches(pattern, ss_model_text(model, process->name)) ||
           matches(pattern, ss_model_text(model, process->cmdline));
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* Whether the list, "0,4-7", has this rank. It is a list. */
static bool has_rank(const char *list, int64_t rank)
{
    for (const char *at = list; *at != '\0';) {
        char *end;
        int64_t first = strtoll(at, &end, 10), last = first;
        if (*end == '-') {
            last = strtoll(end + 1, &end, 10);
        }
        if (rank >= first && rank <= last) {
            return true;
        }
        at = *end == ',' ? end + 1 : end;
    }
    return false;
}

static enum ss_status check_ranks(const char *list, struct ss_error *err)
{
    const char *at = list;
    while (at != NULL) {
        size_t digits = strspn(at, "0123456789"), more = 1;
        const char *end = at + digits;
        if (*end == '-') {
            more = strspn(end + 1, "0123456789");
            end += 1 + more;
        }
        if (digits == 0 || digits > 9 || more == 0 || more > 9 || (*end != ',' && *end != '\0')) {
            return ss_fail(err, SS_E_USAGE,
                           "--rank \"%s\" is not a list of ranks such as 3 or 0,4-7", list);
        }
        at = *end == ',' ? end + 1 : NULL;
    }
    return SS_OK;
}

/* A process of the rank, or one that it started. */
static bool is_of_rank(const char *list, const struct ss_model *model, uint32_t id)
{
    while (id != 0) {
        int64_t rank = ss_rank_of(model, id);
        if (rank >= 0) {
            return has_rank(list, rank);
        }
        id = model->processes.data[id].parent;
    }
    return false;
}

static bool wants_thread(const struct pattern *pattern, const struct ss_model *model, uint32_t id)
{
    const struct ss_model_thread *thread = &model->threads.data[id];
    if (!pattern->active) {
        return true;
    }
    return pattern->is_number ? thread->tid == pattern->number
                              : matches(pattern, ss_model_text(model, thread->name));
}

/* By stack: whether any of its frames matches. Parents precede their children. */
static bool *match_stacks(const struct pattern *pattern, const struct ss_model *model)
{
    if (!pattern->active) {
        return NULL;
    }
    bool *frames = ss_alloc_zero(model->frames.count, sizeof *frames);
    struct ss_strbuf text;
    ss_strbuf_init(&text, 1 << 20);
    for (size_t i = 1; i < model->frames.count; i++) {
        const struct ss_model_frame *frame = &model->frames.data[i];
        ss_strbuf_clear(&text);
        ss_strbuf_append_format(&text, "%s (%s:%" PRId32 ")", ss_model_text(model, frame->function),
                                ss_model_text(model, frame->file), frame->line);
        frames[i] = matches(pattern, text.data);
    }
    ss_strbuf_fini(&text);
    bool *stacks = ss_alloc_zero(model->stacks.count, sizeof *stacks);
    for (size_t i = 1; i < model->stacks.count; i++) {
        const struct ss_model_stack *stack = &model->stacks.data[i];
        stacks[i] = stacks[stack->parent] || frames[stack->frame];
    }
    ss_free(frames);
    return stacks;
}

static bool wants(const struct pattern *process, const struct ss_selection_options *options,
                  const struct ss_model *model, uint32_t id)
{
    return wants_process(process, model, id) &&
           (options->rank == NULL || is_of_rank(options->rank, model, id));
}

/* All inputs of the decision, computed per thread and per stack. */
struct decider {
    const struct ss_selection_options *options;
    const struct ss_model *model;
    bool *threads, *processes;
    bool *workers;         /* of a DataLoader, by process; NULL: they are as others */
    bool *match, *exclude; /* by stack; NULL: no such filter */
};

static bool *find_workers(const struct ss_model *model)
{
    bool *workers = ss_alloc_zero(model->processes.count + 1, sizeof *workers);
    for (uint32_t i = 1; i < model->processes.count; i++) {
        workers[i] = ss_program_fact(model, i, ss_fact_loader_worker) != NULL;
    }
    return workers;
}

static enum ss_status decider_init(struct decider *decider, const struct ss_model *model,
                                   const struct ss_selection_options *options, struct ss_error *err)
{
    *decider = (struct decider){.options = options, .model = model};
    struct pattern thread = {0}, process = {0}, match = {0}, exclude = {0};
    enum ss_status status = check_ranks(options->rank, err);
    if (status == SS_OK) {
        status = pattern_init(&thread, options->thread, "thread", true, err);
    }
    if (status == SS_OK) {
        status = pattern_init(&process, options->process, "process", true, err);
    }
    if (status == SS_OK) {
        status = pattern_init(&match, options->match, "match", false, err);
    }
    if (status == SS_OK) {
        status = pattern_init(&exclude, options->exclude, "exclude", false, err);
    }
    if (status == SS_OK) {
        decider->threads = ss_alloc_zero(model->threads.count, sizeof *decider->threads);
        for (uint32_t i = 0; i < model->threads.count; i++) {
            decider->threads[i] = wants_thread(&thread, model, i) &&
                                  wants(&process, options, model, model->threads.data[i].process);
        }
        decider->processes = ss_alloc_zero(model->processes.count, sizeof *decider->processes);
        for (uint32_t i = 0; i < model->processes.count; i++) {
            decider->processes[i] = !thread.active && wants(&process, options, model, i);
        }
        decider->workers = options->busy_workers ? find_workers(model) : NULL;
        decider->match = match_stacks(&match, model);
        decider->exclude = match_stacks(&exclude, model);
    }
    pattern_fini(&thread);
    pattern_fini(&process);
    pattern_fini(&match);
    pattern_fini(&exclude);
    return status;
}

static void decider_fini(struct decider *decider)
{
    ss_free(decider->threads);
    ss_free(decider->processes);
    ss_free(decider->workers);
    ss_free(decider->match);
    ss_free(decider->exclude);
}

static bool passes_filters(const struct decider *decider, uint32_t thread, uint32_t stack)
{
    return decider->threads[thread] && (decider->match == NULL || decider->match[stack]) &&
           (decider->exclude == NULL || !decider->exclude[stack]);
}

static bool hides_idle(const struct decider *decider, const struct ss_model_total *total)
{
    enum ss_idle_policy policy = decider->options->idle;
    const struct ss_model_thread *thread = &decider->model->threads.data[total->thread];
    bool is_of_worker = decider->workers != NULL && decider->workers[thread->process];
    if (!is_of_worker && (policy == SS_IDLE_ALL || (policy == SS_IDLE_MAIN && thread->is_main))) {
        return false;
    }
    return ss_total_is_idle(decider->model, total);
}

/* The counter of the first reason that hides the total; NULL when it is shown. */
static uint64_t *reason_not_shown(struct ss_selection *selection, const struct decider *decider,
                                  const struct ss_model_total *total)
{
    if (!passes_filters(decider, total->thread, total->stack)) {
        return &selection->filtered;
    }
    if (hides_idle(decider, total)) {
        return &selection->idle;
    }
    if (decider->options->gil_only && total->gil != SS_GIL_HELD) {
        return &selection->no_gil;
    }
    return total->stack == 0 && !decider->options->frameless ? &selection->frameless : NULL;
}

enum ss_status ss_selection_init(struct ss_selection *selection, const struct ss_model *model,
                                 const struct ss_selection_options *options, struct ss_error *err)
{
    *selection = (struct ss_selection){.model = model, .workers = options->workers};
    struct decider decider;
    enum ss_status status = decider_init(&decider, model, options, err);
    if (status != SS_OK) {
        decider_fini(&decider);
        return status;
    }
    selection->analysis = ss_analysis_new();
    selection->totals = ss_alloc_zero(model->totals.count + 1, sizeof *selection->totals);
    selection->lines = ss_alloc_zero(model->lines.count + 1, sizeof *selection->lines);
    selection->recorded = selection->filtered = model->filtered_samples;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        uint64_t *reason = reason_not_shown(selection, &decider, total);
        selection->recorded += total->samples;
        selection->totals[i] = reason == NULL;
        *(reason != NULL ? reason : &selection->shown) += total->samples;
        selection->records += reason == NULL ? total->records : 0;
    }
    /* Raw lines have no state: only the filters apply. */
    for (size_t i = 0; i < model->lines.count; i++) {
        const struct ss_model_line *line = &model->lines.data[i];
        selection->lines[i] = line->stack != 0 && !options->gil_only &&
                              passes_filters(&decider, line->thread, line->stack);
    }
    selection->threads = decider.threads;
    selection->processes = decider.processes;
    decider.threads = decider.processes = NULL;
    decider_fini(&decider);
    return SS_OK;
}

void ss_selection_fini(struct ss_selection *selection)
{
    ss_free(selection->totals);
    ss_free(selection->lines);
    ss_free(selection->threads);
    ss_free(selection->processes);
    ss_analysis_free(selection->analysis);
    *selection = (struct ss_selection){0};
}

uint64_t ss_selection_error_ticks(const struct ss_selection *selection, uint64_t records,
                                  uint64_t ticks)
{
    const struct ss_model *model = selection->model;
    bool is_import = model->inputs.count > 0;
    for (size_t i = 0; i < model->inputs.count; i++) {
        is_import = is_import && model->inputs.data[i].kind == SS_INPUT_IMPORT;
    }
    return is_import ? records : ticks;
}

/* --- within steps ---------------------------------------------------------------------------- */

enum { FEWEST_WITHIN = 100 }; /* samples; with fewer, first steps count too */

/* By process: whether any of its samples falls into a step. */
static bool *processes_with_steps(const struct ss_model *model)
{
    bool *has = ss_alloc_zero(model->processes.count + 1, sizeof *has);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (total->step != SS_SAMPLE_NO_STEP) {
            has[model->threads.data[total->thread].process] = true;
        }
    }
    return has;
}

static bool is_below(const struct ss_model *model, const bool *has_steps, uint32_t process)
{
    for (uint32_t at = model->processes.data[process].parent; at != 0;
         at = model->processes.data[at].parent) {
        if (has_steps[at]) {
            return true;
        }
    }
    return false;
}

static void restrict_to_steps(struct ss_selection *within, const struct ss_selection *all,
                              const bool *has_steps, bool first_too)
{
    const struct ss_model *model = all->model;
    within->shown = within->records = 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        uint32_t process = model->threads.data[total->thread].process;
        bool is_in = has_steps[process] ? total->step == SS_SAMPLE_LATER_STEP ||
                                              (first_too && total->step == SS_SAMPLE_FIRST_STEP)
                                        : is_below(model, has_steps, process);
        within->totals[i] = all->totals[i] && is_in;
        within->shown += within->totals[i] ? total->samples : 0;
        within->records += within->totals[i] ? total->records : 0;
    }
}

bool ss_selection_within_steps(const struct ss_selection *all, struct ss_selection *within)
{
    const struct ss_model *model = all->model;
    *within = *all;
    within->lines = within->threads = within->processes = NULL;
    within->analysis = ss_analysis_new();
    within->totals = ss_alloc_zero(model->totals.count + 1, sizeof *within->totals);
    bool *has_steps = processes_with_steps(model);
    restrict_to_steps(within, all, has_steps, false);
    within->has_first_steps = within->shown < FEWEST_WITHIN;
    if (within->has_first_steps) {
        restrict_to_steps(within, all, has_steps, true);
    }
    ss_free(has_steps);
    if (within->shown < FEWEST_WITHIN) {
        ss_selection_fini(within);
        return false;
    }
    return true;
}
