/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/operator_calls.h"

#include "analysis/calls/calls.h"
#include "analysis/launches/device_work.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* What calls have the same work by: strings of the model. */
struct key {
    uint32_t name, shapes, types, values, output;
};

struct building {
    struct ss_operator_calls *calls;
    const struct ss_sequences *sequences;
    const struct ss_model *model;
    const struct ss_operator_rule **rules; /* by name of the model */
    bool *knows_rule;                      /* by name of the model */
    struct ss_intern keys;
    struct ss_vec_of(uint32_t) work_of_key; /* index of the work plus one; 0: unclear */
};

static uint32_t text_field(const struct ss_model *model, uint32_t range, uint32_t field)
{
    const struct ss_model_field *row =
        ss_model_field_of(model, model->ranges.data[range].payload, field);
    return row != NULL && row->type == SS_VALUE_TEXT ? row->text : 0;
}

static const struct ss_operator_rule *rule_of(struct building *building, uint32_t name)
{
    if (!building->knows_rule[name]) {
        building->knows_rule[name] = true;
        building->rules[name] = ss_operator_rule_of(
            ss_intern_get(&building->model->strings, building->model->names.data[name].text));
    }
    return building->rules[name];
}

/* The shape of the gradient that the operator's node gets, which is that of its output. */
static bool read_output(const struct building *building, uint32_t shapes,
                        struct ss_operator_argument *output)
{
    struct ss_operator_arguments arguments;
    const struct ss_strview none = {"", 0};
    if (shapes == 0 ||
        !ss_operator_arguments_read(&arguments, ss_intern_get(&building->model->strings, shapes),
                                    none, none)) {
        return false;
    }
    const struct ss_operator_argument *first = ss_operator_tensor(&arguments, 0);
    *output = first != NULL ? *first : (struct ss_operator_argument){.dimensions = 0};
    return first != NULL;
}

/* Index of the work plus one; 0: the arguments do not say enough. */
static uint32_t work_of_key(struct building *building, const struct ss_operator_rule *rule,
                            const struct key *key)
{
    const struct ss_intern *strings = &building->model->strings;
    uint32_t id = ss_intern_put(&building->keys, (const char *)key, sizeof *key);
    if (id < building->work_of_key.count) {
        return building->work_of_key.data[id];
    }
    struct ss_operator_arguments arguments;
    struct ss_operator_argument output;
    struct ss_operator_work work;
    bool has_output = read_output(building, key->output, &output);
    bool is_known = ss_operator_arguments_read(&arguments, ss_intern_get(strings, key->shapes),
                                               ss_intern_get(strings, key->types),
                                               ss_intern_get(strings, key->values)) &&
                    ss_operator_work_of(rule, &arguments, has_output ? &output : NULL, &work);
    ss_vec_resize(&building->work_of_key, (size_t)id + 1);
    if (is_known) {
        ss_vec_push(&building->calls->works, work);
        building->work_of_key.data[id] = (uint32_t)building->calls->works.count;
    }
    return building->work_of_key.data[id];
}

/* Of a forward operator without recorded values. */
static uint32_t output_shapes(const struct building *building, uint32_t range)
{
    uint32_t node = ss_sequences_node_of(building->sequences, range);
    return node != 0 ? text_field(building->model, node - 1, SS_EVENT_FIELD_shapes) : 0;
}

static enum ss_work_answer evaluate(struct building *building, uint32_t range, uint32_t *work)
{
    const struct ss_model *model = building->model;
    uint32_t name = model->paths.data[model->ranges.data[range].path].name;
    struct key key = {.name = model->names.data[name].text,
                      .shapes = text_field(model, range, SS_EVENT_FIELD_shapes),
                      .types = text_field(model, range, SS_EVENT_FIELD_input_types),
                      .values = text_field(model, range, SS_EVENT_FIELD_inputs)};
    if (key.shapes == 0) {
        return model->names.data[name].type == SS_EVENT_TYPE_operator ? SS_WORK_NO_SHAPES
                                                                      : SS_WORK_NOT_OPERATOR;
    }
    uint32_t thread = model->tracks.data[model->ranges.data[range].track].thread;
    building->calls->has_shapes = true;
    building->calls->shape_track[thread] = model->ranges.data[range].track;
    const struct ss_operator_rule *rule = rule_of(building, name);
    if (rule == NULL) {
        return SS_WORK_NO_FORMULA;
    }
    if (key.values == 0 && ss_operator_rule_is_product(rule)) {
        key.output = output_shapes(building, range);
    }
    *work = work_of_key(building, rule, &key);
    return *work != 0 ? SS_WORK_KNOWN : SS_WORK_NO_SHAPES;
}

static void mark_around(struct ss_operator_calls *calls, uint32_t range)
{
    for (uint32_t at = calls->finder->parents[range]; at != 0 && !calls->has_product[at - 1];
         at = calls->finder->parents[at - 1]) {
        calls->has_product[at - 1] = true;
    }
}

static void evaluate_all(struct building *building, const struct ss_selection *selection)
{
    struct ss_operator_calls *calls = building->calls;
    const struct ss_model *model = building->model;
    uint32_t track = 0;
    bool is_chosen = false;
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (range->track != track) {
            track = range->track;
            is_chosen = ss_calls_has_track(selection, track, ss_domain_torch) ||
                        ss_calls_has_track(selection, track, ss_domain_torch_profiler);
        }
        if (is_chosen) {
            calls->answers[i] = (uint8_t)evaluate(building, i, &calls->work_of[i]);
        }
        if (calls->work_of[i] != 0 && calls->works.data[calls->work_of[i] - 1].is_product) {
            mark_around(calls, i);
        }
    }
}

void ss_operator_calls_init(struct ss_operator_calls *calls, const struct ss_selection *selection,
                            const struct ss_sequences *sequences)
{
    const struct ss_model *model = selection->model;
    size_t ranges = model->ranges.count + 1, names = model->names.count + 1;
    *calls = (struct ss_operator_calls){
        .finder = sequences->finder,
        .work_of = ss_alloc_zero(ranges, sizeof *calls->work_of),
        .answers = ss_alloc_zero(ranges, sizeof *calls->answers),
        .has_product = ss_alloc_zero(ranges, sizeof *calls->has_product),
        .shape_track = ss_alloc_zero(model->threads.count + 1, sizeof *calls->shape_track)};
    struct building building = {.calls = calls,
                                .sequences = sequences,
                                .model = model,
                                .rules = ss_alloc_zero(names, sizeof *building.rules),
                                .knows_rule = ss_alloc_zero(names, sizeof *building.knows_rule)};
    ss_intern_init(&building.keys);
    ss_vec_push(&building.work_of_key, 0); /* of the empty text */
    evaluate_all(&building, selection);
    ss_intern_fini(&building.keys);
    ss_vec_fini(&building.work_of_key);
    ss_free(building.rules);
    ss_free(building.knows_rule);
}

void ss_operator_calls_fini(struct ss_operator_calls *calls)
{
    ss_vec_fini(&calls->works);
    ss_free(calls->work_of);
    ss_free(calls->answers);
    ss_free(calls->has_product);
    ss_free(calls->shape_track);
}

const struct ss_operator_work *ss_operator_call_work(const struct ss_operator_calls *calls,
                                                     uint32_t range)
{
    if (calls->work_of[range] == 0) {
        return NULL;
    }
    const struct ss_operator_work *work = &calls->works.data[calls->work_of[range] - 1];
    return work->is_product && calls->has_product[range] ? NULL : work;
}
