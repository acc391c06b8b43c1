/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calls/forward_operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

bool ss_sequence_number(const struct ss_model *model, const struct ss_model_range *range,
                        uint64_t *number)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    bool is_valid = range->payload != 0 &&
                    ((payload->type == SS_VALUE_INT && payload->integer >= 0) ||
                     (payload->type == SS_VALUE_UINT && payload->natural <= (uint64_t)INT64_MAX));
    *number = is_valid ? payload->natural : 0;
    return is_valid;
}

static int compare(const void *left, const void *right)
{
    const struct ss_forward_operator *a = left, *b = right;
    return a->process != b->process     ? (a->process > b->process ? 1 : -1)
           : a->number != b->number     ? (a->number > b->number ? 1 : -1)
           : a->begin_ns != b->begin_ns ? (a->begin_ns > b->begin_ns ? 1 : -1)
                                        : (a->range > b->range) - (a->range < b->range);
}

static bool has_domain(const struct ss_model *model, uint32_t track, const char *domain)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->kind == SS_TRACK_RANGES && row->thread != 0 &&
           strcmp(ss_model_text(model, row->name), domain) == 0;
}

/* As the operators of one thread are. */
static bool is_sorted(const struct ss_forward_operators *operators)
{
    for (size_t i = 1; i < operators->rows.count; i++) {
        if (compare(&operators->rows.data[i - 1], &operators->rows.data[i]) > 0) {
            return false;
        }
    }
    return true;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool has_number(const struct ss_sequence_numbers *wanted, uint64_t number)
{
    return wanted == NULL ||
           (wanted->rows.count > 0 && bsearch(&number, wanted->rows.data, wanted->rows.count,
                                              sizeof number, compare_numbers) != NULL);
}

void ss_forward_operators_init(struct ss_forward_operators *operators, const struct ss_model *model,
                               const char *domain, const uint8_t *kinds,
                               const struct ss_sequence_numbers *wanted)
{
    uint32_t track = 0;
    bool is_wanted = false;
    *operators = (struct ss_forward_operators){0};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        struct ss_forward_operator row = {.begin_ns = range->begin_ns, .range = (uint32_t)i};
        if (range->track != track) {
            track = range->track;
            is_wanted = has_domain(model, track, domain);
        }
        if (is_wanted && kinds[model->paths.data[range->path].name] == SS_CALL_FORWARD &&
            ss_sequence_number(model, range, &row.number) && has_number(wanted, row.number)) {
            row.process = model->threads.data[model->tracks.data[track].thread].process;
            ss_vec_push(&operators->rows, row);
        }
    }
    if (!is_sorted(operators)) {
        qsort(operators->rows.data, operators->rows.count, sizeof *operators->rows.data, compare);
    }
}

void ss_forward_operators_fini(struct ss_forward_operators *operators)
{
    ss_vec_fini(&operators->rows);
}

const struct ss_forward_operator *
ss_forward_operator_of(const struct ss_forward_operators *operators, uint32_t process,
                       uint64_t number, uint64_t node_begin_ns)
{
    const struct ss_forward_operator node = {
        .process = process, .number = number, .begin_ns = node_begin_ns};
    /* The first that does not begin before the node. */
    size_t low =
        ss_search(i, 0, operators->rows.count, compare(&operators->rows.data[i], &node) < 0);
    const struct ss_forward_operator *found = low > 0 ? &operators->rows.data[low - 1] : NULL;
    return found != NULL && found->process == process && found->number == number ? found : NULL;
}
