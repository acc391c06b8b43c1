/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calls/sequences.h"

#include <stdlib.h>

#include "analysis/calls/calls.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

static int compare(const void *left, const void *right)
{
    const struct ss_sequenced *a = left, *b = right;
    return a->process != b->process     ? (a->process > b->process ? 1 : -1)
           : a->number != b->number     ? (a->number > b->number ? 1 : -1)
           : a->begin_ns != b->begin_ns ? (a->begin_ns > b->begin_ns ? 1 : -1)
                                        : (a->range > b->range) - (a->range < b->range);
}

static uint32_t name_of(const struct ss_model *model, uint32_t range)
{
    return model->paths.data[model->ranges.data[range].path].name;
}

bool ss_sequences_is_node(const struct ss_sequences *sequences, uint32_t range)
{
    uint8_t kind = sequences->kinds[name_of(sequences->finder->model, range)];
    return kind == SS_CALL_BACKWARD || kind == SS_CALL_EVALUATION;
}

/* The payload of an operator, also where only its track says that it is one. */
static bool number_of(const struct ss_model *model, uint32_t range, uint64_t *number)
{
    uint8_t type = (uint8_t)model->names.data[name_of(model, range)].type;
    const struct ss_model_payload *payload =
        &model->payloads.data[model->ranges.data[range].payload];
    bool is_operator = type == SS_EVENT_TYPE_operator || type == SS_EVENT_TYPE_NONE;
    bool is_natural = payload->type == SS_VALUE_UINT && payload->natural <= (uint64_t)INT64_MAX;
    bool is_known = is_operator && model->ranges.data[range].payload != 0 &&
                    (is_natural || (payload->type == SS_VALUE_INT && payload->integer >= 0));
    *number = is_known ? payload->natural : 0;
    return is_known;
}

void ss_sequences_init(struct ss_sequences *sequences, const struct ss_selection *selection,
                       const struct ss_range_finder *finder)
{
    const struct ss_model *model = finder->model;
    *sequences = (struct ss_sequences){.finder = finder, .kinds = ss_call_kinds(model)};
    uint32_t track = 0;
    bool is_chosen = false;
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        struct ss_sequenced one = {.begin_ns = range->begin_ns,
                                   .process = model->tracks.data[range->track].process,
                                   .range = i};
        if (range->track != track) {
            track = range->track;
            is_chosen = ss_calls_has_track(selection, track, ss_domain_torch) ||
                        ss_calls_has_track(selection, track, ss_domain_torch_profiler);
        }
        uint8_t kind = sequences->kinds[name_of(model, i)];
        if (is_chosen && number_of(model, i, &one.number)) {
            if (kind == SS_CALL_FORWARD) {
                ss_vec_push(&sequences->operators, one);
            } else if (kind == SS_CALL_BACKWARD) {
                ss_vec_push(&sequences->nodes, one);
            }
        }
    }
    if (sequences->operators.count > 1) {
        qsort(sequences->operators.data, sequences->operators.count,
              sizeof *sequences->operators.data, compare);
    }
    if (sequences->nodes.count > 1) {
        qsort(sequences->nodes.data, sequences->nodes.count, sizeof *sequences->nodes.data,
              compare);
    }
}

void ss_sequences_fini(struct ss_sequences *sequences)
{
    ss_vec_fini(&sequences->operators);
    ss_vec_fini(&sequences->nodes);
    ss_free(sequences->kinds);
}

uint32_t ss_sequences_node_around(const struct ss_sequences *sequences, uint32_t range)
{
    for (uint32_t at = sequences->finder->parents[range]; at != 0;
         at = sequences->finder->parents[at - 1]) {
        if (ss_sequences_is_node(sequences, at - 1)) {
            return at;
        }
    }
    return 0;
}

bool ss_sequences_runs_again(const struct ss_sequences *sequences, uint32_t range)
{
    bool is_numbered = false;
    uint64_t number;
    for (uint32_t at = range + 1; at != 0; at = sequences->finder->parents[at - 1]) {
        if (ss_sequences_is_node(sequences, at - 1)) {
            return is_numbered;
        }
        is_numbered = is_numbered || number_of(sequences->finder->model, at - 1, &number);
    }
    return false;
}

/* The number of entries before the key. */
static size_t entries_before(const struct ss_sequenced *entries, size_t count,
                             const struct ss_sequenced *key)
{
    return ss_search(i, 0, count, compare(&entries[i], key) < 0);
}

static bool is_same(const struct ss_sequenced *entry, const struct ss_sequenced *key)
{
    return entry->process == key->process && entry->number == key->number;
}

uint32_t ss_sequences_operator_of(const struct ss_sequences *sequences, uint32_t node)
{
    const struct ss_model *model = sequences->finder->model;
    const struct ss_model_range *range = &model->ranges.data[node];
    struct ss_sequenced key = {.begin_ns = range->begin_ns,
                               .process = model->tracks.data[range->track].process};
    if (!number_of(model, node, &key.number)) {
        return 0;
    }
    size_t count = entries_before(sequences->operators.data, sequences->operators.count, &key);
    return count > 0 && is_same(&sequences->operators.data[count - 1], &key)
               ? sequences->operators.data[count - 1].range + 1
               : 0;
}

uint32_t ss_sequences_node_of(const struct ss_sequences *sequences, uint32_t range)
{
    const struct ss_model *model = sequences->finder->model;
    struct ss_sequenced key = {.begin_ns = model->ranges.data[range].begin_ns,
                               .process =
                                   model->tracks.data[model->ranges.data[range].track].process};
    uint32_t at = range + 1;
    while (at != 0 && !number_of(model, at - 1, &key.number)) {
        at = sequences->finder->parents[at - 1];
    }
    if (at == 0) {
        return 0;
    }
    size_t next = entries_before(sequences->nodes.data, sequences->nodes.count, &key);
    return next < sequences->nodes.count && is_same(&sequences->nodes.data[next], &key)
               ? sequences->nodes.data[next].range + 1
               : 0;
}
