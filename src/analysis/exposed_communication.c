/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/exposed_communication.h"

#include <stdlib.h>

#include "base/device_api.h"

/* Shorter gaps between operators are the program's own code, not a wait. */
static const uint64_t min_wait_ns = 20000;

struct spans ss_vec_of(struct ss_exposed_span);

/* Of MPI, all calls in which the program is, such as its waits: those that only start something
 * return at once, and their ranges last until it is complete. A send or receive between two ranks
 * is waited for in a call of its own. Recordings of version 0.1.0 have no
 * kinds of names. */
static bool is_collective(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_name *name = &model->names.data[model->paths.data[range->path].name];
    struct ss_strview text = ss_strview_of(ss_model_text(model, name->text));
    if (ss_collective_is_of_mpi(text)) {
        return !ss_collective_is_started(text);
    }
    if (ss_collective_scope(text) && ss_collective_flow_of(text) == SS_FLOW_OF_TWO) {
        return false;
    }
    return name->type != SS_EVENT_TYPE_NONE ? name->type == SS_EVENT_TYPE_collective
                                            : ss_collective_scope(text);
}

static int compare(const void *left, const void *right)
{
    const struct ss_exposed_span *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Sorts the spans; merges those that overlap or touch. */
static void merge(struct spans *spans)
{
    if (spans->count == 0) {
        return;
    }
    qsort(spans->data, spans->count, sizeof *spans->data, compare);
    size_t last = 0;
    for (size_t i = 1; i < spans->count; i++) {
        struct ss_exposed_span *before = &spans->data[last];
        const struct ss_exposed_span *next = &spans->data[i];
        if (next->process == before->process && next->begin_ns <= before->end_ns) {
            before->end_ns = next->end_ns > before->end_ns ? next->end_ns : before->end_ns;
        } else {
            spans->data[++last] = *next;
        }
    }
    spans->count = last + 1;
}

static void collect_collectives(const struct ss_model *model, const struct ss_range_runs *runs,
                                struct spans *collectives)
{
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_COLLECTIVES)) != NULL) {
        uint32_t process = model->tracks.data[run->track].process;
        for (size_t i = run->first; i < run->end; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            if (is_collective(model, range)) {
                struct ss_exposed_span span = {process, range->begin_ns, range->end_ns};
                ss_vec_push(collectives, span);
            }
        }
    }
}

/* Outermost operators of main threads. */
static void collect_operators(const struct ss_model *model, const struct ss_range_runs *runs,
                              struct spans *operators)
{
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_OPERATORS)) != NULL) {
        const struct ss_model_thread *thread =
            &model->threads.data[model->tracks.data[run->track].thread];
        for (size_t i = run->first; i < run->end && thread->is_main; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            if (model->paths.data[range->path].depth == 1) {
                struct ss_exposed_span span = {thread->process, range->begin_ns, range->end_ns};
                ss_vec_push(operators, span);
            }
        }
    }
}

static void add_span(struct ss_exposed_communication *exposed, uint32_t process, uint64_t begin_ns,
                     uint64_t end_ns)
{
    if (end_ns > begin_ns && end_ns - begin_ns >= min_wait_ns) {
        ss_vec_push(&exposed->spans, (struct ss_exposed_span){process, begin_ns, end_ns});
    }
}

/* Adds the parts of each collective that no operator covers; both lists are sorted. */
static void subtract(struct ss_exposed_communication *exposed, const struct spans *collectives,
                     const struct spans *operators)
{
    size_t at = 0;
    for (size_t i = 0; i < collectives->count; i++) {
        const struct ss_exposed_span *collective = &collectives->data[i];
        uint64_t from_ns = collective->begin_ns;
        while (at < operators->count && (operators->data[at].process < collective->process ||
                                         (operators->data[at].process == collective->process &&
                                          operators->data[at].end_ns <= collective->begin_ns))) {
            at++;
        }
        for (size_t j = at; j < operators->count; j++) {
            const struct ss_exposed_span *busy = &operators->data[j];
            if (busy->process != collective->process || busy->begin_ns >= collective->end_ns) {
                break;
            }
            add_span(exposed, collective->process, from_ns, busy->begin_ns);
            from_ns = busy->end_ns > from_ns ? busy->end_ns : from_ns;
        }
        add_span(exposed, collective->process, from_ns, collective->end_ns);
    }
}

void ss_exposed_communication_init(struct ss_exposed_communication *exposed,
                                   const struct ss_model *model, const struct ss_range_runs *runs)
{
    struct spans collectives = {0}, operators = {0};
    *exposed = (struct ss_exposed_communication){0};
    collect_collectives(model, runs, &collectives);
    if (collectives.count > 0) {
        collect_operators(model, runs, &operators);
        merge(&collectives);
        merge(&operators);
        subtract(exposed, &collectives, &operators);
    }
    ss_vec_fini(&collectives);
    ss_vec_fini(&operators);
}

void ss_exposed_communication_fini(struct ss_exposed_communication *exposed)
{
    ss_vec_fini(&exposed->spans);
}
