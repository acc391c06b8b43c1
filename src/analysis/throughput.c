/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/throughput.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "analysis/told.h"
#include "base/alloc.h"

/* By step: how many batches it asked a loader for, and how often it called the model. */
struct counted {
    uint64_t batches, calls;
};

/* The last step of the process that begins by then; the count of steps: none. */
static size_t step_at(const struct ss_step_summary *steps, uint32_t process, uint64_t time_ns)
{
    size_t low = 0, high = steps->steps.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ss_step *step = &steps->steps.data[middle];
        bool is_before =
            step->process < process || (step->process == process && step->begin_ns <= time_ns);
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    const struct ss_step *step = low > 0 ? &steps->steps.data[low - 1] : NULL;
    bool is_in = step != NULL && step->process == process && time_ns < step->end_ns;
    return is_in ? low - 1 : steps->steps.count;
}

static bool is_called(const struct ss_model *model, uint32_t string, const char *text)
{
    return strcmp(ss_model_text(model, string), text) == 0;
}

static void count(const struct ss_selection *selection, const struct ss_step_summary *steps,
                  struct counted *counted)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        uint32_t name = model->names.data[model->paths.data[range->path].name].text;
        bool is_batch = track->kind == SS_TRACK_RANGES && is_called(model, name, "next") &&
                        is_called(model, track->name, "torch.data");
        bool is_call = track->kind == SS_TRACK_PHASES &&
                       (is_called(model, name, "forward") || is_called(model, name, "evaluation"));
        size_t step = is_batch || is_call ? step_at(steps, track->process, range->begin_ns)
                                          : steps->steps.count;
        if (step < steps->steps.count) {
            counted[step].batches += is_batch;
            counted[step].calls += is_call;
        }
    }
}

/* The time of a process's steps that count, and the medians of what they did. */
struct process {
    uint64_t time_ns;
    size_t steps;
    uint64_t batches, calls;
};

static uint64_t median(uint64_t *values, size_t count)
{
    ss_sort_u64(values, count);
    return count > 0 ? ss_percentile_u64(values, count, 50) : 0;
}

static struct process process_of(const struct ss_step_summary *steps, size_t first, size_t end,
                                 const struct counted *counted, uint64_t *scratch)
{
    struct process process = {0};
    uint64_t *batches = scratch, *calls = scratch + (end - first);
    for (size_t i = first; i < end; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        if (step->kind == SS_STEP_USUAL || step->kind == SS_STEP_OUTLIER) {
            process.time_ns += step->end_ns - step->begin_ns;
            batches[process.steps] = counted[i].batches;
            calls[process.steps++] = counted[i].calls;
        }
    }
    process.batches = median(batches, process.steps);
    process.calls = median(calls, process.steps);
    return process;
}

static int64_t told_batch_size(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_note *note = ss_told(model, process, "model.batch_size");
    return note != NULL ? strtoll(ss_told_text(model, note).data, NULL, 10) : 0;
}

/* Steps that begin with a batch of a loader have its size; what prepares batches itself, or has
 * them from elsewhere, has that of the model's input. */
static bool take(struct ss_throughput *throughput, const struct process *process, int64_t of_loader,
                 int64_t of_model)
{
    bool by_loader = process->batches > 0 && of_loader > 0;
    bool by_model = !by_loader && process->calls <= 1 && of_model > 0;
    if (process->time_ns == 0 || !(by_loader || by_model)) {
        return false;
    }
    throughput->batch_size = by_loader ? of_loader : of_model;
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
    if (steps->usual == 0) {
        return;
    }
    size_t all = steps->steps.count;
    struct counted *counted = ss_alloc_zero(all, sizeof *counted);
    uint64_t *scratch = ss_alloc_zero(2 * all, sizeof *scratch);
    bool known = true; /* of all processes, or a sum says nothing */
    count(selection, steps, counted);
    for (size_t first = 0, end; first < all && known; first = end) {
        uint32_t id = steps->steps.data[first].process;
        for (end = first; end < all && steps->steps.data[end].process == id;) {
            end++;
        }
        struct process process = process_of(steps, first, end, counted, scratch);
        known = process.steps == 0 ||
                take(throughput, &process, batch_size, told_batch_size(selection->model, id));
    }
    if (!known) {
        *throughput = (struct ss_throughput){0};
    }
    ss_free(scratch);
    ss_free(counted);
}
