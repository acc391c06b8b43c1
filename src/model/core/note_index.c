/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/note_index.h"

#include "base/alloc.h"
#include "model/core/index.h"

static uint32_t process_of(const struct ss_model_note *note)
{
    return note->process;
}

static uint32_t input_of(const struct ss_model_note *note)
{
    return note->input;
}

/* Counts the notes of each owner, then puts each after the notes of the owners before it. */
static void build_order(struct ss_note_order *order, const struct ss_model *model, size_t owners,
                        uint32_t (*owner_of)(const struct ss_model_note *note))
{
    size_t count = model->notes.count;
    ss_note_order_fini(order);
    order->owners = (uint32_t)owners;
    order->ids = ss_alloc_zero(count + 1, sizeof *order->ids);
    order->first = ss_alloc_zero(owners + 2, sizeof *order->first);
    for (size_t i = 0; i < count; i++) {
        uint32_t owner = owner_of(&model->notes.data[i]);
        order->first[owner < owners ? owner + 2 : 0]++; /* 0: of an unknown owner, not counted */
    }
    order->first[0] = 0;
    for (size_t i = 2; i < owners + 2; i++) {
        order->first[i] += order->first[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t owner = owner_of(&model->notes.data[i]);
        if (owner < owners) {
            order->ids[order->first[owner + 1]++] = (uint32_t)i;
        }
    }
}

void ss_note_index_build(struct ss_model *model)
{
    struct ss_note_index *index = &model->index->notes;
    build_order(&index->by_process, model, model->processes.count, process_of);
    build_order(&index->by_input, model, model->inputs.count, input_of);
    index->notes = model->notes.count;
}

static struct ss_note_ids notes_of(const struct ss_model *model, const struct ss_note_order *order,
                                   uint32_t owner)
{
    if (order->ids == NULL || model->index->notes.notes != model->notes.count ||
        owner >= order->owners) {
        return (struct ss_note_ids){NULL, model->notes.count};
    }
    return (struct ss_note_ids){order->ids + order->first[owner],
                                order->first[owner + 1] - order->first[owner]};
}

struct ss_note_ids ss_notes_of_process(const struct ss_model *model, uint32_t process)
{
    return notes_of(model, &model->index->notes.by_process, process);
}

struct ss_note_ids ss_notes_of_input(const struct ss_model *model, uint32_t input)
{
    return notes_of(model, &model->index->notes.by_input, input);
}
