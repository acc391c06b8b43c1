/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/autograd_pairs.h"

#include <stdlib.h>
#include <string.h>

void ss_autograd_add(ss_autograd_operators *operators, const struct ss_model *model, uint32_t range,
                     uint32_t process)
{
    const struct ss_model_range *row = &model->ranges.data[range];
    const struct ss_model_payload *payload = &model->payloads.data[row->payload];
    const struct ss_model_name *name = &model->names.data[model->paths.data[row->path].name];
    if (payload->type != SS_VALUE_INT || payload->integer < 0) {
        return;
    }
    const struct ss_model_field *thread =
        ss_model_field_of(model, row->payload, SS_EVENT_FIELD_forward_thread);
    bool is_backward = thread != NULL
                           ? thread->natural > 0
                           : strcmp(ss_model_text(model, name->category), "backward") == 0;
    struct ss_autograd_operator operator= {.sequence = payload->integer,
                                           .begin_ns = row->begin_ns,
                                           .process = process,
                                           .range = range,
                                           .is_backward = is_backward};
    ss_vec_push(operators, operator);
}

static int compare(const void *left, const void *right)
{
    const struct ss_autograd_operator *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->sequence != b->sequence) {
        return a->sequence < b->sequence ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->range < b->range ? -1 : a->range > b->range;
}

/* The operators of one number: of calls within calls, the innermost one made the node of autograd,
 * and the innermost backward one computed it. Each forward thread counts for itself, so that a
 * number may come again. */
static void join(const struct ss_autograd_operator *operators, size_t count,
                 ss_autograd_pairs *pairs)
{
    const struct ss_autograd_operator *forward = NULL;
    for (size_t i = 0; i < count; i++) {
        bool is_innermost = i + 1 == count || !operators[i + 1].is_backward;
        if (!operators[i].is_backward) {
            forward = &operators[i];
        } else if (is_innermost && forward != NULL) {
            struct ss_autograd_pair pair = {.forward = forward->range,
                                            .backward = operators[i].range};
            ss_vec_push(pairs, pair);
            forward = NULL;
        }
    }
}

void ss_autograd_join(ss_autograd_operators *operators, ss_autograd_pairs *pairs)
{
    const struct ss_autograd_operator *all = operators->data;
    size_t count = operators->count;
    if (count > 1) {
        qsort(operators->data, count, sizeof *operators->data, compare);
    }
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && all[end].process == all[first].process &&
                              all[end].sequence == all[first].sequence;) {
            end++;
        }
        join(all + first, end - first, pairs);
    }
}
