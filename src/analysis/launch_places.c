/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/launch_places.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "analysis/forward_operators.h"
#include "base/alloc.h"

const char *ss_launch_name(enum ss_launch launch)
{
    return launch == SS_LAUNCH_BEFORE ? "(launched before the recording)" : "(launch not recorded)";
}

/* --- the places ------------------------------------------------------------------------------- */

/* A filter of threads selects no process. What other processes launched, launched_by_selected()
 * excludes. */
static void init_works(struct ss_launch_places *places)
{
    const struct ss_selection *selection = places->selection;
    const struct ss_model *model = selection->model;
    struct ss_selection wider = *selection;
    wider.processes = ss_alloc_zero(model->processes.count + 1, sizeof *wider.processes);
    for (uint32_t i = 0; i < model->threads.count; i++) {
        wider.processes[model->threads.data[i].process] |= selection->threads[i];
    }
    for (uint32_t i = 0; i < model->processes.count; i++) {
        wider.processes[i] |= selection->processes[i];
    }
    ss_device_works_init(&places->works, &wider);
    ss_free(wider.processes);
}

static bool launched_by_selected(const struct ss_launch_places *places,
                                 const struct ss_device_work *work)
{
    const struct ss_selection *selection = places->selection;
    if (work->launch == 0) {
        return selection->processes[work->process];
    }
    const struct ss_model *model = selection->model;
    uint32_t track = model->ranges.data[work->launch - 1].track;
    return selection->threads[model->tracks.data[track].thread];
}

/* The call that launched a work, as a range plus one; 0: none in the recording and the selected
 * time. */
static uint32_t call_of(const struct ss_launch_places *places, const struct ss_device_work *work)
{
    const struct ss_model_range *ranges = places->selection->model->ranges.data;
    bool is_outside = work->launch != 0 && (ranges[work->launch - 1].flags & SS_RANGE_OUTSIDE) != 0;
    return is_outside ? 0 : work->launch;
}

/* By stream: the begin of the first work whose call was recorded. Work of a stream runs in the
 * order of its launches. */
static uint64_t *first_launched(const struct ss_launch_places *places)
{
    size_t streams = places->selection->model->streams.count;
    uint64_t *first_ns = ss_alloc((streams + 1) * sizeof *first_ns);
    for (size_t i = 0; i <= streams; i++) {
        first_ns[i] = UINT64_MAX;
    }
    for (size_t i = 0; i < places->works.works.count; i++) {
        const struct ss_device_work *work = &places->works.works.data[i];
        if (call_of(places, work) != 0 && work->begin_ns < first_ns[work->stream]) {
            first_ns[work->stream] = work->begin_ns;
        }
    }
    return first_ns;
}

static int compare_places(const void *left, const void *right)
{
    const struct ss_launch_place *a = left, *b = right;
    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    return (a->work > b->work) - (a->work < b->work);
}

static void collect(struct ss_launch_places *places)
{
    uint64_t *first_ns = first_launched(places);
    for (size_t i = 0; i < places->works.works.count; i++) {
        const struct ss_device_work *work = &places->works.works.data[i];
        if (!launched_by_selected(places, work)) {
            continue;
        }
        struct ss_launch_place place = {
            .work = i, .ns = work->end_ns - work->begin_ns, .call = call_of(places, work)};
        if (place.call == 0) {
            place.launch =
                work->begin_ns <= first_ns[work->stream] ? SS_LAUNCH_BEFORE : SS_LAUNCH_LOST;
            ss_launch_sum_add(&places->unlaunched[place.launch], place.ns);
        }
        ss_launch_sum_add(&places->all, place.ns);
        ss_vec_push(&places->rows, place);
    }
    if (places->rows.count > 1) {
        qsort(places->rows.data, places->rows.count, sizeof *places->rows.data, compare_places);
    }
    ss_free(first_ns);
}

/* --- operators and nodes ---------------------------------------------------------------------- */

/* By range, plus one: the innermost operator and the innermost node that it is, or lies in; and of
 * a range that evaluates a node and has no number, the node within, which has it. */
struct enclosing {
    uint32_t *operators, *nodes, *numbered;
};

static uint32_t name_of(const struct ss_model *model, uint32_t range)
{
    return model->paths.data[model->ranges.data[range].path].name;
}

static void find_enclosing(const struct ss_launch_places *places, const uint8_t *kinds,
                           struct enclosing *enclosing)
{
    const struct ss_model *model = places->selection->model;
    size_t count = model->ranges.count + 1;
    enclosing->operators = ss_alloc_zero(count, sizeof(uint32_t));
    enclosing->nodes = ss_alloc_zero(count, sizeof(uint32_t));
    enclosing->numbered = ss_alloc_zero(count, sizeof(uint32_t));
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint8_t kind = kinds[name_of(model, i)];
        uint32_t above = places->finder.parents[i];
        uint32_t outer = above != 0 ? enclosing->nodes[above - 1] : 0;
        bool is_node = kind == SS_CALL_BACKWARD || kind == SS_CALL_EVALUATION;
        uint64_t number;
        enclosing->operators[i] = kind != SS_CALL_RUNTIME ? i + 1
                                  : above != 0            ? enclosing->operators[above - 1]
                                                          : 0;
        enclosing->nodes[i] = is_node ? i + 1 : outer;
        if (is_node && ss_sequence_number(model, range, &number)) {
            enclosing->numbered[i] = i + 1;
            if (outer != 0 && enclosing->numbered[outer - 1] == 0 &&
                kinds[name_of(model, outer - 1)] == SS_CALL_EVALUATION) {
                enclosing->numbered[outer - 1] = i + 1;
            }
        }
    }
}

static void free_enclosing(struct enclosing *enclosing)
{
    ss_free(enclosing->operators);
    ss_free(enclosing->nodes);
    ss_free(enclosing->numbered);
}

/* The innermost range of the domain around each call, which may be on a track of its own. */
static uint32_t *ranges_around_calls(const struct ss_launch_places *places, const char *domain)
{
    const struct ss_model *model = places->selection->model;
    size_t count = places->rows.count;
    uint32_t *tracks = ss_tracks_of_domain(model, domain);
    uint32_t *calls = ss_alloc((count + 1) * sizeof *calls);
    uint32_t *found = ss_alloc((count + 1) * sizeof *found);
    for (size_t i = 0; i < count; i++) {
        calls[i] = places->rows.data[i].call;
    }
    ss_ranges_around(&places->finder, tracks, calls, count, found);
    for (size_t i = 0; i < count; i++) { /* on the same track, the call itself is one */
        uint32_t call = calls[i];
        const struct ss_model_range *range = call != 0 ? &model->ranges.data[call - 1] : NULL;
        if (range != NULL && tracks[model->tracks.data[range->track].thread] == range->track) {
            found[i] = call;
        }
    }
    ss_free(tracks);
    ss_free(calls);
    return found;
}

static void find_operators(struct ss_launch_places *places, const char *domain)
{
    const struct ss_model *model = places->selection->model;
    struct enclosing enclosing;
    struct ss_forward_operators forward;
    uint8_t *kinds = ss_call_kinds(model);
    uint32_t *around = ranges_around_calls(places, domain);
    find_enclosing(places, kinds, &enclosing);
    ss_forward_operators_init(&forward, model, domain, kinds);
    for (size_t i = 0; i < places->rows.count; i++) {
        struct ss_launch_place *place = &places->rows.data[i];
        if (around[i] == 0) {
            continue;
        }
        place->op = enclosing.operators[around[i] - 1];
        place->node = enclosing.nodes[around[i] - 1];
        uint32_t numbered = place->node != 0 ? enclosing.numbered[place->node - 1] : 0;
        uint64_t number;
        if (numbered != 0 &&
            ss_sequence_number(model, &model->ranges.data[numbered - 1], &number)) {
            const struct ss_forward_operator *found =
                ss_forward_operator_of(&forward, places->works.works.data[place->work].process,
                                       number, model->ranges.data[place->node - 1].begin_ns);
            place->forward = found != NULL ? found->range + 1 : 0;
        }
    }
    ss_forward_operators_fini(&forward);
    free_enclosing(&enclosing);
    ss_free(around);
    ss_free(kinds);
}

static bool counts(const struct ss_step *step, const struct ss_launch_places_options *options)
{
    return step->kind == SS_STEP_STEADY && step->has_device_work &&
           (!options->of_operators || step->counts_operators);
}

static void find_steady(struct ss_launch_places *places,
                        const struct ss_launch_places_options *options)
{
    const struct ss_model *model = places->selection->model;
    const struct ss_step_summary *training = options->training;
    for (size_t i = 0; i < training->steps.count; i++) {
        places->steps += counts(&training->steps.data[i], options);
    }
    for (size_t i = 0; i < places->rows.count; i++) {
        struct ss_launch_place *place = &places->rows.data[i];
        if (place->call == 0) {
            continue;
        }
        uint32_t process = places->works.works.data[place->work].process;
        const struct ss_step *step =
            ss_step_at(training, process, model->ranges.data[place->call - 1].begin_ns);
        place->is_steady = step != NULL && counts(step, options);
    }
}

void ss_launch_places_init(struct ss_launch_places *places, const struct ss_selection *selection,
                           const struct ss_launch_places_options *options)
{
    *places = (struct ss_launch_places){.selection = selection};
    if (!ss_model_has_device_work(selection->model)) {
        return;
    }
    init_works(places);
    collect(places);
    if (places->rows.count == 0) {
        return;
    }
    ss_range_finder_init(&places->finder, selection->model);
    if (options->domain != NULL) {
        find_operators(places, options->domain);
    }
    if (options->training != NULL) {
        find_steady(places, options);
    }
}

void ss_launch_places_release(struct ss_launch_places *places)
{
    ss_device_works_fini(&places->works);
    ss_range_finder_fini(&places->finder);
    ss_vec_fini(&places->rows);
}

void ss_launch_places_fini(struct ss_launch_places *places)
{
    ss_launch_places_release(places);
    *places = (struct ss_launch_places){0};
}
