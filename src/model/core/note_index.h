/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notes of a process, or of an input, without a walk over all notes: a run of a thousand ranks
 * has a hundred thousand. Built once when all inputs are loaded; of a model that was built
 * otherwise, the caller walks over all. Immutable afterwards.
 */
#ifndef SS_MODEL_CORE_NOTE_INDEX_H
#define SS_MODEL_CORE_NOTE_INDEX_H

#include "model/core/model.h"

void ss_note_index_build(struct ss_model *model);

/* Notes to walk over, in their order. They may be of others, too: the caller compares. */
struct ss_note_ids {
    const uint32_t *ids; /* NULL: all notes */
    size_t count;
};
struct ss_note_ids ss_notes_of_process(const struct ss_model *model, uint32_t process);
struct ss_note_ids ss_notes_of_input(const struct ss_model *model, uint32_t input);

static inline const struct ss_model_note *ss_note_at(const struct ss_model *model,
                                                     const struct ss_note_ids *notes, size_t i)
{
    return &model->notes.data[notes->ids != NULL ? notes->ids[i] : i];
}

#endif
