/* SPDX-License-Identifier: Apache-2.0 */
#include "model/builder/load_tracks_downsample.h"

#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"

enum { MAX_HALVINGS = 32, MIN_STEPS = 64 };

struct value_list ss_vec_of(struct ss_model_value);

/* The begins of each process's steps in the part of the trace read so far. */
struct step_begins {
    struct ss_vec_of(ss_step_begins) by_process;
};

/* --- steps ----------------------------------------------------------------------------------- */

static void step_begins_init(struct step_begins *steps, const struct ss_load_tracks *tracks,
                             const struct ss_model *model)
{
    *steps = (struct step_begins){0};
    ss_vec_resize(&steps->by_process, model->processes.count + 1);
    for (size_t i = 0; i < tracks->nests.count; i++) {
        const struct ss_nest *nest = &tracks->nests.data[i];
        const struct ss_model_track *track = &model->tracks.data[nest->track];
        for (size_t k = 0; track->kind == SS_TRACK_STEPS && k < nest->events.count; k++) {
            if (nest->events.data[k].kind == SS_EVENT_BEGIN) {
                ss_vec_push(&steps->by_process.data[track->process], nest->events.data[k].time_ns);
            }
        }
    }
    for (size_t i = 0; i < steps->by_process.count; i++) {
        ss_sort_by_time(steps->by_process.data[i].data, steps->by_process.data[i].count,
                        sizeof(uint64_t));
    }
}

static void step_begins_fini(struct step_begins *steps)
{
    for (size_t i = 0; i < steps->by_process.count; i++) {
        ss_vec_fini(&steps->by_process.data[i]);
    }
    ss_vec_fini(&steps->by_process);
}

/* Selects a step by a hash of its start on its own clock, so that halvings agree: each one drops
 * half of the steps that the previous one left. */
static bool is_step_selected(const struct ss_load_tracks *tracks, uint64_t begin_ns)
{
    unsigned halvings = tracks->halvings;
    uint64_t own_ns = begin_ns - (uint64_t)tracks->shift_ns;
    uint64_t hash = own_ns * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return halvings == 0 || hash >> (64 - halvings) == 0;
}

/* --- events ---------------------------------------------------------------------------------- */

struct open_operator {
    size_t index; /* of its start among the retained events */
    size_t step;  /* in which it began, from 1; 0: before the first */
};

/* Operators before the first step belong to no step and stay. So do operators of a step that is not
 * read completely yet, and operators that span several steps, without the operators in them. */
static void downsample_nest(const struct ss_load_tracks *tracks, struct ss_nest *nest,
                            const ss_step_begins *begins, bool is_end)
{
    struct ss_raw_event *events = nest->events.data;
    struct ss_vec_of(struct open_operator) open = {0};
    size_t retained = 0, step = 0;
    ss_sort_by_time(events, nest->events.count, sizeof *events);
    for (size_t i = 0; i < nest->events.count; i++) {
        uint64_t now_ns = events[i].time_ns;
        while (step < begins->count && begins->data[step] <= now_ns) {
            step++;
        }
        events[retained++] = events[i];
        if (events[i].kind != SS_EVENT_END) {
            ss_vec_push(&open, (struct open_operator){retained - 1, step});
        } else if (open.count > 0) {
            struct open_operator closed = open.data[--open.count];
            bool is_read = closed.step < begins->count || is_end;
            bool is_within =
                closed.step == step || (closed.step + 1 == step && retained == closed.index + 2);
            bool is_dropped = closed.step > 0 && is_read && is_within &&
                              !is_step_selected(tracks, begins->data[closed.step - 1]);
            bool is_outside =
                now_ns < tracks->from_ns || events[closed.index].time_ns >= tracks->to_ns;
            retained = is_dropped || is_outside ? closed.index : retained;
        }
    }
    nest->events.count = retained;
    ss_vec_fini(&open);
}

static void count_operators(struct ss_load_tracks *tracks)
{
    tracks->operators = 0;
    for (size_t i = 0; i < tracks->nests.count; i++) {
        const struct ss_nest *nest = &tracks->nests.data[i];
        tracks->operators += nest->is_operators ? nest->events.count : 0;
    }
}

static void downsample_nests(struct ss_load_tracks *tracks, const struct ss_model *model,
                             const struct step_begins *steps, bool is_end)
{
    for (size_t i = 0; i < tracks->nests.count; i++) {
        struct ss_nest *nest = &tracks->nests.data[i];
        if (nest->is_operators) {
            uint32_t process = model->tracks.data[nest->track].process;
            downsample_nest(tracks, nest, &steps->by_process.data[process], is_end);
        }
    }
    count_operators(tracks);
}

/* --- payloads -------------------------------------------------------------------------------- */

static void move_payload(uint32_t *payload, size_t first, uint32_t *moved, struct ss_model *model,
                         const struct ss_model_payload *old)
{
    if (*payload < first || *payload == 0) {
        return;
    }
    uint32_t *to = &moved[*payload - first];
    if (*to == 0) {
        ss_vec_push(&model->payloads, old[*payload - first]);
        *to = (uint32_t)model->payloads.count - 1;
    }
    *payload = *to;
}

/* Removes the payloads of this input that nothing refers to any longer. */
static void pack_payloads(struct ss_load_tracks *tracks, struct ss_model *model)
{
    size_t first = tracks->first_payload, count = model->payloads.count - first;
    uint32_t *moved = ss_alloc_zero(count + 1, sizeof *moved);
    struct ss_model_payload *old = ss_alloc((count + 1) * sizeof *old);
    memcpy(old, model->payloads.data + first, count * sizeof *old);
    model->payloads.count = first;
    for (size_t i = 0; i < tracks->nests.count; i++) {
        struct ss_nest *nest = &tracks->nests.data[i];
        for (size_t k = 0; k < nest->events.count; k++) {
            move_payload(&nest->events.data[k].payload, first, moved, model, old);
        }
    }
    for (size_t i = tracks->first_mark; i < model->marks.count; i++) {
        move_payload(&model->marks.data[i].payload, first, moved, model, old);
    }
    ss_free(old);
    ss_free(moved);
}

static bool can_halve(const struct ss_load_tracks *tracks, const struct step_begins *steps)
{
    size_t most_steps = 0;
    for (size_t i = 0; i < steps->by_process.count; i++) {
        most_steps = steps->by_process.data[i].count > most_steps ? steps->by_process.data[i].count
                                                                  : most_steps;
    }
    return tracks->halvings < MAX_HALVINGS && most_steps >> (tracks->halvings + 1) >= MIN_STEPS;
}

void ss_load_downsample(struct ss_load_tracks *tracks, struct ss_model *model)
{
    struct step_begins steps;
    uint64_t target = tracks->most_operators - tracks->most_operators / 4;
    step_begins_init(&steps, tracks, model);
    downsample_nests(tracks, model, &steps, false);
    while (tracks->operators > target && can_halve(tracks, &steps)) {
        tracks->halvings++;
        downsample_nests(tracks, model, &steps, false);
    }
    if (tracks->operators > target) { /* they are of few steps, or of none: they stay */
        tracks->most_operators = 2 * tracks->operators;
    }
    pack_payloads(tracks, model);
    step_begins_fini(&steps);
}

/* --- the counter ----------------------------------------------------------------------------- */

static uint32_t counter_of(struct ss_model *model, uint32_t input, uint32_t process)
{
    for (size_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->kind == SS_TRACK_COUNTER && track->process == process &&
            strcmp(ss_model_text(model, track->name), ss_counter_operators_recorded) == 0) {
            return (uint32_t)i;
        }
    }
    struct ss_model_track track = {
        .input = input,
        .kind = SS_TRACK_COUNTER,
        .process = process,
        .name = ss_intern_put_text(&model->strings, ss_counter_operators_recorded)};
    ss_vec_push(&model->tracks, track);
    return (uint32_t)model->tracks.count - 1;
}

/* Moves the counter's values of this input out of the model, sorted by time. */
static void extract_values(const struct ss_load_tracks *tracks, struct ss_model *model,
                           uint32_t counter, struct value_list *extracted)
{
    size_t retained = tracks->first_value;
    for (size_t i = tracks->first_value; i < model->values.count; i++) {
        struct ss_model_value value = model->values.data[i];
        if (value.track == counter) {
            ss_vec_push(extracted, value);
        } else {
            model->values.data[retained++] = value;
        }
    }
    model->values.count = retained;
    if (extracted->count > 0) {
        ss_sort_by_time(extracted->data, extracted->count, sizeof *extracted->data);
    }
}

/* The last value before the end of a step says whether its operators were recorded. */
static void emit_steps(const struct ss_load_tracks *tracks, struct ss_model *model,
                       uint32_t counter, const ss_step_begins *begins)
{
    struct value_list extracted = {0};
    size_t at = 0;
    bool was_recorded = true;
    extract_values(tracks, model, counter, &extracted);
    for (size_t i = 0; i < begins->count; i++) {
        uint64_t end_ns = i + 1 < begins->count ? begins->data[i + 1] : UINT64_MAX;
        for (; at < extracted.count && extracted.data[at].time_ns < end_ns; at++) {
            was_recorded = ss_model_real(&extracted.data[at]) != 0;
        }
        struct ss_model_value value = {.time_ns = begins->data[i],
                                       .track = counter,
                                       .is_integer = true,
                                       .integer = was_recorded &&
                                                  is_step_selected(tracks, begins->data[i])};
        ss_vec_push(&model->values, value);
    }
    ss_vec_fini(&extracted);
}

void ss_load_downsample_end(struct ss_load_tracks *tracks, struct ss_model *model)
{
    if (tracks->halvings == 0) {
        return;
    }
    struct step_begins steps;
    step_begins_init(&steps, tracks, model);
    downsample_nests(tracks, model, &steps, true);
    pack_payloads(tracks, model);
    bool *has_operators = ss_alloc_zero(model->processes.count + 1, sizeof *has_operators);
    for (size_t i = 0; i < tracks->nests.count; i++) {
        const struct ss_nest *nest = &tracks->nests.data[i];
        has_operators[model->tracks.data[nest->track].process] |= nest->is_operators;
    }
    for (uint32_t process = 1; process < model->processes.count; process++) {
        if (has_operators[process] && steps.by_process.data[process].count > 0) {
            uint32_t input = model->processes.data[process].input;
            emit_steps(tracks, model, counter_of(model, input, process),
                       &steps.by_process.data[process]);
        }
    }
    ss_free(has_operators);
    step_begins_fini(&steps);
}
