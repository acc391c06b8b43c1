/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/allocation_events.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/memory/allocations.h"
#include "base/alloc.h"
#include "model/core/domains.h"

/* What a mark's name says; also for all marks of other names. */
struct kinds {
    uint8_t *of_name; /* by name: enum ss_allocation_event_kind + 1; 0: none */
    uint8_t *category;
};

/* By the kind of the name, else by its text on the track of allocations. */
static uint8_t kind_of(const struct ss_model *model, const struct ss_model_name *name)
{
    const char *text = ss_model_text(model, name->text);
    if (strcmp(text, SS_MARK_ALLOCATED_BEFORE) == 0) {
        return 1 + SS_ALLOCATION_EVENT_BEFORE;
    }
    return name->type == SS_EVENT_TYPE_allocation      ? 1 + SS_ALLOCATION_EVENT_BYTES
           : strcmp(text, SS_MARK_SEGMENT) == 0        ? 1 + SS_ALLOCATION_EVENT_SEGMENT
           : strcmp(text, SS_MARK_SEGMENT_BEFORE) == 0 ? 1 + SS_ALLOCATION_EVENT_SEGMENT_BEFORE
           : strcmp(text, SS_MARK_OUT_OF_MEMORY) == 0  ? 1 + SS_ALLOCATION_EVENT_FAILURE
                                                       : 0;
}

static uint8_t category_of(const char *text)
{
    for (uint8_t i = 0; i < SS_ALLOCATION_CATEGORIES; i++) {
        if (strcmp(text, ss_allocation_category_text((enum ss_allocation_category)i)) == 0) {
            return (uint8_t)(i + 1);
        }
    }
    return 0;
}

static void kinds_init(struct kinds *kinds, const struct ss_model *model)
{
    kinds->of_name = ss_alloc_zero(model->names.count + 1, sizeof *kinds->of_name);
    kinds->category = ss_alloc_zero(model->names.count + 1, sizeof *kinds->category);
    for (size_t i = 0; i < model->names.count; i++) {
        const struct ss_model_name *name = &model->names.data[i];
        kinds->of_name[i] = kind_of(model, name);
        kinds->category[i] = category_of(ss_model_text(model, name->category));
    }
}

static void kinds_fini(struct kinds *kinds)
{
    ss_free(kinds->of_name);
    ss_free(kinds->category);
}

static bool is_event(const struct ss_model *model, const struct kinds *kinds,
                     const struct ss_model_mark *mark)
{
    const struct ss_model_track *track = &model->tracks.data[mark->track];
    return kinds->of_name[mark->name] != 0 &&
           strcmp(ss_model_text(model, track->name), SS_DOMAIN_MEMORY) == 0;
}

bool ss_model_has_allocations(const struct ss_model *model)
{
    struct kinds kinds;
    bool has_any = false;
    kinds_init(&kinds, model);
    for (size_t i = 0; i < model->marks.count && !has_any; i++) {
        has_any = is_event(model, &kinds, &model->marks.data[i]);
    }
    kinds_fini(&kinds);
    return has_any;
}

static bool payload_integer(const struct ss_model *model, uint32_t payload, int64_t *integer)
{
    const struct ss_model_payload *row = &model->payloads.data[payload];
    if (payload == 0 || (row->type != SS_VALUE_INT && row->type != SS_VALUE_UINT) ||
        row->integer == INT64_MIN) {
        return false;
    }
    *integer = row->integer;
    return true;
}

static void read_fields(const struct ss_model *model, const struct ss_model_mark *mark,
                        struct ss_allocation_event *event)
{
    uint32_t first = model->payloads.data[mark->payload].first_field;
    for (uint32_t i = first; first != 0 && model->fields.data[i].field != 0; i++) {
        const struct ss_model_field *field = &model->fields.data[i];
        switch (field->field) {
        case SS_EVENT_FIELD_address:
            event->address = field->natural;
            event->has_address = true;
            break;
        case SS_EVENT_FIELD_allocated_bytes:
            event->has_totals = true;
            break;
        case SS_EVENT_FIELD_device:
            event->device = field->natural < model->devices.count ? (uint32_t)field->natural : 0;
            break;
        default:
            break;
        }
    }
}

static int compare(const void *left, const void *right)
{
    const struct ss_allocation_event *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    bool a_is_late = a->kind >= SS_ALLOCATION_EVENT_BYTES;
    bool b_is_late = b->kind >= SS_ALLOCATION_EVENT_BYTES;
    if (a_is_late != b_is_late) {
        return a_is_late ? 1 : -1;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->mark < b->mark ? -1 : a->mark > b->mark;
}

void ss_allocation_events_init(struct ss_allocation_events *events,
                               const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct kinds kinds;
    *events = (struct ss_allocation_events){0};
    kinds_init(&kinds, model);
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_model_track *track = &model->tracks.data[mark->track];
        struct ss_allocation_event event = {.time_ns = mark->time_ns,
                                            .process = track->process,
                                            .mark = (uint32_t)i,
                                            .category = kinds.category[mark->name]};
        if (!is_event(model, &kinds, mark) || !selection->processes[track->process] ||
            !payload_integer(model, mark->payload, &event.bytes)) {
            continue;
        }
        event.kind = (uint8_t)(kinds.of_name[mark->name] - 1);
        read_fields(model, mark, &event);
        ss_vec_push(&events->rows, event);
    }
    if (events->rows.count > 0) {
        qsort(events->rows.data, events->rows.count, sizeof *events->rows.data, compare);
    }
    kinds_fini(&kinds);
}

void ss_allocation_events_fini(struct ss_allocation_events *events)
{
    ss_vec_fini(&events->rows);
}

static const struct ss_model_field *field_of(const struct ss_model *model,
                                             const struct ss_allocation_event *event,
                                             enum ss_event_field_id field)
{
    return ss_model_field_of(model, model->marks.data[event->mark].payload, field);
}

uint64_t ss_allocation_event_natural(const struct ss_model *model,
                                     const struct ss_allocation_event *event,
                                     enum ss_event_field_id field)
{
    const struct ss_model_field *row = field_of(model, event, field);
    bool is_negative =
        row != NULL && row->integer < 0 && field == SS_EVENT_FIELD_bytes; /* of a failure */
    return row != NULL && !is_negative ? row->natural : 0;
}

uint32_t ss_allocation_event_stack(const struct ss_model *model,
                                   const struct ss_allocation_event *event)
{
    const struct ss_model_field *row = field_of(model, event, SS_EVENT_FIELD_stack);
    return row != NULL && row->type == SS_VALUE_TEXT ? row->text : 0;
}

uint32_t ss_allocation_event_thread(const struct ss_model *model,
                                    const struct ss_allocation_event *event)
{
    return model->tracks.data[model->marks.data[event->mark].track].thread;
}
