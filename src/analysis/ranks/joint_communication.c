/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/joint_communication.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"

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

double ss_joint_communication_share(const struct ss_selection *selection,
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
