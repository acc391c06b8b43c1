/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/exposed_communication.h"

#include <stdlib.h>
#include <string.h>

#include "base/device_api.h"
#include "base/shared_names.h"

/* Shorter gaps between operators are the program's own code, not a wait. */
static const uint64_t min_wait_ns = 20000;

struct spans ss_vec_of(struct ss_exposed_span);

/* Recordings of version 0.1.0 have no kinds of names. */
static bool is_collective(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_name *name = &model->names.data[model->paths.data[range->path].name];
    return ss_collective_is_waited_for(ss_strview_of(ss_model_text(model, name->text)), name->type);
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

static void merge_exposed(struct ss_exposed_communication *exposed)
{
    struct spans spans = {exposed->spans.data, exposed->spans.count, exposed->spans.capacity};
    merge(&spans);
    exposed->spans.count = spans.count;
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

/* Steps whose operators are in the recording as sums have no gaps between operators: they count
 * as busy, and the recorder has found their waits. */
static void collect_summed(const struct ss_model *model, struct spans *busy)
{
    const struct ss_model_value *values = model->values.data;
    for (size_t i = 0; i < model->values.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[values[i].track];
        bool is_last = i + 1 == model->values.count || values[i + 1].track != values[i].track;
        if (track->process != 0 && ss_model_real(&values[i]) == 0 &&
            strcmp(ss_model_text(model, track->name), ss_counter_detail_recorded) == 0) {
            ss_vec_push(busy,
                        (struct ss_exposed_span){track->process, values[i].time_ns,
                                                 is_last ? UINT64_MAX : values[i + 1].time_ns});
        }
    }
}

static void add_recorded_waits(struct ss_exposed_communication *exposed,
                               const struct ss_model *model, const struct ss_range_runs *runs)
{
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_WAITS)) != NULL) {
        uint32_t process = model->tracks.data[run->track].process;
        for (size_t i = run->first; i < run->end; i++) {
            const struct ss_model_range *range = &model->ranges.data[i];
            ss_vec_push(&exposed->spans,
                        (struct ss_exposed_span){process, range->begin_ns, range->end_ns});
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
        collect_summed(model, &operators);
        merge(&collectives);
        merge(&operators);
        subtract(exposed, &collectives, &operators);
        add_recorded_waits(exposed, model, runs);
        merge_exposed(exposed);
    }
    ss_vec_fini(&collectives);
    ss_vec_fini(&operators);
}

void ss_exposed_communication_fini(struct ss_exposed_communication *exposed)
{
    ss_vec_fini(&exposed->spans);
}
