/* SPDX-License-Identifier: Apache-2.0 */
#include "model/load_thin.h"

#include <string.h>

#include "base/alloc.h"

enum { MOST_HALVINGS = 32, FEWEST_STEPS = 64 };

static const char counter_name[] = "operators recorded";

struct value_list ss_vec_of(struct ss_model_value);

/* When the steps of each process began, as far as the trace is read. */
struct begun_steps {
    struct ss_vec_of(ss_step_begins) of; /* by process */
};

/* --- steps ----------------------------------------------------------------------------------- */

static void begun_steps_init(struct begun_steps *begun, const struct ss_load_tracks *tracks,
                             const struct ss_model *model)
{
    *begun = (struct begun_steps){0};
    ss_vec_resize(&begun->of, model->processes.count + 1);
    for (size_t i = 0; i < tracks->nests.count; i++) {
        const struct ss_nest *nest = &tracks->nests.data[i];
        const struct ss_model_track *track = &model->tracks.data[nest->track];
        for (size_t k = 0; track->kind == SS_TRACK_STEPS && k < nest->events.count; k++) {
            if (nest->events.data[k].kind == SS_EVENT_BEGIN) {
                ss_vec_push(&begun->of.data[track->process], nest->events.data[k].time_ns);
            }
        }
    }
    for (size_t i = 0; i < begun->of.count; i++) {
        ss_sort_by_time(begun->of.data[i].data, begun->of.data[i].count, sizeof(uint64_t));
    }
}

static void begun_steps_fini(struct begun_steps *begun)
{
    for (size_t i = 0; i < begun->of.count; i++) {
        ss_vec_fini(&begun->of.data[i]);
    }
    ss_vec_fini(&begun->of);
}

/* Of a step, by its begin: the same at every halving, each of which leaves out half of the rest. */
static bool is_kept(uint64_t begin_ns, unsigned halvings)
{
    uint64_t mixed = begin_ns * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 29;
    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    return halvings == 0 || mixed >> (64 - halvings) == 0;
}

/* --- events ---------------------------------------------------------------------------------- */

struct open_operator {
    size_t place; /* of its begin among what is kept */
    size_t step;  /* that it began in, from 1; 0: before the first */
};

/* What ran before the first step belongs to none and stays. So does what may belong to a step that
 * is not read yet, and what lasts over several steps, without what lies in it. */
static void thin_nest(const struct ss_load_tracks *tracks, struct ss_nest *nest,
                      const ss_step_begins *begins, bool is_end)
{
    struct ss_raw_event *events = nest->events.data;
    struct ss_vec_of(struct open_operator) open = {0};
    size_t kept = 0, step = 0;
    ss_sort_by_time(events, nest->events.count, sizeof *events);
    for (size_t i = 0; i < nest->events.count; i++) {
        uint64_t now_ns = events[i].time_ns;
        while (step < begins->count && begins->data[step] <= now_ns) {
            step++;
        }
        events[kept++] = events[i];
        if (events[i].kind != SS_EVENT_END) {
            ss_vec_push(&open, (struct open_operator){kept - 1, step});
        } else if (open.count > 0) {
            struct open_operator one = open.data[--open.count];
            bool is_read = one.step < begins->count || is_end;
            bool is_within = one.step == step || (one.step + 1 == step && kept == one.place + 2);
            bool is_drawn = one.step > 0 && is_read && is_within &&
                            !is_kept(begins->data[one.step - 1], tracks->halvings);
            bool is_outside =
                now_ns < tracks->from_ns || events[one.place].time_ns >= tracks->to_ns;
            kept = is_drawn || is_outside ? one.place : kept;
        }
    }
    nest->events.count = kept;
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

static void thin(struct ss_load_tracks *tracks, const struct ss_model *model,
                 const struct begun_steps *begun, bool is_end)
{
    for (size_t i = 0; i < tracks->nests.count; i++) {
        struct ss_nest *nest = &tracks->nests.data[i];
        if (nest->is_operators) {
            uint32_t process = model->tracks.data[nest->track].process;
            thin_nest(tracks, nest, &begun->of.data[process], is_end);
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

/* Those of this input that nothing refers to any longer are taken out. */
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

static bool can_halve(const struct ss_load_tracks *tracks, const struct begun_steps *begun)
{
    size_t most = 0;
    for (size_t i = 0; i < begun->of.count; i++) {
        most = begun->of.data[i].count > most ? begun->of.data[i].count : most;
    }
    return tracks->halvings < MOST_HALVINGS && most >> (tracks->halvings + 1) >= FEWEST_STEPS;
}

void ss_load_thin(struct ss_load_tracks *tracks, struct ss_model *model)
{
    struct begun_steps begun;
    uint64_t enough = tracks->most_operators - tracks->most_operators / 4;
    begun_steps_init(&begun, tracks, model);
    thin(tracks, model, &begun, false);
    while (tracks->operators > enough && can_halve(tracks, &begun)) {
        tracks->halvings++;
        thin(tracks, model, &begun, false);
    }
    if (tracks->operators > enough) { /* of few steps, or of none: they stay */
        tracks->most_operators = 2 * tracks->operators;
    }
    pack_payloads(tracks, model);
    begun_steps_fini(&begun);
}

/* --- what is told of it ---------------------------------------------------------------------- */

static uint32_t counter_of(struct ss_model *model, uint32_t input, uint32_t process)
{
    for (size_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->kind == SS_TRACK_COUNTER && track->process == process &&
            strcmp(ss_model_text(model, track->name), counter_name) == 0) {
            return (uint32_t)i;
        }
    }
    struct ss_model_track track = {.input = input,
                                   .kind = SS_TRACK_COUNTER,
                                   .process = process,
                                   .name = ss_intern_put_text(&model->strings, counter_name)};
    ss_vec_push(&model->tracks, track);
    return (uint32_t)model->tracks.count - 1;
}

/* Takes the counter's values of this input out of the model, in order of their times. */
static void take_values(const struct ss_load_tracks *tracks, struct ss_model *model,
                        uint32_t counter, struct value_list *taken)
{
    size_t kept = tracks->first_value;
    for (size_t i = tracks->first_value; i < model->values.count; i++) {
        struct ss_model_value value = model->values.data[i];
        if (value.track == counter) {
            ss_vec_push(taken, value);
        } else {
            model->values.data[kept++] = value;
        }
    }
    model->values.count = kept;
    if (taken->count > 0) {
        ss_sort_by_time(taken->data, taken->count, sizeof *taken->data);
    }
}

/* The last value before a step ends is what its begin told. */
static void tell_steps(const struct ss_load_tracks *tracks, struct ss_model *model,
                       uint32_t counter, const ss_step_begins *begins)
{
    struct value_list taken = {0};
    size_t at = 0;
    bool was_recorded = true;
    take_values(tracks, model, counter, &taken);
    for (size_t i = 0; i < begins->count; i++) {
        uint64_t end_ns = i + 1 < begins->count ? begins->data[i + 1] : UINT64_MAX;
        for (; at < taken.count && taken.data[at].time_ns < end_ns; at++) {
            was_recorded = ss_model_real(&taken.data[at]) != 0;
        }
        struct ss_model_value value = {.time_ns = begins->data[i],
                                       .track = counter,
                                       .is_integer = true,
                                       .integer = was_recorded &&
                                                  is_kept(begins->data[i], tracks->halvings)};
        ss_vec_push(&model->values, value);
    }
    ss_vec_fini(&taken);
}

void ss_load_thin_end(struct ss_load_tracks *tracks, struct ss_model *model)
{
    if (tracks->halvings == 0) {
        return;
    }
    struct begun_steps begun;
    begun_steps_init(&begun, tracks, model);
    thin(tracks, model, &begun, true);
    pack_payloads(tracks, model);
    bool *has = ss_alloc_zero(model->processes.count + 1, sizeof *has);
    for (size_t i = 0; i < tracks->nests.count; i++) {
        const struct ss_nest *nest = &tracks->nests.data[i];
        has[model->tracks.data[nest->track].process] |= nest->is_operators;
    }
    for (uint32_t process = 1; process < model->processes.count; process++) {
        if (has[process] && begun.of.data[process].count > 0) {
            uint32_t input = model->processes.data[process].input;
            tell_steps(tracks, model, counter_of(model, input, process), &begun.of.data[process]);
        }
    }
    ss_free(has);
    begun_steps_fini(&begun);
}
