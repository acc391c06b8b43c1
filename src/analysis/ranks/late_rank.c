/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/late_rank.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/samples/line_samples.h"
#include "analysis/selection/program_facts.h"
#include "analysis/table/rule_limits.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* Sums over steady-state steps and outliers, then means per step. */
struct rank {
    uint32_t process;
    uint64_t steps, step_ns;
    uint64_t phase_ns[SS_STEP_MAX_PHASES];
};

struct ranks ss_vec_of(struct rank);

static size_t communication_of(const struct ss_model *model, const struct ss_step_summary *steps)
{
    size_t at = 0;
    while (at < steps->phases.count &&
           !ss_strview_equal(ss_step_phase_text(model, &steps->phases.data[at]),
                             ss_strview_of(ss_phase_communication))) {
        at++;
    }
    return at;
}

static void make_means(struct rank *rank, size_t phases)
{
    uint64_t steps = rank->steps > 0 ? rank->steps : 1;
    rank->step_ns /= steps;
    for (size_t p = 0; p < phases; p++) {
        rank->phase_ns[p] /= steps;
    }
}

static void collect(const struct ss_step_summary *steps, struct ranks *ranks)
{
    size_t phases = steps->phases.count;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        if (ranks->count == 0 || ranks->data[ranks->count - 1].process != step->process) {
            ss_vec_push(ranks, (struct rank){.process = step->process});
        }
        if (step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER) {
            struct rank *rank = &ranks->data[ranks->count - 1];
            rank->steps++;
            rank->step_ns += step->end_ns - step->begin_ns;
            for (size_t p = 0; p < phases; p++) {
                rank->phase_ns[p] += steps->phase_ns[i * phases + p];
            }
        }
    }
    for (size_t i = 0; i < ranks->count; i++) {
        make_means(&ranks->data[i], phases);
    }
}

/* The mean of all ranks but `least`. */
static struct rank mean_of_others(const struct ranks *ranks, size_t least, size_t phases)
{
    struct rank mean = {0};
    for (size_t i = 0; i < ranks->count; i++) {
        if (i != least) {
            mean.steps++;
            mean.step_ns += ranks->data[i].step_ns;
            for (size_t p = 0; p < phases; p++) {
                mean.phase_ns[p] += ranks->data[i].phase_ns[p];
            }
        }
    }
    make_means(&mean, phases);
    return mean;
}

static void find_phase(struct ss_late_rank *late, const struct ss_step_summary *steps,
                       const struct rank *rank, const struct rank *others, size_t communication)
{
    for (size_t p = 0; p < steps->phases.count; p++) {
        uint64_t more_ns =
            rank->phase_ns[p] > others->phase_ns[p] ? rank->phase_ns[p] - others->phase_ns[p] : 0;
        if (p != communication && more_ns > late->more_ns) {
            late->more_ns = more_ns;
            late->phase = &steps->phases.data[p];
        }
    }
}

static void find_line(struct ss_late_rank *late, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_line_samples lines;
    ss_line_samples_init(&lines, model);
    for (size_t i = 0; i < model->totals.count && late->phase != NULL; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        const struct ss_model_thread *thread = &model->threads.data[total->thread];
        if (thread->is_main && thread->process == late->process &&
            total->step == SS_SAMPLE_LATER_STEP && total->phase == late->phase->name) {
            ss_line_samples_add(&lines, model, 0, total, &late->line);
        }
    }
    ss_line_samples_find(&lines, 0, &late->line);
    ss_line_samples_fini(&lines);
}

void ss_late_rank_find(struct ss_late_rank *late, const struct ss_selection *selection,
                       const struct ss_step_summary *steps)
{
    *late = (struct ss_late_rank){.rank = -1};
    size_t communication = communication_of(selection->model, steps), least = 0;
    struct ranks ranks = {0};
    if (communication < steps->phases.count) {
        collect(steps, &ranks);
    }
    bool has_few = false;
    for (size_t i = 0; i < ranks.count; i++) {
        has_few = has_few || ranks.data[i].steps < SS_LIMIT_LATE_RANK_FEWEST_STEPS;
        if (ranks.data[i].phase_ns[communication] < ranks.data[least].phase_ns[communication]) {
            least = i;
        }
    }
    if (ranks.count >= 2 && !has_few) {
        const struct rank *rank = &ranks.data[least];
        struct rank others = mean_of_others(&ranks, least, steps->phases.count);
        uint64_t own_ns = rank->phase_ns[communication];
        uint64_t waited_ns = others.phase_ns[communication];
        if (100 * own_ns < SS_LIMIT_LATE_RANK_PERCENT * waited_ns) {
            const struct ss_model_note *fact =
                ss_program_fact(selection->model, rank->process, ss_fact_torch_rank);
            *late = (struct ss_late_rank){.process = rank->process,
                                          .rank = fact != NULL ? fact->value : -1,
                                          .waits_ns = waited_ns - own_ns,
                                          .of_ns = others.step_ns,
                                          .own_ns = own_ns};
            find_phase(late, steps, rank, &others, communication);
            find_line(late, selection);
        }
    }
    ss_vec_fini(&ranks);
}

/* --- joint communication ---------------------------------------------------------------------- */

/* A process begins or ends communicating. */
struct edge {
    uint64_t time_ns;
    uint32_t process;
    bool begins;
};

struct edges ss_vec_of(struct edge);

/* At equal times ends sort before begins: ranges that touch do not overlap. */
static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->begins - b->begins;
}

static void add_edges(struct edges *edges, uint32_t process, uint64_t begin_ns, uint64_t end_ns)
{
    if (end_ns > begin_ns) {
        ss_vec_push(edges, (struct edge){begin_ns, process, true});
        ss_vec_push(edges, (struct edge){end_ns, process, false});
    }
}

static void collect_edges(const struct ss_model *model, const struct ss_process_index *index,
                          struct edges *edges)
{
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(&index->runs, run, SS_ROLE_PHASES)) != NULL) {
        uint32_t process = model->tracks.data[run->track].process;
        for (size_t i = run->first; i < run->end; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            uint32_t name = model->paths.data[range->path].name;
            if (strcmp(ss_model_text(model, model->names.data[name].text),
                       ss_phase_communication) == 0) {
                add_edges(edges, process, range->begin_ns, range->end_ns);
            }
        }
    }
    for (size_t i = 0; i < index->waits.spans.count; i++) {
        const struct ss_exposed_span *span = &index->waits.spans.data[i];
        add_edges(edges, span->process, span->begin_ns, span->end_ns);
    }
}

/* From the latest begin of a trainer's steps to the earliest end. */
struct overlap {
    uint64_t begin_ns, end_ns;
    size_t trainers;
    uint32_t *depth; /* by process: number of open ranges */
    bool *trains;    /* by process */
};

static void find_trainers(struct overlap *overlap, const struct ss_step_summary *steps)
{
    uint64_t end_ns = 0;
    uint32_t process = 0;
    overlap->end_ns = UINT64_MAX;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        bool is_last = i + 1 == steps->steps.count || step[1].process != step->process;
        if (i == 0 || step->process != process) {
            process = step->process;
            overlap->trainers++;
            overlap->trains[process] = true;
            overlap->begin_ns =
                step->begin_ns > overlap->begin_ns ? step->begin_ns : overlap->begin_ns;
        }
        end_ns = step->end_ns;
        if (is_last) {
            overlap->end_ns = end_ns < overlap->end_ns ? end_ns : overlap->end_ns;
        }
    }
}

static uint64_t joint_ns(struct overlap *overlap, const struct edges *edges)
{
    uint64_t sum_ns = 0, since_ns = 0;
    size_t communicating = 0;
    for (size_t i = 0; i < edges->count; i++) {
        const struct edge *edge = &edges->data[i];
        if (!overlap->trains[edge->process]) {
            continue;
        }
        uint32_t *depth = &overlap->depth[edge->process];
        if (edge->begins && (*depth)++ == 0 && ++communicating == overlap->trainers) {
            since_ns = edge->time_ns;
        } else if (!edge->begins && --(*depth) == 0 && communicating-- == overlap->trainers) {
            uint64_t from_ns = since_ns > overlap->begin_ns ? since_ns : overlap->begin_ns;
            uint64_t to_ns = edge->time_ns < overlap->end_ns ? edge->time_ns : overlap->end_ns;
            sum_ns += to_ns > from_ns ? to_ns - from_ns : 0;
        }
    }
    return sum_ns;
}

double ss_late_rank_joint_share(const struct ss_selection *selection,
                                const struct ss_step_summary *steps)
{
    size_t processes = selection->model->processes.count;
    struct overlap overlap = {.depth = ss_alloc_zero(processes, sizeof *overlap.depth),
                              .trains = ss_alloc_zero(processes, sizeof *overlap.trains)};
    double share = -1;
    find_trainers(&overlap, steps);
    if (overlap.trainers >= 2 && overlap.end_ns > overlap.begin_ns) {
        struct edges edges = {0};
        collect_edges(selection->model, &steps->index, &edges);
        if (edges.count > 0) {
            qsort(edges.data, edges.count, sizeof *edges.data, compare_edges);
        }
        share = (double)joint_ns(&overlap, &edges) / (double)(overlap.end_ns - overlap.begin_ns);
        ss_vec_fini(&edges);
    }
    ss_free(overlap.depth);
    ss_free(overlap.trains);
    return share;
}
