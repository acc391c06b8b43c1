/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/throughput.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/selection/program_facts.h"
#include "analysis/steps/ranges.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* Per step: batches requested from a loader, and calls of the model. */
struct step_counts {
    uint64_t batches, calls;
};

static bool is_called(const struct ss_model *model, uint32_t string, const char *text)
{
    return strcmp(ss_model_text(model, string), text) == 0;
}

static void count_steps(const struct ss_model *model, const struct ss_step_summary *steps,
                        struct step_counts *step_counts)
{
    const struct ss_range_runs *runs = &steps->index.runs;
    for (size_t r = 0; r < runs->rows.count; r++) {
        const struct ss_range_run *run = &runs->rows.data[r];
        bool loads = run->role == SS_ROLE_LOADER, is_phase = run->role == SS_ROLE_PHASES;
        uint32_t process = model->tracks.data[run->track].process;
        for (size_t i = run->first; i < run->end && (loads || is_phase); i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            uint32_t name = model->names.data[model->paths.data[range->path].name].text;
            bool is_batch = loads && is_called(model, name, "next");
            bool is_call = is_phase && (is_called(model, name, ss_phase_forward) ||
                                        is_called(model, name, ss_phase_evaluation));
            const struct ss_step *step =
                is_batch || is_call ? ss_step_at(steps, process, range->begin_ns) : NULL;
            if (step != NULL) {
                step_counts[step - steps->steps.data].batches += is_batch;
                step_counts[step - steps->steps.data].calls += is_call;
            }
        }
    }
}

/* Time and number of a process's steps that count, and the medians of their batches and calls. */
struct process {
    uint64_t time_ns;
    size_t steps;
    uint64_t batches, calls;
};

/* A number that a step has: of two in the middle, the lower one. */
static uint64_t median_count(uint64_t *values, size_t count)
{
    ss_sort_u64(values, count);
    return count > 0 ? ss_percentile_u64(values, count, 50) : 0;
}

static struct process count_process(const struct ss_step_summary *steps, size_t first, size_t end,
                                    const struct step_counts *step_counts, uint64_t *scratch)
{
    struct process process = {0};
    uint64_t *batches = scratch, *calls = scratch + (end - first);
    for (size_t i = first; i < end; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        if (step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER) {
            process.time_ns += step->end_ns - step->begin_ns;
            batches[process.steps] = step_counts[i].batches;
            calls[process.steps++] = step_counts[i].calls;
        }
    }
    process.batches = median_count(batches, process.steps);
    process.calls = median_count(calls, process.steps);
    return process;
}

static int64_t fact_number(const struct ss_model *model, uint32_t process, const char *key)
{
    const struct ss_model_note *note = ss_program_fact(model, process, key);
    return note != NULL ? strtoll(ss_program_fact_text(model, note).data, NULL, 10) : 0;
}

/* Steps that begin with a batch of a loader have its batch size; a program that prepares batches
 * itself, or gets them elsewhere, has that of the model's input. */
static bool add_process(struct ss_throughput *throughput, const struct process *process,
                        int64_t loader_size, int64_t model_size)
{
    bool by_loader = process->batches > 0 && loader_size > 0;
    bool by_model = !by_loader && process->calls <= 1 && model_size > 0;
    if (process->time_ns == 0 || !(by_loader || by_model)) {
        return false;
    }
    throughput->batch_size = by_loader ? loader_size : model_size;
    throughput->batches = by_loader ? process->batches : 1;
    throughput->samples_per_s += (double)throughput->batch_size * (double)throughput->batches *
                                 (double)process->steps / ((double)process->time_ns / 1e9);
    throughput->processes++;
    return true;
}

void ss_throughput_find(struct ss_throughput *throughput, const struct ss_selection *selection,
                        const struct ss_step_summary *steps, int64_t batch_size)
{
    *throughput = (struct ss_throughput){0};
    if (steps->steady == 0) {
        return;
    }
    size_t all = steps->steps.count;
    struct step_counts *step_counts = ss_alloc_zero(all, sizeof *step_counts);
    uint64_t *scratch = ss_alloc_zero(2 * all, sizeof *scratch);
    bool known = true; /* of all processes, else a sum is meaningless */
    count_steps(selection->model, steps, step_counts);
    for (size_t first = 0, end; first < all && known; first = end) {
        uint32_t id = steps->steps.data[first].process;
        for (end = first; end < all && steps->steps.data[end].process == id;) {
            end++;
        }
        struct process process = count_process(steps, first, end, step_counts, scratch);
        known = process.steps == 0 ||
                add_process(throughput, &process, batch_size,
                            fact_number(selection->model, id, ss_fact_model_batch_size));
    }
    if (!known) {
        *throughput = (struct ss_throughput){0};
    }
    ss_free(scratch);
    ss_free(step_counts);
}

/* --- without steps --------------------------------------------------------------------------- */

enum { FEWEST_CALLS = 5 };

/* The model calls of a process. Batches: requests to loaders that began between these calls. */
struct caller {
    uint32_t model_name;                   /* string: the outermost module with most time */
    uint64_t first_ns, second_ns, last_ns; /* begins of the first two calls; end of the last */
    size_t calls, batches;
    bool trains; /* has backward passes, though no optimizer was found */
};

struct outermost {
    uint32_t process, name;
    uint64_t total_ns;
};

struct outermosts ss_vec_of(struct outermost);

static bool is_shown(const struct ss_selection *selection, const struct ss_model_range *range)
{
    return (range->flags & SS_RANGE_OUTSIDE) == 0 &&
           ss_selection_has_track(selection, range->track);
}

static uint32_t name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    return model->names.data[model->paths.data[range->path].name].text;
}

static bool is_outermost(const struct ss_selection *selection, const struct ss_model_range *range)
{
    const struct ss_model *model = selection->model;
    const struct ss_model_track *track = &model->tracks.data[range->track];
    return track->kind == SS_TRACK_RANGES && model->paths.data[range->path].parent == 0 &&
           is_called(model, track->name, ss_domain_torch_module) && is_shown(selection, range);
}

static bool is_model_call(const struct ss_selection *selection, const struct caller *callers,
                          const struct ss_model_range *range)
{
    const struct ss_model *model = selection->model;
    return is_outermost(selection, range) &&
           callers[model->tracks.data[range->track].process].model_name == name_of(model, range);
}

static void add_time(struct outermosts *all, uint32_t process, uint32_t name, uint64_t ns)
{
    size_t at = 0;
    while (at < all->count && (all->data[at].process != process || all->data[at].name != name)) {
        at++;
    }
    if (at == all->count) {
        ss_vec_push(all, (struct outermost){process, name, 0});
    }
    all->data[at].total_ns += ns;
}

/* Losses and metrics are modules too; the model takes longer. */
static void find_models(const struct ss_selection *selection, struct caller *callers)
{
    enum { MOST = 1024 };
    const struct ss_model *model = selection->model;
    struct outermosts all = {0};
    for (size_t i = 0; i < model->ranges.count && all.count < MOST; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (is_outermost(selection, range)) {
            add_time(&all, model->tracks.data[range->track].process, name_of(model, range),
                     range->end_ns - range->begin_ns);
        }
    }
    uint64_t *most_ns = ss_alloc_zero(model->processes.count + 1, sizeof *most_ns);
    for (size_t i = 0; i < all.count; i++) {
        const struct outermost *module = &all.data[i];
        if (module->total_ns > most_ns[module->process]) {
            most_ns[module->process] = module->total_ns;
            callers[module->process].model_name = module->name;
        }
    }
    ss_free(most_ns);
    ss_vec_fini(&all);
}

static void note_call(struct caller *caller, const struct ss_model_range *range)
{
    caller->calls++;
    if (caller->calls == 1) {
        caller->first_ns = range->begin_ns;
    } else if (caller->calls == 2) {
        caller->second_ns = range->begin_ns;
    }
    caller->last_ns = range->end_ns > caller->last_ns ? range->end_ns : caller->last_ns;
}

static void count_calls(const struct ss_selection *selection, struct caller *callers)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        bool is_phase = model->tracks.data[range->track].kind == SS_TRACK_PHASES;
        if (is_phase && is_called(model, name_of(model, range), ss_phase_backward)) {
            callers[model->tracks.data[range->track].process].trains = true;
        }
        if (is_model_call(selection, callers, range)) {
            note_call(&callers[model->tracks.data[range->track].process], range);
        }
    }
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        struct caller *caller = &callers[track->process];
        bool is_batch = is_shown(selection, range) && track->kind == SS_TRACK_RANGES &&
                        is_called(model, name_of(model, range), "next") &&
                        is_called(model, track->name, ss_domain_torch_data);
        bool is_between = range->begin_ns >= caller->first_ns && range->begin_ns < caller->last_ns;
        caller->batches += is_batch && is_between;
    }
}

/* Requests without a batch, at the ends of epochs, are few. */
static int64_t batch_size_of(const struct ss_model *model, uint32_t process,
                             const struct caller *caller)
{
    size_t lacking = caller->calls > caller->batches ? caller->calls - caller->batches
                                                     : caller->batches - caller->calls;
    int64_t loader_size = fact_number(model, process, ss_fact_loader_batch_size);
    bool has_one_each = caller->batches > 0 && 10 * lacking <= caller->calls + 10;
    return has_one_each && loader_size > 0 ? loader_size
                                           : fact_number(model, process, ss_fact_model_batch_size);
}

/* Leaves out the first call, which is slow and not representative. */
static void add_caller(struct ss_model_calls *calls, const struct ss_model *model, uint32_t process,
                       const struct caller *caller, double *span_ns, bool *is_known)
{
    struct ss_throughput *throughput = &calls->throughput;
    double ns = (double)(caller->last_ns - caller->second_ns);
    size_t count = caller->calls - 1;
    int64_t size = batch_size_of(model, process, caller);
    *is_known = *is_known && size > 0 && ns > 0;
    *span_ns += ns;
    calls->calls += count;
    throughput->batch_size = size;
    throughput->batches = 1;
    throughput->processes++;
    throughput->samples_per_s += ns > 0 ? (double)size * (double)count / (ns / 1e9) : 0;
}

static uint64_t median_call(const struct ss_selection *selection, const struct caller *callers,
                            size_t most)
{
    const struct ss_model *model = selection->model;
    uint64_t *durations = ss_alloc((most + 1) * sizeof *durations);
    size_t count = 0;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t process = model->tracks.data[range->track].process;
        if (is_model_call(selection, callers, range) && count < most &&
            callers[process].calls >= FEWEST_CALLS &&
            range->begin_ns != callers[process].first_ns) {
            durations[count++] = range->end_ns - range->begin_ns;
        }
    }
    ss_sort_u64(durations, count);
    uint64_t found = count > 0 ? ss_median_u64(durations, count) : 0;
    ss_free(durations);
    return found;
}

void ss_model_calls_find(struct ss_model_calls *calls, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct caller *callers = ss_alloc_zero(model->processes.count + 1, sizeof *callers);
    double span_ns = 0;
    bool is_known = true;
    *calls = (struct ss_model_calls){0};
    find_models(selection, callers);
    count_calls(selection, callers);
    for (uint32_t process = 1; process < model->processes.count; process++) {
        if (callers[process].trains) {
            callers[process].calls = 0;
        }
        if (callers[process].calls >= FEWEST_CALLS) {
            add_caller(calls, model, process, &callers[process], &span_ns, &is_known);
        }
    }
    if (!is_known) {
        calls->throughput = (struct ss_throughput){0};
    }
    if (calls->calls > 0) {
        calls->each_ns = (uint64_t)(span_ns / (double)calls->calls);
        calls->call_ns = median_call(selection, callers, calls->calls);
    }
    ss_free(callers);
}
