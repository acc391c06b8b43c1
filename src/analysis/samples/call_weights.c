/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/call_weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"

enum { MOST_KEPT = SS_CALLS_MOST / 2, MOST_DEPTH = 400 };

/* The tree of all calls, before light ones are folded. */
struct building {
    const struct ss_model *model;
    struct ss_call_weights *weights;
    struct ss_intern call_keys, function_keys;
    uint32_t *function_of_frame; /* plus one */
    struct ss_vec_of(struct ss_weighed_call) calls;
    uint32_t *call_of_stack;
    uint64_t *self; /* [calls][parts] */
};

/* --- functions -------------------------------------------------------------------------------- */

static enum ss_call_group group_of(const struct ss_model_frame *frame)
{
    switch (frame->origin) {
    case SS_ORIGIN_DEVICE:
        return SS_CALL_ON_DEVICE;
    case SS_ORIGIN_NATIVE:
        return SS_CALL_NATIVE;
    case SS_ORIGIN_STDLIB:
        return SS_CALL_OF_STDLIB;
    case SS_ORIGIN_PACKAGE:
        return ss_owner_is_torch(frame->owner) ? SS_CALL_OF_TORCH : SS_CALL_OF_PACKAGE;
    default:
        return SS_CALL_OF_PROGRAM;
    }
}

static uint32_t function_of(struct building *building, uint32_t frame)
{
    const struct ss_model *model = building->model;
    const struct ss_model_frame *from = &model->frames.data[frame];
    if (building->function_of_frame[frame] == 0) {
        uint32_t key[2] = {from->function, from->short_file};
        uint32_t id = ss_intern_put(&building->function_keys, (const char *)key, sizeof key);
        if (id == building->weights->functions.count) {
            ss_vec_push(&building->weights->functions,
                        (struct ss_weighed_function){
                            .name = ss_intern_get(&model->strings, from->function),
                            .file = ss_intern_get(&model->strings, from->short_file),
                            .line = from->first_line,
                            .group = group_of(from)});
        }
        building->function_of_frame[frame] = id + 1;
    }
    return building->function_of_frame[frame] - 1;
}

/* --- the whole tree --------------------------------------------------------------------------- */

/* Direct recursion is one call, and so is all below the greatest depth. */
static uint32_t child_of(struct building *building, uint32_t parent, uint32_t depth,
                         uint32_t function)
{
    if (depth > MOST_DEPTH || (parent != 0 && building->calls.data[parent].function == function)) {
        return parent;
    }
    uint32_t key[2] = {parent, function};
    uint32_t id = ss_intern_put(&building->call_keys, (const char *)key, sizeof key);
    if (id == building->calls.count) {
        ss_vec_push(&building->calls,
                    (struct ss_weighed_call){.parent = parent, .function = function});
    }
    return id;
}

/* Only stacks that a shown total needs: `wanted` by stack. */
static void add_calls(struct building *building, const bool *wanted)
{
    const struct ss_model *model = building->model;
    ss_vec_push_zero(&building->calls);
    for (uint32_t stack = 1; stack < model->stacks.count; stack++) {
        const struct ss_model_stack *from = &model->stacks.data[stack];
        if (wanted[stack]) {
            building->call_of_stack[stack] =
                child_of(building, building->call_of_stack[from->parent], from->depth,
                         function_of(building, from->frame));
        }
    }
}

static bool *wanted_stacks(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    bool *wanted = ss_alloc_zero(model->stacks.count + 1, sizeof *wanted);
    for (size_t i = 0; i < model->totals.count; i++) {
        wanted[model->totals.data[i].stack] =
            selection->totals[i] || wanted[model->totals.data[i].stack];
    }
    for (size_t stack = model->stacks.count; stack-- > 1;) {
        uint32_t parent = model->stacks.data[stack].parent;
        wanted[parent] = wanted[parent] || wanted[stack];
    }
    return wanted;
}

/* --- parts ------------------------------------------------------------------------------------ */

static void name_parts(struct ss_call_weights *weights, const struct ss_model *model,
                       const struct ss_step_summary *training)
{
    weights->part_count = 1;
    if (training->steps.count == 0 || weights->weight != SS_WEIGHT_SAMPLES) {
        return;
    }
    for (size_t i = 0; i < training->phases.count; i++) {
        weights->parts[i] = ss_step_phase_text(model, &training->phases.data[i]);
    }
    weights->parts[training->phases.count] = ss_strview_of("outside of steps");
    weights->part_count = training->phases.count + 1;
}

/* The phases end with "other", the name 0. */
static size_t part_of(const struct ss_call_weights *weights, const struct ss_step_summary *training,
                      const struct ss_model_total *total)
{
    if (weights->part_count == 1) {
        return 0;
    }
    if (total->phase == 0 && total->step == SS_SAMPLE_NO_STEP) {
        return weights->part_count - 1;
    }
    size_t at = 0;
    while (at + 1 < training->phases.count && training->phases.data[at].name != total->phase) {
        at++;
    }
    return at;
}

static void add_weights(struct building *building, const struct ss_selection *selection,
                        const struct ss_step_summary *training)
{
    size_t parts = building->weights->part_count;
    building->self = ss_alloc_zero(building->calls.count * parts, sizeof *building->self);
    for (size_t i = 0; i < building->model->totals.count; i++) {
        const struct ss_model_total *total = &building->model->totals.data[i];
        if (selection->totals[i]) {
            uint32_t call = building->call_of_stack[total->stack];
            building->self[call * parts + part_of(building->weights, training, total)] +=
                total->samples;
            building->calls.data[call].total += total->samples;
        }
    }
    for (size_t i = building->calls.count; i-- > 1;) {
        building->calls.data[building->calls.data[i].parent].total += building->calls.data[i].total;
    }
}

/* --- folding ---------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* The least total that a shown call has: a thousandth of all, more where too many have that. */
static uint64_t least_total(const struct building *building)
{
    size_t count = building->calls.count;
    uint64_t *totals = ss_alloc(count * sizeof *totals), least = 1;
    for (size_t i = 0; i < count; i++) {
        totals[i] = building->calls.data[i].total;
    }
    qsort(totals, count, sizeof *totals, by_weight);
    least = totals[0] / 2000 > 1 ? totals[0] / 2000 : 1;
    if (count > MOST_KEPT && totals[MOST_KEPT] >= least) {
        least = totals[MOST_KEPT] + 1;
    }
    ss_free(totals);
    return least;
}

/* Where the weights of a folded call go: by call, those of its folded callees too. */
struct folds {
    uint64_t *self; /* [calls][parts] */
    uint64_t *total;
    uint32_t *count;
};

static void fold(struct building *building, uint64_t least, struct folds *folds)
{
    size_t parts = building->weights->part_count;
    for (size_t i = building->calls.count; i-- > 1;) {
        const struct ss_weighed_call *call = &building->calls.data[i];
        if (call->total >= least) {
            continue;
        }
        for (size_t p = 0; p < parts; p++) {
            folds->self[call->parent * parts + p] +=
                building->self[i * parts + p] + folds->self[i * parts + p];
        }
        folds->total[call->parent] += call->total;
        folds->count[call->parent] += 1 + folds->count[i];
    }
}

/* `self` is what the caller counts for it. */
static void put_call(struct ss_call_weights *weights, struct ss_weighed_call call,
                     const uint64_t *self)
{
    size_t parts = weights->part_count;
    memcpy(weights->self + weights->calls.count * parts, self, parts * sizeof *self);
    ss_vec_push(&weights->calls, call);
}

static void put_kept(struct building *building, uint64_t least, const struct folds *folds)
{
    struct ss_call_weights *weights = building->weights;
    size_t parts = weights->part_count;
    uint32_t *kept = ss_alloc_zero(building->calls.count, sizeof *kept);
    weights->self = ss_alloc_zero(2 * (size_t)MOST_KEPT * parts + 2 * parts, sizeof *weights->self);
    for (size_t i = 0; i < building->calls.count; i++) {
        struct ss_weighed_call call = building->calls.data[i];
        if (i > 0 && call.total < least) {
            continue;
        }
        call.parent = kept[call.parent];
        kept[i] = (uint32_t)weights->calls.count;
        put_call(weights, call, &building->self[i * parts]);
        if (folds->total[i] > 0) {
            put_call(weights,
                     (struct ss_weighed_call){
                         .parent = kept[i], .folded = folds->count[i], .total = folds->total[i]},
                     &folds->self[i * parts]);
        }
    }
    ss_free(kept);
}

static void put_calls(struct building *building)
{
    size_t count = building->calls.count, parts = building->weights->part_count;
    uint64_t least = least_total(building);
    struct folds folds = {.self = ss_alloc_zero(count * parts, sizeof *folds.self),
                          .total = ss_alloc_zero(count, sizeof *folds.total),
                          .count = ss_alloc_zero(count, sizeof *folds.count)};
    fold(building, least, &folds);
    put_kept(building, least, &folds);
    ss_free(folds.self);
    ss_free(folds.total);
    ss_free(folds.count);
}

void ss_call_weights_init(struct ss_call_weights *weights, const struct ss_selection *selection,
                          const struct ss_step_summary *training)
{
    const struct ss_model *model = selection->model;
    struct building building = {
        .model = model,
        .weights = weights,
        .function_of_frame =
            ss_alloc_zero(model->frames.count + 1, sizeof *building.function_of_frame),
        .call_of_stack = ss_alloc_zero(model->stacks.count + 1, sizeof *building.call_of_stack)};
    *weights = (struct ss_call_weights){.weight = model->weight};
    ss_intern_init(&building.call_keys); /* id 0, the empty key, is the root */
    ss_intern_init(&building.function_keys);
    ss_vec_push_zero(&weights->functions);
    weights->functions.data[0].group = SS_CALL_FOLDED;
    bool *wanted = wanted_stacks(selection);
    add_calls(&building, wanted);
    ss_free(wanted);
    name_parts(weights, model, training);
    add_weights(&building, selection, training);
    put_calls(&building);
    ss_intern_fini(&building.call_keys);
    ss_intern_fini(&building.function_keys);
    ss_vec_fini(&building.calls);
    ss_free(building.function_of_frame);
    ss_free(building.call_of_stack);
    ss_free(building.self);
}

void ss_call_weights_fini(struct ss_call_weights *weights)
{
    ss_vec_fini(&weights->calls);
    ss_vec_fini(&weights->functions);
    ss_free(weights->self);
    *weights = (struct ss_call_weights){0};
}
