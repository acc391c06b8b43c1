/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/pipeline/pipelines.h"

#include <stdlib.h>

#include "analysis/launches/device_work.h"
#include "analysis/pipeline/pipeline_devices.h"
#include "analysis/selection/program_facts.h"
#include "analysis/steps/step_parts.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

/* A send or a receive: when it ended, and with which rank. */
struct transfer {
    uint32_t process;
    int64_t peer;
    uint64_t end_ns;
};

/* Micro-batches of each step. */
struct counts ss_vec_of(uint64_t);

struct scan {
    struct ss_pipelines *pipelines;
    const struct ss_model *model;
    const struct ss_step_summary *training;
    struct ss_vec_of(struct transfer) transfers; /* by process, then by end */
    struct ss_step_parts parts;
    struct ss_pipeline_devices devices;
    size_t forward, backward, communication; /* phases */
    uint32_t *pipeline_of;                   /* by process: a process of its pipeline; 0: none */
};

/* --- sends and receives ------------------------------------------------------------------------
 */

static int compare_transfers(const void *left, const void *right)
{
    const struct transfer *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static void collect_transfers(struct scan *scan, const struct ss_selection *selection)
{
    const struct ss_model *model = scan->model;
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(&scan->training->index.runs, run, SS_ROLE_COLLECTIVES)) !=
           NULL) {
        uint32_t process = ss_range_run_process(model, run);
        bool is_wanted =
            selection->processes[process] && ss_step_has_process(scan->training, process);
        for (size_t i = run->first; i < run->end && is_wanted; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            int64_t peer, tag;
            if (ss_event_number(model, range, SS_EVENT_FIELD_tag, &tag) &&
                ss_event_number(model, range, SS_EVENT_FIELD_peer, &peer)) {
                ss_vec_push(&scan->transfers, (struct transfer){process, peer, range->end_ns});
            }
        }
    }
    if (scan->transfers.count > 1) {
        qsort(scan->transfers.data, scan->transfers.count, sizeof *scan->transfers.data,
              compare_transfers);
    }
}

/* The first transfer of the process that ends after `time_ns`; NULL: none. */
static const struct transfer *transfer_after(const struct scan *scan, uint32_t process,
                                             uint64_t time_ns)
{
    const struct transfer key = {process, 0, time_ns};
    size_t low = ss_search(i, 0, scan->transfers.count,
                           compare_transfers(&scan->transfers.data[i], &key) <= 0);
    const struct transfer *found = &scan->transfers.data[low];
    return low < scan->transfers.count && found->process == process ? found : NULL;
}

/* --- which ranks are one pipeline ---------------------------------------------------------------
 */

static uint32_t root_of(const struct scan *scan, uint32_t process)
{
    while (scan->pipeline_of[process] != process) {
        process = scan->pipeline_of[process];
    }
    return process;
}

struct ranked {
    int64_t rank;
    uint32_t process;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

struct ranks ss_vec_of(struct ranked);

/* The processes with transfers, by rank; of a rank that several have, none. */
static void list_ranks(const struct scan *scan, struct ranks *ranks)
{
    size_t kept = 0;
    for (uint32_t i = 1; i < scan->model->processes.count; i++) {
        if (scan->pipeline_of[i] != 0) {
            ss_vec_push(ranks, (struct ranked){ss_rank_of(scan->model, i), i});
        }
    }
    if (ranks->count > 1) {
        qsort(ranks->data, ranks->count, sizeof *ranks->data, compare_ranked);
    }
    for (size_t first = 0, end; first < ranks->count; first = end) {
        for (end = first + 1;
             end < ranks->count && ranks->data[end].rank == ranks->data[first].rank;) {
            end++;
        }
        if (end == first + 1) {
            ranks->data[kept++] = ranks->data[first];
        }
    }
    ranks->count = kept;
}

static void join_ranks(struct scan *scan)
{
    struct ranks ranks = {0};
    for (size_t i = 0; i < scan->transfers.count; i++) {
        scan->pipeline_of[scan->transfers.data[i].process] = scan->transfers.data[i].process;
    }
    list_ranks(scan, &ranks);
    for (size_t i = 0; i < scan->transfers.count; i++) {
        const struct ranked key = {scan->transfers.data[i].peer, 0};
        const struct ranked *partner =
            ranks.count > 0 ? bsearch(&key, ranks.data, ranks.count, sizeof key, compare_ranked)
                            : NULL;
        if (partner != NULL) {
            uint32_t a = root_of(scan, scan->transfers.data[i].process);
            uint32_t b = root_of(scan, partner->process);
            scan->pipeline_of[a > b ? a : b] = a > b ? b : a;
        }
    }
    ss_vec_fini(&ranks);
}

static int compare_stages(const void *left, const void *right)
{
    const struct ss_pipeline_stage *a = left, *b = right;
    if (a->pipeline != b->pipeline) {
        return a->pipeline < b->pipeline ? -1 : 1;
    }
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1)
                              : (a->process > b->process) - (a->process < b->process);
}

static void list_stages(struct scan *scan)
{
    struct ss_pipelines *pipelines = scan->pipelines;
    for (uint32_t i = 1; i < scan->model->processes.count; i++) {
        if (scan->pipeline_of[i] != 0) {
            ss_vec_push(&pipelines->stages,
                        (struct ss_pipeline_stage){.process = i,
                                                   .pipeline = root_of(scan, i),
                                                   .rank = ss_rank_of(scan->model, i),
                                                   .longest_for = -1});
        }
    }
    if (pipelines->stages.count > 1) {
        qsort(pipelines->stages.data, pipelines->stages.count, sizeof *pipelines->stages.data,
              compare_stages);
    }
    for (size_t first = 0, end; first < pipelines->stages.count; first = end) {
        uint32_t pipeline = pipelines->stages.data[first].pipeline;
        for (end = first;
             end < pipelines->stages.count && pipelines->stages.data[end].pipeline == pipeline;) {
            pipelines->stages.data[end++].pipeline = (uint32_t)pipelines->rows.count;
        }
        struct ss_pipeline row = {.first = first, .stages = end - first};
        ss_vec_push(&pipelines->rows, row);
    }
}

/* --- a step -------------------------------------------------------------------------------------
 */

static size_t first_part(const struct scan *scan, uint32_t process, uint64_t time_ns)
{
    return ss_search(
        i, 0, scan->parts.count,
        ss_pair_at_most(scan->parts.data[i].process, scan->parts.data[i].end_ns, process, time_ns));
}

static bool has_transfer(const struct scan *scan, const struct ss_step_part *part)
{
    const struct transfer *ended = transfer_after(scan, part->process, part->begin_ns);
    return ended != NULL && ended->end_ns <= part->end_ns;
}

/* A forward pass that collectives interrupt, such as those of tensor parallelism, is one; a send or
 * a receive ends it. false: the step has no forward or no backward pass. */
static bool find_pass(const struct scan *scan, const struct ss_step *step,
                      struct ss_pipeline_pass *pass)
{
    *pass =
        (struct ss_pipeline_pass){.first_forward_ns = UINT64_MAX, .first_backward_ns = UINT64_MAX};
    const struct ss_step_part *before = NULL; /* the forward pass that goes on */
    for (size_t i = first_part(scan, step->process, step->begin_ns);
         i < scan->parts.count && scan->parts.data[i].process == step->process &&
         scan->parts.data[i].begin_ns < step->end_ns;
         i++) {
        const struct ss_step_part *part = &scan->parts.data[i];
        if (part->begin_ns < step->begin_ns) {
            continue;
        }
        if (part->phase == scan->forward) {
            bool goes_on = before != NULL && part[-1].phase == scan->communication &&
                           part[-1].begin_ns <= before->end_ns &&
                           part->begin_ns <= part[-1].end_ns && !has_transfer(scan, &part[-1]);
            pass->forwards += !goes_on;
            pass->first_forward_ns =
                part->begin_ns < pass->first_forward_ns ? part->begin_ns : pass->first_forward_ns;
            pass->last_forward_ns = part->end_ns;
            before = part;
        } else if (part->phase == scan->backward) {
            pass->first_backward_ns =
                part->begin_ns < pass->first_backward_ns ? part->begin_ns : pass->first_backward_ns;
            pass->last_backward_ns = part->end_ns;
        }
        bool is_work = part->phase == scan->forward || part->phase == scan->backward;
        pass->work_ns += is_work ? part->end_ns - part->begin_ns : 0;
    }
    return pass->forwards > 0 && pass->last_backward_ns > 0;
}

static void add_wait(const struct scan *scan, struct ss_pipeline_stage *stage,
                     const struct ss_step_part *part, uint64_t ns, uint64_t *for_ranks)
{
    const struct transfer *ended = transfer_after(scan, part->process, part->begin_ns);
    const struct transfer *end = scan->transfers.data + scan->transfers.count, *last = NULL;
    for (; ended != NULL && ended < end && ended->process == part->process &&
           ended->end_ns <= part->end_ns;
         ended++) {
        last = ended;
    }
    if (last == NULL) {
        return;
    }
    const struct ss_pipeline *row = &scan->pipelines->rows.data[stage->pipeline];
    stage->transfer_ns += ns;
    for (size_t i = 0; i < row->stages; i++) {
        if (scan->pipelines->stages.data[row->first + i].rank == last->peer) {
            for_ranks[i] += ns;
        }
    }
}

static uint64_t drain_of(const struct ss_pipeline_pass *pass)
{
    return pass->last_forward_ns > pass->first_backward_ns ? pass->last_forward_ns
                                                           : pass->first_backward_ns;
}

/* What the device of the stage does not compute in the pass [from, until). */
static void add_device_idle(const struct scan *scan, struct ss_pipeline_stage *stage,
                            const struct ss_pipeline_pass *pass, uint64_t from_ns,
                            uint64_t until_ns)
{
    uint64_t ends_ns[] = {from_ns, pass->first_backward_ns, drain_of(pass), until_ns};
    for (size_t i = SS_PIPELINE_PARTS; i > 1; i--) { /* metrics may be a later forward pass */
        ends_ns[i - 1] = ends_ns[i - 1] < ends_ns[i] ? ends_ns[i - 1] : ends_ns[i];
        ends_ns[i - 1] = ends_ns[i - 1] > from_ns ? ends_ns[i - 1] : from_ns;
    }
    for (size_t i = 0; i < SS_PIPELINE_PARTS; i++) {
        uint64_t work_ns =
            ss_pipeline_devices_work_ns(&scan->devices, stage->process, ends_ns[i], ends_ns[i + 1]);
        stage->work_ns += work_ns;
        stage->idle_ns[i] += ends_ns[i + 1] - ends_ns[i] - work_ns;
    }
}

/* What the stage communicates in the pass [from, until). */
static void add_idle(const struct scan *scan, struct ss_pipeline_stage *stage,
                     const struct ss_pipeline_pass *pass, uint64_t from_ns, uint64_t until_ns,
                     uint64_t *for_ranks)
{
    uint64_t drain_ns = drain_of(pass);
    for (size_t i = first_part(scan, stage->process, from_ns);
         i < scan->parts.count && scan->parts.data[i].process == stage->process &&
         scan->parts.data[i].begin_ns < until_ns;
         i++) {
        const struct ss_step_part *part = &scan->parts.data[i];
        if (part->phase != scan->communication) {
            continue;
        }
        uint64_t begin_ns = part->begin_ns > from_ns ? part->begin_ns : from_ns;
        uint64_t end_ns = part->end_ns < until_ns ? part->end_ns : until_ns;
        enum ss_pipeline_part in = begin_ns < pass->first_backward_ns ? SS_PIPELINE_WARM_UP
                                   : begin_ns < drain_ns              ? SS_PIPELINE_STEADY
                                                                      : SS_PIPELINE_DRAIN;
        stage->idle_ns[in] += end_ns - begin_ns;
        add_wait(scan, stage, part, end_ns - begin_ns, for_ranks);
    }
}

/* The steady-state step of a process with a number; NULL: none. Numbers of a process ascend. */
static const struct ss_step *step_of(const struct ss_step_summary *training, uint32_t process,
                                     int64_t number)
{
    size_t low = ss_search(i, 0, training->steps.count,
                           training->steps.data[i].process < process ||
                               (training->steps.data[i].process == process &&
                                training->steps.data[i].number < number));
    const struct ss_step *found = &training->steps.data[low];
    return low < training->steps.count && found->process == process && found->number == number &&
                   found->kind == SS_STEP_STEADY
               ? found
               : NULL;
}

/* Whether the devices of all stages have the step; of some, the times could not be compared. */
static bool find_on_devices(const struct scan *scan, const struct ss_pipeline *row, int64_t number,
                            struct ss_pipeline_pass *passes)
{
    struct ss_pipeline_pass *found = ss_alloc_zero(row->stages, sizeof *found);
    bool is_found = true;
    for (size_t i = 0; i < row->stages && is_found; i++) {
        uint32_t process = scan->pipelines->stages.data[row->first + i].process;
        found[i].forwards = passes[i].forwards;
        is_found = ss_pipeline_devices_find(&scan->devices,
                                            step_of(scan->training, process, number), &found[i]);
    }
    for (size_t i = 0; i < row->stages && is_found; i++) {
        passes[i] = found[i];
    }
    ss_free(found);
    return is_found;
}

/* false: not all stages have the step with its passes, and with the kernels that it launched. */
static bool find_passes(const struct scan *scan, const struct ss_pipeline *row, int64_t number,
                        struct ss_pipeline_pass *passes)
{
    for (size_t i = 0; i < row->stages; i++) {
        const struct ss_step *step =
            step_of(scan->training, scan->pipelines->stages.data[row->first + i].process, number);
        if (step == NULL || ss_pipeline_devices_lack(&scan->devices, step) ||
            !find_pass(scan, step, &passes[i])) {
            return false;
        }
    }
    return true;
}

/* `for_ranks`: of each stage, what it waits for each other. `counts`: gets the micro-batches. */
static void add_step(const struct scan *scan, struct ss_pipeline *row, int64_t number,
                     struct ss_pipeline_pass *passes, uint64_t *for_ranks, struct counts *counts)
{
    uint64_t from_ns = UINT64_MAX, until_ns = 0, least = UINT64_MAX;
    struct ss_pipeline_stage *stages = scan->pipelines->stages.data + row->first;
    if (!find_passes(scan, row, number, passes)) {
        return;
    }
    bool is_on_devices = find_on_devices(scan, row, number, passes);
    if (row->steps > 0 && is_on_devices != row->is_of_devices) {
        return;
    }
    row->is_of_devices = is_on_devices;
    for (size_t i = 0; i < row->stages; i++) {
        from_ns = passes[i].first_forward_ns < from_ns ? passes[i].first_forward_ns : from_ns;
        until_ns = passes[i].last_backward_ns > until_ns ? passes[i].last_backward_ns : until_ns;
    }
    row->steps++;
    for (size_t i = 0; i < row->stages; i++) {
        stages[i].steps++;
        stages[i].pass_ns += until_ns - from_ns;
        least = passes[i].forwards < least ? passes[i].forwards : least;
        if (is_on_devices) {
            add_device_idle(scan, &stages[i], &passes[i], from_ns, until_ns);
        } else {
            stages[i].work_ns += passes[i].work_ns;
            add_idle(scan, &stages[i], &passes[i], from_ns, until_ns, for_ranks + i * row->stages);
        }
    }
    ss_vec_push(counts, least);
}

/* --- sums ---------------------------------------------------------------------------------------
 */

double ss_pipeline_ideal(size_t stages, double micro_batches)
{
    double more = stages > 0 ? (double)stages - 1 : 0;
    return micro_batches + more > 0 ? more / (micro_batches + more) : 0;
}

uint64_t ss_pipeline_stage_idle_ns(const struct ss_pipeline_stage *stage)
{
    return stage->idle_ns[SS_PIPELINE_WARM_UP] + stage->idle_ns[SS_PIPELINE_STEADY] +
           stage->idle_ns[SS_PIPELINE_DRAIN];
}

static void find_longest(struct ss_pipeline_stage *stages, const struct ss_pipeline *row,
                         const uint64_t *for_ranks)
{
    for (size_t i = 0; i < row->stages; i++) {
        for (size_t j = 0; j < row->stages; j++) {
            uint64_t ns = for_ranks[i * row->stages + j];
            if (ns > stages[i].longest_ns) {
                stages[i].longest_ns = ns;
                stages[i].longest_for = stages[j].rank;
            }
        }
    }
}

/* All stages have the same: a loss that is a module makes a further forward of its own. So have all
 * steps: torch's schedules try out the stage in the first one, to learn the shapes of its outputs.
 */
static uint64_t set_micro_batches(struct ss_pipeline_stage *stages, const struct ss_pipeline *row,
                                  struct counts *counts)
{
    ss_sort_u64(counts->data, counts->count);
    uint64_t batches = counts->data[(counts->count - 1) / 2] * row->steps;
    for (size_t i = 0; i < row->stages; i++) {
        stages[i].micro_batches = batches;
    }
    return batches;
}

static void sum_up(const struct ss_pipelines *pipelines, struct ss_pipeline *row,
                   struct counts *counts)
{
    double steps = (double)row->steps, stages = (double)row->stages, all_ns = 0, most_ns = 0;
    uint64_t batches = set_micro_batches(pipelines->stages.data + row->first, row, counts);
    for (size_t i = row->first; i < row->first + row->stages; i++) {
        const struct ss_pipeline_stage *stage = &pipelines->stages.data[i];
        double batch_ns = (double)stage->work_ns / (double)batches;
        all_ns += batch_ns;
        row->idle_ns += (double)ss_pipeline_stage_idle_ns(stage) / steps / stages;
        if (batch_ns > most_ns) {
            most_ns = batch_ns;
            row->slowest = i;
        }
    }
    row->micro_batches = (double)batches / steps;
    row->pass_ns = (double)pipelines->stages.data[row->first].pass_ns / steps;
    row->slowest_ns = most_ns;
    row->other_ns = (all_ns - most_ns) / (stages - 1);
    row->ideal_ns = (stages - 1) * all_ns / stages;
    row->unequal_ns = (row->micro_batches - 1) * (most_ns - all_ns / stages);
}

static void measure(const struct scan *scan, struct ss_pipeline *row)
{
    const struct ss_step_summary *training = scan->training;
    uint32_t process = scan->pipelines->stages.data[row->first].process;
    struct ss_pipeline_pass *passes = ss_alloc_zero(row->stages, sizeof *passes);
    uint64_t *for_ranks = ss_alloc_zero(row->stages * row->stages, sizeof *for_ranks);
    struct counts counts = {0};
    for (size_t i = 0; i < training->steps.count && row->stages > 1; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (step->process == process && step_of(training, process, step->number) == step) {
            add_step(scan, row, step->number, passes, for_ranks, &counts);
        }
    }
    if (row->steps > 0) {
        find_longest(scan->pipelines->stages.data + row->first, row, for_ranks);
        sum_up(scan->pipelines, row, &counts);
    }
    ss_vec_fini(&counts);
    ss_free(passes);
    ss_free(for_ranks);
}

static size_t find_phase(const struct scan *scan, const char *name)
{
    return ss_step_find_phase(scan->training, scan->training->phases.count,
                              ss_step_find_name(scan->model, name));
}

void ss_pipelines_init(struct ss_pipelines *pipelines, const struct ss_selection *selection,
                       const struct ss_step_summary *training)
{
    struct scan scan = {.pipelines = pipelines, .model = selection->model, .training = training};
    *pipelines = (struct ss_pipelines){0};
    collect_transfers(&scan, selection);
    if (scan.transfers.count > 0) {
        scan.pipeline_of = ss_alloc_zero(scan.model->processes.count, sizeof *scan.pipeline_of);
        scan.forward = find_phase(&scan, ss_phase_forward);
        scan.backward = find_phase(&scan, ss_phase_backward);
        scan.communication = find_phase(&scan, ss_phase_communication);
        join_ranks(&scan);
        list_stages(&scan);
        ss_step_parts_init(&scan.parts, training, selection);
        ss_pipeline_devices_init(&scan.devices, selection, training, &scan.parts, scan.forward,
                                 scan.backward);
        for (size_t i = 0; i < pipelines->rows.count; i++) {
            measure(&scan, &pipelines->rows.data[i]);
        }
        ss_pipeline_devices_fini(&scan.devices);
        ss_step_parts_fini(&scan.parts);
    }
    ss_free(scan.pipeline_of);
    ss_vec_fini(&scan.transfers);
}

void ss_pipelines_fini(struct ss_pipelines *pipelines)
{
    ss_vec_fini(&pipelines->stages);
    ss_vec_fini(&pipelines->rows);
}
