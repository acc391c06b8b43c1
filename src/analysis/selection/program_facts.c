/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/program_facts.h"
#include "base/shared_names.h"
#include "model/core/note_index.h"

#include <string.h>

static const char separator[] = " = ";

bool ss_program_fact_is(const struct ss_model *model, const struct ss_model_note *note,
                        const char *key)
{
    size_t length = strlen(key);
    const char *text = ss_model_text(model, note->text);
    return strncmp(text, key, length) == 0 &&
           strncmp(text + length, separator, sizeof separator - 1) == 0 &&
           strcmp(ss_model_text(model, note->kind), "fact") == 0;
}

const struct ss_model_note *ss_program_fact(const struct ss_model *model, uint32_t process,
                                            const char *key)
{
    const struct ss_model_note *last = NULL;
    struct ss_note_ids notes = ss_notes_of_process(model, process);
    for (size_t i = 0; i < notes.count; i++) {
        const struct ss_model_note *note = ss_note_at(model, &notes, i);
        if (note->process == process && ss_program_fact_is(model, note, key) &&
            (last == NULL || note->time_ns >= last->time_ns)) {
            last = note;
        }
    }
    return last;
}

struct ss_strview ss_program_fact_text(const struct ss_model *model,
                                       const struct ss_model_note *note)
{
    const char *text = note != NULL ? strstr(ss_model_text(model, note->text), separator) : NULL;
    return ss_strview_of(text != NULL ? text + sizeof separator - 1 : "");
}

/* A process and its children share the reason: the process itself is named. */
const char *ss_program_missed_torch(const struct ss_model *model, uint32_t input)
{
    const struct ss_model_note *first = NULL;
    struct ss_note_ids notes = ss_notes_of_input(model, input);
    for (size_t i = 0; i < notes.count; i++) {
        const struct ss_model_note *note = ss_note_at(model, &notes, i);
        if (note->input == input && strcmp(ss_model_text(model, note->kind), "torch-missed") == 0 &&
            ss_program_fact(model, note->process, ss_fact_torch_version) == NULL &&
            (first == NULL || note->process < first->process)) {
            first = note;
        }
    }
    return first != NULL ? ss_model_text(model, first->text) : NULL;
}

int64_t ss_rank_of(const struct ss_model *model, uint32_t process)
{
    const struct ss_model_process *row = &model->processes.data[process];
    if (row->has_rank) {
        return row->rank;
    }
    const struct ss_model_note *fact = ss_program_fact(model, process, ss_fact_torch_rank);
    return fact != NULL ? fact->value : -1;
}
