/* SPDX-License-Identifier: Apache-2.0 */
/* Notes in the order of their owners: what an index of a model holds (model/core/note_index.h).
 * Private to model/. */
#ifndef SS_MODEL_CORE_NOTE_ORDER_H
#define SS_MODEL_CORE_NOTE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

struct ss_note_order {
    uint32_t *ids;   /* of notes, by owner; those of one owner in the order of the notes */
    uint32_t *first; /* by owner, one more than there are owners: where its ids begin */
    uint32_t owners;
};

/* Part of struct ss_model_index. */
struct ss_note_index {
    struct ss_note_order by_process, by_input;
    size_t notes; /* that it has: a model with more has none */
};

static inline void ss_note_order_fini(struct ss_note_order *order)
{
    ss_free(order->ids);
    ss_free(order->first);
    *order = (struct ss_note_order){0};
}

static inline void ss_note_index_fini(struct ss_note_index *index)
{
    ss_note_order_fini(&index->by_process);
    ss_note_order_fini(&index->by_input);
}

#endif
