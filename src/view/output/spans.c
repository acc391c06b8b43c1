/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/spans.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "view/output/pair_ids.h"

static const double default_rate_hz = 100;
/* One random tick per period: consecutive ticks are up to two periods apart, and may be late. */
static const double max_distance_periods = 2.5;

uint32_t ss_thread_input(const struct ss_model *model, uint32_t thread)
{
    return model->processes.data[model->threads.data[thread].process].input;
}

static uint64_t total_key(uint32_t thread, uint32_t stack, uint8_t state, uint8_t gil, bool partial)
{
    uint64_t flags = (uint64_t)state << 16 | (uint64_t)gil << 8 | (uint64_t)partial;
    return ss_hash_u64(ss_pair(thread, stack)) ^ flags * UINT64_C(0x9e3779b97f4a7c15);
}

static bool belongs_to(const struct ss_model_sample *sample, const struct ss_model_total *total)
{
    return sample->thread == total->thread && sample->stack == total->stack &&
           sample->state == total->state && sample->gil == total->gil &&
           sample->partial == total->partial;
}

/* The selection refers to totals: finds the total of each sample. */
static void mark_selected(struct ss_spans *spans)
{
    const struct ss_model *model = spans->selection->model;
    struct ss_pair_ids rows = {0};
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        uint64_t key =
            total_key(total->thread, total->stack, total->state, total->gil, total->partial);
        uint32_t *row;
        while (*(row = ss_pair_ids_at(&rows, key)) != 0) {
            key++;
        }
        *row = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < model->samples.count; i++) {
        const struct ss_model_sample *sample = &model->samples.data[i];
        uint64_t key =
            total_key(sample->thread, sample->stack, sample->state, sample->gil, sample->partial);
        uint32_t row;
        while ((row = *ss_pair_ids_at(&rows, key)) != 0 &&
               !belongs_to(sample, &model->totals.data[row - 1])) {
            key++;
        }
        spans->is_selected[i] = row != 0 && spans->selection->totals[row - 1];
    }
    ss_pair_ids_fini(&rows);
}

static int by_time(const void *left, const void *right, void *context)
{
    const struct ss_model *model = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t time_a = model->samples.data[a].time_ns, time_b = model->samples.data[b].time_ns;
    return time_a != time_b ? (time_a < time_b ? -1 : 1) : (a > b) - (a < b);
}

/* A counting sort by thread; within a thread, samples are almost always in order already. */
static void sort_samples(struct ss_spans *spans)
{
    const struct ss_model *model = spans->selection->model;
    size_t threads = model->threads.count;
    for (size_t i = 0; i < model->samples.count; i++) {
        spans->first[model->samples.data[i].thread + 1]++;
    }
    for (size_t i = 0; i < threads; i++) {
        spans->first[i + 1] += spans->first[i];
    }
    uint32_t *next = ss_alloc((threads + 1) * sizeof *next);
    memcpy(next, spans->first, (threads + 1) * sizeof *next);
    for (size_t i = 0; i < model->samples.count; i++) {
        spans->order[next[model->samples.data[i].thread]++] = (uint32_t)i;
    }
    ss_free(next);
    for (size_t thread = 0; thread < threads; thread++) {
        uint32_t from = spans->first[thread], to = spans->first[thread + 1];
        for (uint32_t i = from + 1; i < to; i++) {
            if (by_time(&spans->order[i - 1], &spans->order[i], (void *)model) > 0) {
                qsort_r(spans->order + from, to - from, sizeof *spans->order, by_time,
                        (void *)model);
                break;
            }
        }
    }
}

static uint64_t period_of(const struct ss_model *model, uint32_t thread)
{
    uint32_t input = ss_thread_input(model, thread);
    double rate = input < model->inputs.count ? model->inputs.data[input].rate_hz : 0;
    return (uint64_t)(1e9 / (rate > 0 ? rate : default_rate_hz) + 0.5);
}

/* The time of the first tick of a sample, estimated from its weight. */
static uint64_t first_tick(const struct ss_model_sample *sample, uint64_t period_ns)
{
    uint64_t back = (uint64_t)(sample->weight > 0 ? sample->weight - 1 : 0) * period_ns;
    return back < sample->time_ns ? sample->time_ns - back : 0;
}

static void find_bases(struct ss_spans *spans)
{
    const struct ss_model *model = spans->selection->model;
    for (size_t i = 0; i < model->inputs.count; i++) {
        spans->base_ns[i] = UINT64_MAX;
    }
    for (uint32_t thread = 0; thread < model->threads.count; thread++) {
        uint32_t input = ss_thread_input(model, thread);
        if (spans->first[thread] < spans->first[thread + 1] && input < model->inputs.count) {
            const struct ss_model_sample *sample =
                &model->samples.data[spans->order[spans->first[thread]]];
            uint64_t start = first_tick(sample, period_of(model, thread));
            if (start < spans->base_ns[input]) {
                spans->base_ns[input] = start;
            }
        }
    }
}

static void lower_base(struct ss_spans *spans, uint32_t track, uint64_t time_ns)
{
    uint64_t *base_ns = &spans->base_ns[spans->selection->model->tracks.data[track].input];
    *base_ns = time_ns < *base_ns ? time_ns : *base_ns;
}

/* Time counts from the first sample or event. */
static void find_bases_of_tracks(struct ss_spans *spans)
{
    const struct ss_model *model = spans->selection->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        if ((model->ranges.data[i].flags & SS_RANGE_OUTSIDE) == 0) {
            lower_base(spans, model->ranges.data[i].track, model->ranges.data[i].begin_ns);
        }
    }
    for (size_t i = 0; i < model->marks.count; i++) {
        lower_base(spans, model->marks.data[i].track, model->marks.data[i].time_ns);
    }
    for (size_t i = 0; i < model->values.count; i++) {
        lower_base(spans, model->values.data[i].track, model->values.data[i].time_ns);
    }
}

/* Inputs on the common time axis share a base. */
static void share_base(struct ss_spans *spans)
{
    const struct ss_model *model = spans->selection->model;
    uint64_t base_ns = UINT64_MAX;
    for (size_t i = 0; i < model->inputs.count; i++) {
        bool is_earlier = ss_model_is_on_axis(model, (uint32_t)i) && spans->base_ns[i] < base_ns;
        base_ns = is_earlier ? spans->base_ns[i] : base_ns;
    }
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (ss_model_is_on_axis(model, (uint32_t)i)) {
            spans->base_ns[i] = base_ns;
        }
    }
}

void ss_spans_init(struct ss_spans *spans, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    *spans = (struct ss_spans){
        .selection = selection,
        .order = ss_alloc_zero(model->samples.count + 1, sizeof *spans->order),
        .first = ss_alloc_zero(model->threads.count + 2, sizeof *spans->first),
        .is_selected = ss_alloc_zero(model->samples.count + 1, sizeof *spans->is_selected),
        .base_ns = ss_alloc_zero(model->inputs.count + 1, sizeof *spans->base_ns)};
    mark_selected(spans);
    sort_samples(spans);
    find_bases(spans);
    find_bases_of_tracks(spans);
    share_base(spans);
}

void ss_spans_fini(struct ss_spans *spans)
{
    ss_free(spans->order);
    ss_free(spans->first);
    ss_free(spans->is_selected);
    ss_free(spans->base_ns);
    *spans = (struct ss_spans){0};
}

static void push_span(ss_span_list *list, struct ss_span span)
{
    struct ss_span *last = list->count > 0 ? &list->data[list->count - 1] : NULL;
    if (span.end_ns <= span.start_ns) {
        return;
    }
    if (last != NULL && last->stack == span.stack && last->end_ns == span.start_ns) {
        last->end_ns = span.end_ns;
    } else {
        ss_vec_push(list, span);
    }
}

/* Other tools' files say how long each stack lasted. */
static bool has_exact_weights(const struct ss_model *model, uint32_t thread)
{
    uint32_t input = ss_thread_input(model, thread);
    return input < model->inputs.count && model->inputs.data[input].kind == SS_INPUT_IMPORT;
}

/* Finds the end of `before` and the start of `after`. */
static void find_boundary(const struct ss_model_sample *before, const struct ss_model_sample *after,
                          uint64_t period_ns, uint64_t *end_ns, uint64_t *start_ns)
{
    uint64_t start = first_tick(after, period_ns);
    uint64_t next_tick = before->time_ns + period_ns;
    if (after->weight > 1 && after->stack == before->stack) {
        /* It continues the earlier one: the stack did not change, even during missed ticks. */
        start = next_tick;
    }
    if (start <= before->time_ns) {
        start = next_tick;
    }
    if (start > after->time_ns) {
        start = after->time_ns;
    }
    bool gap = (double)(start - before->time_ns) > max_distance_periods * (double)period_ns;
    *end_ns = gap ? next_tick : start;
    *start_ns = start;
}

void ss_spans_of_thread(const struct ss_spans *spans, uint32_t thread, ss_span_list *list)
{
    const struct ss_model *model = spans->selection->model;
    uint64_t period_ns = period_of(model, thread);
    uint32_t from = spans->first[thread], to = spans->first[thread + 1];
    ss_vec_clear(list);
    if (from == to) {
        return;
    }
    uint64_t base_ns = spans->base_ns[ss_thread_input(model, thread)];
    bool is_exact = has_exact_weights(model, thread);
    uint64_t start_ns = first_tick(&model->samples.data[spans->order[from]], period_ns);
    for (uint32_t i = from; i < to; i++) {
        const struct ss_model_sample *sample = &model->samples.data[spans->order[i]];
        uint64_t end_ns = sample->time_ns + period_ns, next_start_ns = 0;
        if (i + 1 < to && is_exact) {
            next_start_ns = first_tick(&model->samples.data[spans->order[i + 1]], period_ns);
        } else if (i + 1 < to) {
            find_boundary(sample, &model->samples.data[spans->order[i + 1]], period_ns, &end_ns,
                          &next_start_ns);
        }
        if (spans->is_selected[spans->order[i]]) {
            push_span(list, (struct ss_span){start_ns - base_ns, end_ns - base_ns, sample->stack});
        }
        start_ns = next_start_ns;
    }
}
