/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of an input: filters them by time, and finds their steps and ranges. */
#include <inttypes.h>

#include "model/builder/builder_state.h"
#include "model/core/index.h"

/* The first step of the process that contains a sample counts as its first step. */
static enum ss_sample_step step_of(struct ss_model_builder *builder, uint32_t process,
                                   int64_t number)
{
    struct ss_model_index *index = builder->model->index;
    if (number < 0 || number == INT64_MAX) {
        return SS_SAMPLE_NO_STEP;
    }
    if (process >= index->first_steps.count) {
        ss_vec_resize(&index->first_steps, (size_t)process + 1);
    }
    int64_t *first = &index->first_steps.data[process];
    if (*first == 0) {
        *first = number + 1;
    }
    return *first == number + 1 ? SS_SAMPLE_FIRST_STEP : SS_SAMPLE_LATER_STEP;
}

/* The number of the sample's ticks in the requested range. A sample with a weight stands for ticks
 * one period apart, the last of them at its time; `*last_ns` is the time of the last tick that
 * counts. */
static uint64_t ticks_in_range(const struct ss_model_builder *builder,
                               const struct ss_trace_sample *sample, uint64_t *last_ns)
{
    *last_ns = sample->time_ns;
    if (!builder->load->has_time_range) {
        return sample->weight;
    }
    uint64_t from_ns = builder->base_ns + builder->load->from_ns;
    uint64_t to_ns = builder->load->to_ns > UINT64_MAX - builder->base_ns
                         ? UINT64_MAX
                         : builder->base_ns + builder->load->to_ns;
    if (sample->weight == 1 || builder->period_ns == 0) {
        return sample->time_ns >= from_ns && sample->time_ns < to_ns ? sample->weight : 0;
    }
    /* Tick k is k periods before the last: k < after are too late, k > upto are too early. */
    if (sample->time_ns < from_ns) {
        return 0;
    }
    uint64_t upto = (sample->time_ns - from_ns) / builder->period_ns;
    upto = upto >= sample->weight ? sample->weight - 1 : upto;
    uint64_t after =
        sample->time_ns < to_ns ? 0 : (sample->time_ns - to_ns) / builder->period_ns + 1;
    *last_ns -= after * builder->period_ns;
    return after > upto ? 0 : upto - after + 1;
}

static void set_base(struct ss_model_builder *builder, const struct ss_trace_sample *sample)
{
    uint64_t before_ns = (uint64_t)(sample->weight - 1) * builder->period_ns;
    builder->base_ns = sample->time_ns > before_ns ? sample->time_ns - before_ns : 0;
    builder->has_base = true;
}

static enum ss_status store_sample(struct ss_model_builder *builder,
                                   const struct ss_model_sample *sample, struct ss_error *err)
{
    uint64_t limit =
        builder->load->max_samples > 0 ? builder->load->max_samples : SS_MODEL_DEFAULT_MAX_SAMPLES;
    if (builder->model->samples.count >= limit) {
        return ss_fail(err, SS_E_LIMIT,
                       "more than %" PRIu64 " samples are too many for a timeline; select a "
                       "part of the time (--from, --until)",
                       limit);
    }
    ss_vec_push(&builder->model->samples, *sample);
    return SS_OK;
}

static void add_step_sample(struct ss_model_builder *builder, int64_t number,
                            const struct ss_pending_sample *sample)
{
    uint32_t process = builder->model->threads.data[sample->total.thread].process;
    if (process >= builder->last_steps.count) {
        ss_vec_resize(&builder->last_steps, (size_t)process + 1);
    }
    struct ss_step_samples *last = &builder->last_steps.data[process];
    if (number > last->number) { /* the previous step has ended */
        for (size_t i = 0; i < last->pending.count; i++) {
            ss_model_add_total(builder->model, &last->pending.data[i].total);
        }
        ss_vec_clear(&last->pending);
        last->number = number;
    }
    if (number < last->number) {
        ss_model_add_total(builder->model, &sample->total);
    } else {
        ss_vec_push(&last->pending, *sample);
    }
}

/* Defers a sample whose ranges or step are known only at the end of the trace. */
static void add_total(struct ss_model_builder *builder, const struct ss_trace_sample *sample,
                      const struct ss_model_total *total, uint64_t time_ns)
{
    struct ss_pending_sample pending = {
        .time_ns = time_ns, .label = sample->range_name, .total = *total};
    bool has_step = total->step != SS_SAMPLE_NO_STEP;
    bool is_main = builder->model->threads.data[total->thread].is_main;
    if (builder->load->sample_ranges || (has_step && is_main)) {
        ss_vec_push(&builder->pending, pending);
    } else if (has_step) {
        add_step_sample(builder, sample->step, &pending);
    } else {
        ss_model_add_total(builder->model, total);
    }
}

static void add_gil_span(struct ss_model_builder *builder, const struct ss_model_total *total,
                         uint64_t last_ns)
{
    struct ss_model *model = builder->model;
    if (model->gil_spans.count >= SS_MODEL_MOST_GIL_SPANS) {
        return;
    }
    uint64_t half_ns = builder->period_ns / 2;
    uint64_t before_ns = (total->samples - 1) * builder->period_ns + half_ns;
    ss_vec_push(&model->gil_spans, (struct ss_model_gil_span){
                                       .begin_ns = last_ns > before_ns ? last_ns - before_ns : 0,
                                       .end_ns = last_ns + half_ns,
                                       .thread = total->thread,
                                       .stack = total->stack,
                                       .holds = total->gil == SS_GIL_HELD});
}

/* What distinguishes the samples of one stack in the figures of steps. */
static void add_phase(struct ss_model_builder *builder, const struct ss_trace_sample *sample,
                      struct ss_model_total *total, uint64_t last_ns)
{
    const struct ss_model *model = builder->model;
    total->wait = (uint8_t)sample->wait;
    total->phase = model->names.data[sample->phase_name].text;
    total->step =
        (uint8_t)step_of(builder, model->threads.data[total->thread].process, sample->step);
    if (total->gil == SS_GIL_HELD && !model->threads.data[total->thread].is_main) {
        add_gil_span(builder, total, last_ns);
    }
}

/* Stores the sample with its time, not only in the totals. */
static enum ss_status store_ticks(struct ss_model_builder *builder,
                                  const struct ss_model_total *total, uint64_t last_ns,
                                  struct ss_error *err)
{
    struct ss_model_sample row = {.time_ns = last_ns,
                                  .thread = total->thread,
                                  .stack = total->stack,
                                  .weight = (uint32_t)total->samples,
                                  .state = total->state,
                                  .gil = total->gil,
                                  .partial = total->partial};
    return store_sample(builder, &row, err);
}

enum ss_status ss_model_builder_sample(struct ss_model_builder *builder,
                                       const struct ss_trace_sample *as_recorded,
                                       struct ss_error *err)
{
    struct ss_model *model = builder->model;
    struct ss_trace_sample moved = *as_recorded, *sample = &moved;
    moved.time_ns = ss_model_builder_on_axis(builder, as_recorded->time_ns);
    if (!builder->has_base) {
        set_base(builder, sample);
    }
    uint64_t last_ns;
    uint64_t ticks = ticks_in_range(builder, sample, &last_ns);
    model->filtered_samples += sample->weight - ticks;
    if (ticks == 0) {
        return SS_OK;
    }
    struct ss_model_total total = {.thread = sample->thread_ref,
                                   .stack = sample->stack_ref,
                                   .state = (uint8_t)sample->state,
                                   .gil = (uint8_t)sample->gil,
                                   .partial = sample->partial,
                                   .samples = ticks,
                                   .records = 1};
    if (builder->load->sample_phases) {
        add_phase(builder, sample, &total, last_ns);
    }
    if (ticks > INT64_MAX - model->index->total_samples) {
        return ss_fail(err, SS_E_LIMIT, "more than 2^63 samples");
    }
    add_total(builder, sample, &total, last_ns);
    model->index->total_samples += ticks;
    model->inputs.data[builder->input].samples += ticks;
    return builder->load->keep_samples ? store_ticks(builder, &total, last_ns, err) : SS_OK;
}

/* --- end ------------------------------------------------------------------------------------- */

static void add_pending(struct ss_model_builder *builder, struct ss_pending_samples *pending)
{
    if (pending->count > 0 && builder->load->sample_phases && !builder->load->no_tracks) {
        ss_find_sample_steps(builder->model, builder->on_tracks.first_range, pending->data,
                             pending->count);
    }
    for (size_t i = 0; i < pending->count; i++) {
        const struct ss_model_total *total = &pending->data[i].total;
        ss_model_add_total(builder->model, total);
        if (total->gil == SS_GIL_WAITED && total->step == SS_SAMPLE_LATER_STEP &&
            builder->model->threads.data[total->thread].is_main) {
            add_gil_span(builder, total, pending->data[i].time_ns);
        }
    }
}

void ss_model_builder_end_samples(struct ss_model_builder *builder)
{
    if (builder->pending.count > 0 && builder->load->sample_ranges) {
        ss_find_sample_ranges(builder->model, builder->on_tracks.first_range, builder->pending.data,
                              builder->pending.count);
    }
    add_pending(builder, &builder->pending);
    for (size_t i = 0; i < builder->last_steps.count; i++) {
        add_pending(builder, &builder->last_steps.data[i].pending);
    }
}

void ss_model_builder_free_samples(struct ss_model_builder *builder)
{
    ss_vec_fini(&builder->pending);
    for (size_t i = 0; i < builder->last_steps.count; i++) {
        ss_vec_fini(&builder->last_steps.data[i].pending);
    }
    ss_vec_fini(&builder->last_steps);
}
