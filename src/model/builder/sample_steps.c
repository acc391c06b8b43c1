/* SPDX-License-Identifier: Apache-2.0 */
/* The step of a sample, whether the sample is in an operator, and whether it is between the phases
 * of a pass. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"
#include "model/builder/load_tracks.h"

/* --- steps ----------------------------------------------------------------------------------- */

/* A step with a recorded end. */
struct span {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

struct spans ss_vec_of(struct span);

/* The ranges of one lane of a thread's operators or garbage collections, in order of time. */
struct lane {
    uint32_t thread;
    bool is_collector;
    size_t first, end;
};

struct lanes ss_vec_of(struct lane);

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static bool is_step(const struct ss_model *model, const struct ss_model_track *track)
{
    return track->kind == SS_TRACK_STEPS && track->process != 0 &&
           strcmp(ss_model_text(model, track->name), "step") == 0;
}

/* `has_steps`, by process: true also where no step has an end. */
static void collect_spans(const struct ss_model *model, size_t first_range, struct spans *spans,
                          bool *has_steps)
{
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (!is_step(model, track)) {
            continue;
        }
        has_steps[track->process] = true;
        if ((range->flags & SS_RANGE_END_UNSEEN) == 0) {
            ss_vec_push(spans, (struct span){.process = track->process,
                                             .begin_ns = range->begin_ns,
                                             .end_ns = range->end_ns});
        }
    }
    if (spans->count > 0) {
        qsort(spans->data, spans->count, sizeof *spans->data, compare_spans);
    }
}

/* The step of the process at that time; NULL: none. */
static const struct span *span_at(const struct spans *spans, uint32_t process, uint64_t time_ns)
{
    size_t low = ss_search(
        i, 0, spans->count,
        ss_pair_at_most(spans->data[i].process, spans->data[i].begin_ns, process, time_ns));
    const struct span *span = low > 0 ? &spans->data[low - 1] : NULL;
    return span != NULL && span->process == process && time_ns < span->end_ns ? span : NULL;
}

static bool is_first(const struct spans *spans, const struct span *span)
{
    return span == spans->data || span[-1].process != span->process;
}

/* --- phases ---------------------------------------------------------------------------------- */

enum phase_kind { FORWARD, BACKWARD, OPTIMIZER, EVALUATION, INFERENCE, PROFILER, OTHER };

struct phase {
    uint32_t process;
    enum phase_kind kind;
    uint32_t name; /* string */
    uint64_t begin_ns, end_ns;
};

struct phases ss_vec_of(struct phase);

static int compare_phases(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static enum phase_kind kind_of(const struct ss_model *model, const struct ss_model_range *range)
{
    static const char *const names[OTHER] = {ss_phase_forward,   ss_phase_backward,
                                             ss_phase_optimizer, ss_phase_evaluation,
                                             ss_phase_inference, ss_phase_profiler};
    uint32_t name = model->paths.data[range->path].name;
    const char *text = ss_model_text(model, model->names.data[name].text);
    size_t kind = 0;
    while (kind < OTHER && strcmp(text, names[kind]) != 0) {
        kind++;
    }
    return (enum phase_kind)kind;
}

static void collect_phases(const struct ss_model *model, size_t first_range, struct phases *phases)
{
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->kind == SS_TRACK_PHASES && track->process != 0) {
            uint32_t name = model->paths.data[range->path].name;
            ss_vec_push(phases, (struct phase){.process = track->process,
                                               .kind = kind_of(model, range),
                                               .name = model->names.data[name].text,
                                               .begin_ns = range->begin_ns,
                                               .end_ns = range->end_ns});
        }
    }
    if (phases->count > 0) {
        qsort(phases->data, phases->count, sizeof *phases->data, compare_phases);
    }
}

/* The first phase of the process that begins later, or where it would be. */
static size_t phase_after(const struct phases *phases, uint32_t process, uint64_t time_ns)
{
    return ss_search(
        i, 0, phases->count,
        ss_pair_at_most(phases->data[i].process, phases->data[i].begin_ns, process, time_ns));
}

/* Whether the time is after a forward or backward, and the next phase is a backward or the
 * update. */
static bool is_in_pass(const struct phases *phases, uint32_t process, uint64_t time_ns)
{
    size_t next = phase_after(phases, process, time_ns);
    if (next == 0 || next == phases->count) {
        return false;
    }
    const struct phase *before = &phases->data[next - 1], *after = &phases->data[next];
    return before->process == process && after->process == process && time_ns >= before->end_ns &&
           (before->kind == FORWARD || before->kind == BACKWARD) &&
           (after->kind == BACKWARD || after->kind == OPTIMIZER);
}

/* The phase at that time; NULL: none. */
static const struct phase *phase_at(const struct phases *phases, uint32_t process, uint64_t time_ns)
{
    size_t next = phase_after(phases, process, time_ns);
    const struct phase *phase = next > 0 ? &phases->data[next - 1] : NULL;
    bool is_there = phase != NULL && phase->process == process && time_ns < phase->end_ns;
    return is_there ? phase : NULL;
}

/* The loader may have relabelled evaluations and inferences. */
static bool is_evaluation(const struct phase *phase)
{
    return phase != NULL && (phase->kind == EVALUATION || phase->kind == INFERENCE);
}

/* --- operators ------------------------------------------------------------------------------- */

static int compare_lanes(const void *left, const void *right)
{
    const struct lane *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    return (a->first > b->first) - (a->first < b->first);
}

static void collect_lanes(const struct ss_model *model, size_t first_range, struct lanes *lanes)
{
    for (size_t first = first_range, end; first < model->ranges.count; first = end) {
        const struct ss_model_range *head = &model->ranges.data[first];
        for (end = first; end < model->ranges.count &&
                          model->ranges.data[end].track == head->track &&
                          model->ranges.data[end].lane == head->lane;) {
            end++;
        }
        const struct ss_model_track *track = &model->tracks.data[head->track];
        const char *domain = ss_model_text(model, track->name);
        bool is_collector = strcmp(domain, ss_domain_python_gc) == 0;
        if (track->kind == SS_TRACK_RANGES && track->thread != 0 &&
            (is_collector || strcmp(domain, ss_domain_torch) == 0)) {
            ss_vec_push(lanes, (struct lane){track->thread, is_collector, first, end});
        }
    }
    if (lanes->count > 0) {
        qsort(lanes->data, lanes->count, sizeof *lanes->data, compare_lanes);
    }
}

/* Sorts by thread, then by time. */
static int compare_samples(const void *left, const void *right)
{
    const struct ss_pending_sample *a = *(const struct ss_pending_sample *const *)left;
    const struct ss_pending_sample *b = *(const struct ss_pending_sample *const *)right;
    if (a->total.thread != b->total.thread) {
        return a->total.thread < b->total.thread ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool is_operator(const struct ss_model *model, const struct ss_model_range *range)
{
    uint32_t name = model->paths.data[range->path].name;
    return strcmp(ss_model_text(model, model->names.data[name].category), "operator") == 0;
}

/* A scan of the outermost operators of a lane, or of the collections, in order of time. */
struct walk {
    const struct ss_model *model;
    bool includes_all;         /* not operators only */
    size_t next, end;          /* ranges */
    uint64_t begin_ns, end_ns; /* of the last operator that began; both 0: none */
    uint64_t next_begin_ns;    /* of the next operator; UINT64_MAX: none */
};

static void find_next(struct walk *walk)
{
    for (; walk->next < walk->end; walk->next++) {
        const struct ss_model_range *range = &walk->model->ranges.data[walk->next];
        if (range->begin_ns >= walk->end_ns &&
            (walk->includes_all || is_operator(walk->model, range))) {
            walk->next_begin_ns = range->begin_ns;
            return;
        }
    }
    walk->next_begin_ns = UINT64_MAX;
}

static void walk_to(struct walk *walk, uint64_t time_ns)
{
    while (walk->next_begin_ns <= time_ns) {
        const struct ss_model_range *range = &walk->model->ranges.data[walk->next++];
        walk->begin_ns = range->begin_ns;
        walk->end_ns = range->end_ns;
        find_next(walk);
    }
}

static enum ss_sample_operator operator_state(const struct walk *walk, const struct span *span,
                                              uint64_t time_ns)
{
    if (time_ns < walk->end_ns) {
        return SS_OPERATOR_INSIDE;
    }
    bool has_before = walk->end_ns > span->begin_ns, has_after = walk->next_begin_ns < span->end_ns;
    return has_before || has_after ? SS_OPERATOR_OUTSIDE : SS_OPERATOR_UNKNOWN;
}

static void walk_lane(const struct ss_model *model, const struct lane *lane,
                      const struct spans *spans, struct ss_pending_sample **samples, size_t count)
{
    struct walk walk = {
        .model = model, .includes_all = lane->is_collector, .next = lane->first, .end = lane->end};
    find_next(&walk);
    for (size_t i = 0; i < count; i++) {
        struct ss_pending_sample *sample = samples[i];
        uint32_t process = model->threads.data[sample->total.thread].process;
        const struct span *span = sample->total.step != SS_SAMPLE_NO_STEP
                                      ? span_at(spans, process, sample->time_ns)
                                      : NULL;
        walk_to(&walk, sample->time_ns);
        enum ss_sample_operator found =
            span != NULL ? operator_state(&walk, span, sample->time_ns) : SS_OPERATOR_UNKNOWN;
        if (lane->is_collector) {
            found = found == SS_OPERATOR_INSIDE ? SS_OPERATOR_COLLECTOR : SS_OPERATOR_UNKNOWN;
        }
        if (found > sample->total.in_operator) {
            sample->total.in_operator = (uint8_t)found;
        }
    }
}

static void find_operators(const struct ss_model *model, const struct lanes *lanes,
                           const struct spans *spans, struct ss_pending_sample *samples,
                           size_t count)
{
    struct ss_pending_sample **order = ss_alloc((count + 1) * sizeof(struct ss_pending_sample *));
    for (size_t i = 0; i < count; i++) {
        order[i] = &samples[i];
    }
    qsort(order, count, sizeof *order, compare_samples);
    size_t lane = 0;
    for (size_t first = 0, end; first < count; first = end) {
        uint32_t thread = order[first]->total.thread;
        for (end = first; end < count && order[end]->total.thread == thread;) {
            end++;
        }
        while (lane < lanes->count && lanes->data[lane].thread < thread) {
            lane++;
        }
        for (; lane < lanes->count && lanes->data[lane].thread == thread; lane++) {
            walk_lane(model, &lanes->data[lane], spans, order + first, end - first);
        }
    }
    ss_free(order);
}

void ss_find_sample_steps(const struct ss_model *model, size_t first_range,
                          struct ss_pending_sample *samples, size_t count)
{
    struct spans spans = {0};
    struct lanes lanes = {0};
    struct phases phases = {0};
    bool *has_steps = ss_alloc_zero(model->processes.count + 1, sizeof *has_steps);
    collect_spans(model, first_range, &spans, has_steps);
    collect_lanes(model, first_range, &lanes);
    collect_phases(model, first_range, &phases);
    for (size_t i = 0; i < count; i++) {
        struct ss_model_total *total = &samples[i].total;
        uint32_t process = model->threads.data[total->thread].process;
        const struct span *span = span_at(&spans, process, samples[i].time_ns);
        const struct phase *phase = phase_at(&phases, process, samples[i].time_ns);
        bool is_of_profiler = phase != NULL && phase->kind == PROFILER;
        if ((has_steps[process] && span == NULL) || is_of_profiler) {
            total->step = SS_SAMPLE_NO_STEP;
        } else if (total->step == SS_SAMPLE_FIRST_STEP && span != NULL && !is_first(&spans, span)) {
            total->step = SS_SAMPLE_LATER_STEP; /* the sampler did not know the end */
        }
        total->phase = is_evaluation(phase) ? phase->name : total->phase;
        total->in_pass = total->step != SS_SAMPLE_NO_STEP && total->phase == 0 &&
                         is_in_pass(&phases, process, samples[i].time_ns);
    }
    if (lanes.count > 0) {
        find_operators(model, &lanes, &spans, samples, count);
    }
    ss_free(has_steps);
    ss_vec_fini(&spans);
    ss_vec_fini(&lanes);
    ss_vec_fini(&phases);
}
