/* SPDX-License-Identifier: Apache-2.0 */
/* What a training's processes record of themselves: versions, threads, the settings of their
 * loaders. */
#include <stdlib.h>
#include <string.h>

#include "analysis/selection/program_facts.h"
#include "analysis/training/training_facts.h"
#include "base/shared_names.h"
#include "model/core/note_index.h"

/* The text after "key = "; NULL where the note has another key. */
static const char *value_of(const struct ss_model *model, const struct ss_model_note *note,
                            const char *key)
{
    return ss_program_fact_is(model, note, key) ? ss_program_fact_text(model, note).data : NULL;
}

/* Whether the first trainer descends from the process. */
static bool is_above_trainer(const struct ss_training_facts *facts, uint32_t process)
{
    uint32_t trainer = facts->steps->steps.count > 0 ? facts->steps->steps.data[0].process : 0;
    while (trainer != 0 && trainer != process) {
        trainer = facts->model->processes.data[trainer].parent;
    }
    return trainer != 0;
}

/* The last value of a trainer, else that of a process above the first trainer; NULL: none. */
static const char *fact_text(const struct ss_training_facts *facts, const char *key)
{
    const char *above = NULL;
    for (size_t i = facts->model->notes.count; i-- > 0;) {
        const struct ss_model_note *note = &facts->model->notes.data[i];
        const char *text = value_of(facts->model, note, key);
        if (text != NULL && ss_training_has_steps(facts, note->process)) {
            return text;
        }
        if (text != NULL && above == NULL && is_above_trainer(facts, note->process)) {
            above = text;
        }
    }
    return above;
}

/* Caps: the file may be hostile. */
static const int64_t most_count = INT64_C(1) << 24, most_bytes = INT64_C(1) << 40;

static int64_t number_in(const char *text, int64_t most)
{
    long long number = strtoll(text, NULL, 10);
    return number < -1 ? -1 : number > most ? most : number;
}

static int64_t fact_number(const struct ss_training_facts *facts, const char *key)
{
    const char *text = fact_text(facts, key);
    return text != NULL ? number_in(text, most_count) : -1;
}

/* Steady-state steps of the process that ended in [from, to). */
static size_t steps_ended(const struct ss_step_summary *steps, uint32_t process, uint64_t from_ns,
                          uint64_t to_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        count += step->process == process && step->kind == SS_STEP_STEADY &&
                 step->end_ns >= from_ns && step->end_ns < to_ns;
    }
    return count;
}

/* When the process next recorded the key; UINT64_MAX: never. */
static uint64_t next_note_ns(const struct ss_model *model, const struct ss_model_note *note,
                             const char *key)
{
    uint64_t next_ns = UINT64_MAX;
    struct ss_note_ids notes = ss_notes_of_process(model, note->process);
    for (size_t i = 0; i < notes.count; i++) {
        const struct ss_model_note *other = ss_note_at(model, &notes, i);
        if (other->process == note->process && other->time_ns > note->time_ns &&
            other->time_ns < next_ns && value_of(model, other, key) != NULL) {
            next_ns = other->time_ns;
        }
    }
    return next_ns;
}

/* The value of the loader that most steps follow: a program has other loaders too, for its
 * validation. Many notes are those of many epochs: the last ones suffice. */
static int64_t loader_number(const struct ss_training_facts *facts, const char *key, int64_t most)
{
    enum { MOST_NOTES = 64 };
    const struct ss_model *model = facts->model;
    int64_t number = -1;
    size_t most_steps = 0, examined = 0;
    for (size_t i = model->notes.count; i-- > 0 && examined < MOST_NOTES;) {
        const struct ss_model_note *note = &model->notes.data[i];
        const char *text = value_of(model, note, key);
        if (text == NULL || !ss_training_has_steps(facts, note->process)) {
            continue;
        }
        examined++;
        size_t steps =
            steps_ended(facts->steps, note->process, note->time_ns, next_note_ns(model, note, key));
        if (number < 0 || steps > most_steps) {
            most_steps = steps;
            number = number_in(text, most);
        }
    }
    return number;
}

/* Recordings of version 0.1.0 have the text only. */
static enum ss_operator_route operator_route(const struct ss_training_facts *facts)
{
    int64_t route = fact_number(facts, ss_fact_torch_operator_route);
    return route > 0 && route < SS_ROUTE_COUNT               ? (enum ss_operator_route)route
           : strcmp(facts->operator_source, "callback") == 0 ? SS_ROUTE_CALLBACK
           : strcmp(facts->operator_source, "off") == 0      ? SS_ROUTE_NOT_REQUESTED
                                                             : SS_ROUTE_UNKNOWN;
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void ss_training_settings_find(struct ss_training_facts *facts)
{
    facts->torch_version = text_or_empty(fact_text(facts, ss_fact_torch_version));
    facts->operator_source = text_or_empty(fact_text(facts, ss_fact_torch_operators));
    facts->operator_route = operator_route(facts);
    facts->step_source = text_or_empty(fact_text(facts, ss_fact_torch_steps));
    facts->threads = fact_number(facts, ss_fact_torch_threads);
    facts->uses_cuda = fact_number(facts, ss_fact_torch_cuda) > 0;
    facts->records_gpu = ss_model_has_device_work(facts->model);
    facts->has_anomaly_detection = fact_number(facts, ss_fact_torch_anomaly) > 0;
    facts->has_frozen_model = fact_number(facts, ss_fact_model_frozen) > 0;
    facts->dtype = text_or_empty(fact_text(facts, ss_fact_model_dtype));
    facts->workers = loader_number(facts, ss_fact_loader_workers, most_count);
    facts->batch_size = loader_number(facts, ss_fact_loader_batch_size, most_count);
    facts->batch_bytes = loader_number(facts, ss_fact_loader_batch_bytes, most_bytes);
    facts->batch_tensors = loader_number(facts, ss_fact_loader_batch_tensors, most_count);
}
