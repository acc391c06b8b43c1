/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/launch_places.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls/calls.h"
#include "analysis/calls/forward_operators.h"
#include "analysis/selection/shared_ranges.h"
#include "analysis/table/distribution.h"
#include "base/alloc.h"
#include "base/search.h"

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
    bool is_wider = false;
    for (uint32_t i = 0; i < model->processes.count; i++) {
        is_wider |= wider.processes[i] && !selection->processes[i];
        wider.processes[i] |= selection->processes[i];
    }
    if (is_wider) {
        wider.analysis = places->own_analysis = ss_analysis_new();
    }
    places->works = ss_selection_works(is_wider ? &wider : selection);
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

/* By stream: the start of the first work whose call was recorded. Work of a stream runs in the
 * order of its launches. */
static uint64_t *first_launched(const struct ss_launch_places *places)
{
    size_t streams = places->selection->model->streams.count;
    uint64_t *first_ns = ss_alloc((streams + 1) * sizeof *first_ns);
    for (size_t i = 0; i <= streams; i++) {
        first_ns[i] = UINT64_MAX;
    }
    for (size_t i = 0; i < places->works->works.count; i++) {
        const struct ss_device_work *work = &places->works->works.data[i];
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
    for (size_t i = 0; i < places->works->works.count; i++) {
        const struct ss_device_work *work = &places->works->works.data[i];
        if (!launched_by_selected(places, work)) {
            continue;
        }
        struct ss_launch_place place = {.work = (uint32_t)i,
                                        .ns = work->end_ns - work->begin_ns,
                                        .call = call_of(places, work)};
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

static uint32_t name_of(const struct ss_model *model, uint32_t range)
{
    return model->paths.data[model->ranges.data[range].path].name;
}

/* A node of autograd, as a range plus one; and that range or, of one that evaluates a node and has
 * no number, the node within, which has it. */
struct node {
    uint32_t range, numbered;
};

/* An open range: the innermost operator, as a range plus one, and the innermost node, as its index
 * plus one, that it is, or lies in. */
struct open_range {
    uint32_t range, op, node;
};

/* A place by the range around its call. */
struct enclosed {
    uint32_t around, place;
};

/* Memory is that of the places and of the nesting, not of the ranges: recordings have millions. */
struct enclosing {
    struct ss_launch_places *places;
    const uint8_t *kinds;
    struct ss_vec_of(struct enclosed) enclosed; /* by range */
    struct ss_vec_of(struct open_range) open;   /* the outermost first */
    struct ss_vec_of(struct node) nodes;        /* by range */
};

static int compare_enclosed(const void *left, const void *right)
{
    const struct enclosed *a = left, *b = right;
    if (a->around != b->around) {
        return a->around < b->around ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static void sort_places(struct enclosing *enclosing, const uint32_t *around)
{
    for (size_t i = 0; i < enclosing->places->rows.count; i++) {
        if (around[i] != 0) {
            ss_vec_push(&enclosing->enclosed, (struct enclosed){around[i], (uint32_t)i});
        }
    }
    if (enclosing->enclosed.count > 1) {
        qsort(enclosing->enclosed.data, enclosing->enclosed.count, sizeof *enclosing->enclosed.data,
              compare_enclosed);
    }
}

/* Returns its index plus one. */
static uint32_t add_node(struct enclosing *enclosing, uint32_t range, uint32_t outer)
{
    const struct ss_model *model = enclosing->places->selection->model;
    struct node node = {.range = range + 1};
    uint64_t number;
    if (ss_sequence_number(model, &model->ranges.data[range], &number)) {
        struct node *around = outer != 0 ? &enclosing->nodes.data[outer - 1] : NULL;
        node.numbered = range + 1;
        if (around != NULL && around->numbered == 0 &&
            enclosing->kinds[name_of(model, around->range - 1)] == SS_CALL_EVALUATION) {
            around->numbered = range + 1;
        }
    }
    ss_vec_push(&enclosing->nodes, node);
    return (uint32_t)enclosing->nodes.count;
}

static void open_range(struct enclosing *enclosing, uint32_t index)
{
    const struct ss_launch_places *places = enclosing->places;
    uint8_t kind = enclosing->kinds[name_of(places->selection->model, index)];
    uint32_t above = places->finder->parents[index];
    while (enclosing->open.count > 0 &&
           enclosing->open.data[enclosing->open.count - 1].range != above) {
        enclosing->open.count--;
    }
    struct open_range outer = {0};
    if (enclosing->open.count > 0) {
        outer = enclosing->open.data[enclosing->open.count - 1];
    }
    bool is_node = kind == SS_CALL_BACKWARD || kind == SS_CALL_EVALUATION;
    struct open_range opened = {.range = index + 1,
                                .op = kind != SS_CALL_RUNTIME ? index + 1 : outer.op,
                                .node =
                                    is_node ? add_node(enclosing, index, outer.node) : outer.node};
    ss_vec_push(&enclosing->open, opened);
}

/* Outer ranges precede their inner ones. */
static void find_enclosing(struct enclosing *enclosing)
{
    size_t count = enclosing->places->selection->model->ranges.count, next = 0;
    for (uint32_t i = 0; i < count; i++) {
        open_range(enclosing, i);
        const struct open_range *range = &enclosing->open.data[enclosing->open.count - 1];
        for (; next < enclosing->enclosed.count && enclosing->enclosed.data[next].around == i + 1;
             next++) {
            struct ss_launch_place *place =
                &enclosing->places->rows.data[enclosing->enclosed.data[next].place];
            place->op = range->op;
            place->node = range->node != 0 ? enclosing->nodes.data[range->node - 1].range : 0;
        }
    }
}

/* The range that has the number of the node, plus one; 0: none. */
static uint32_t numbered_of(const struct enclosing *enclosing, uint32_t node)
{
    size_t low = ss_search(i, 0, enclosing->nodes.count, enclosing->nodes.data[i].range < node);
    return low < enclosing->nodes.count && enclosing->nodes.data[low].range == node
               ? enclosing->nodes.data[low].numbered
               : 0;
}

static void free_enclosing(struct enclosing *enclosing)
{
    ss_vec_fini(&enclosing->enclosed);
    ss_vec_fini(&enclosing->open);
    ss_vec_fini(&enclosing->nodes);
}

/* The innermost range of the domain around each call, which may be on a track of its own; on the
 * same track, the call itself is one. */
static uint32_t *ranges_around_calls(const struct ss_launch_places *places, const char *domain)
{
    const struct ss_model *model = places->selection->model;
    size_t count = places->rows.count;
    uint32_t *tracks = ss_tracks_of_domain(model, domain);
    uint32_t *calls = ss_alloc_zero(count + 1, sizeof *calls); /* on other tracks */
    uint32_t *found = ss_alloc((count + 1) * sizeof *found);
    for (size_t i = 0; i < count; i++) {
        uint32_t call = places->rows.data[i].call;
        const struct ss_model_range *range = call != 0 ? &model->ranges.data[call - 1] : NULL;
        bool is_own =
            range != NULL && tracks[model->tracks.data[range->track].thread] == range->track;
        calls[i] = is_own ? 0 : call;
    }
    ss_ranges_around(places->finder, tracks, calls, count, found);
    for (size_t i = 0; i < count; i++) {
        bool is_own = places->rows.data[i].call != 0 && calls[i] == 0;
        found[i] = is_own ? places->rows.data[i].call : found[i];
    }
    ss_free(tracks);
    ss_free(calls);
    return found;
}

/* The number of the place's node. False: it has none. */
static bool number_of(const struct enclosing *enclosing, const struct ss_launch_place *place,
                      uint64_t *number)
{
    const struct ss_model *model = enclosing->places->selection->model;
    uint32_t numbered = place->node != 0 ? numbered_of(enclosing, place->node) : 0;
    return numbered != 0 && ss_sequence_number(model, &model->ranges.data[numbered - 1], number);
}

static void collect_numbers(const struct enclosing *enclosing, struct ss_sequence_numbers *numbers)
{
    size_t unique = 0;
    for (size_t i = 0; i < enclosing->places->rows.count; i++) {
        uint64_t number;
        if (number_of(enclosing, &enclosing->places->rows.data[i], &number)) {
            ss_vec_push(&numbers->rows, number);
        }
    }
    ss_sort_u64(numbers->rows.data, numbers->rows.count);
    for (size_t i = 0; i < numbers->rows.count; i++) {
        if (i == 0 || numbers->rows.data[i] != numbers->rows.data[unique - 1]) {
            numbers->rows.data[unique++] = numbers->rows.data[i];
        }
    }
    numbers->rows.count = unique;
}

/* Which operator created the node of each place. */
static void find_forward(struct ss_launch_places *places, const struct enclosing *enclosing,
                         const char *domain)
{
    const struct ss_model *model = places->selection->model;
    struct ss_forward_operators forward;
    struct ss_sequence_numbers numbers = {0};
    collect_numbers(enclosing, &numbers);
    ss_forward_operators_init(&forward, model, domain, enclosing->kinds, &numbers);
    for (size_t i = 0; i < places->rows.count; i++) {
        struct ss_launch_place *place = &places->rows.data[i];
        uint64_t number;
        if (number_of(enclosing, place, &number)) {
            const struct ss_forward_operator *found =
                ss_forward_operator_of(&forward, places->works->works.data[place->work].process,
                                       number, model->ranges.data[place->node - 1].begin_ns);
            place->forward = found != NULL ? found->range + 1 : 0;
        }
    }
    ss_forward_operators_fini(&forward);
    ss_vec_fini(&numbers.rows);
}

static void find_operators(struct ss_launch_places *places, const char *domain)
{
    uint8_t *kinds = ss_call_kinds(places->selection->model);
    struct enclosing enclosing = {.places = places, .kinds = kinds};
    uint32_t *around = ranges_around_calls(places, domain);
    sort_places(&enclosing, around);
    ss_free(around);
    find_enclosing(&enclosing);
    find_forward(places, &enclosing, domain);
    free_enclosing(&enclosing);
    ss_free(kinds);
}

static bool counts(const struct ss_step *step, const struct ss_launch_places_options *options)
{
    return step->kind == SS_STEP_STEADY && step->has_device_work && step->is_whole &&
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
        uint32_t process = places->works->works.data[place->work].process;
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
    places->finder = ss_selection_finder(selection);
    if (options->domain != NULL) {
        find_operators(places, options->domain);
    }
    if (options->training != NULL) {
        find_steady(places, options);
    }
}

void ss_launch_places_release(struct ss_launch_places *places)
{
    ss_analysis_free(places->own_analysis);
    places->own_analysis = NULL;
    ss_vec_fini(&places->rows);
}

void ss_launch_places_fini(struct ss_launch_places *places)
{
    ss_launch_places_release(places);
    *places = (struct ss_launch_places){0};
}
