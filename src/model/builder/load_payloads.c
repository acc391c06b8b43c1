/* SPDX-License-Identifier: Apache-2.0 */
/* What events carry. Most events of a kind carry the same fields (the launches of one kernel have
 * one grid), so that equal lists are stored once. */
#include <string.h>

#include "model/builder/load_tracks.h"
#include "model/core/index.h"

static struct ss_model_field field_row(struct ss_model *model, const struct ss_event_value *field)
{
    const struct ss_trace_value *value = &field->value;
    struct ss_model_field row = {.field = (uint16_t)field->field, .type = (uint8_t)value->type};
    row.natural = value->natural;
    if (value->type == SS_VALUE_TEXT) {
        row.natural = 0;
        row.text = ss_intern_put(&model->strings, value->text.data, value->text.length);
    } else if (value->type == SS_VALUE_REAL) {
        row.real = value->real;
    }
    return row;
}

static uint64_t hash_list(const struct ss_model_field *list)
{
    uint64_t hash = 0;
    for (; list->field != 0; list++) {
        hash = ss_hash_u64(hash ^ list->natural ^ ((uint64_t)list->field << 48) ^
                           ((uint64_t)list->type << 40));
    }
    return hash;
}

static bool same_list(const struct ss_model_field *a, const struct ss_model_field *b)
{
    for (; a->field == b->field && a->type == b->type && a->natural == b->natural; a++, b++) {
        if (a->field == 0) {
            return true;
        }
    }
    return false;
}

/* Doubles the slots when they are half full; the lists lie one behind the other. */
static void grow(struct ss_model *model, struct ss_slots *slots)
{
    if (!ss_slots_grow(slots)) {
        return;
    }
    for (size_t first = 1; first < model->fields.count;) {
        ss_slots_insert(slots, hash_list(&model->fields.data[first]), (uint32_t)first);
        while (model->fields.data[first].field != 0) {
            first++;
        }
        first++;
    }
}

uint32_t ss_load_put_fields(struct ss_model *model, const struct ss_model_field *list, size_t count)
{
    struct ss_slots *slots = &model->index->field_lists;
    grow(model, slots);
    uint32_t slot = (uint32_t)hash_list(list) & (slots->count - 1);
    for (; slots->ids[slot] != 0; slot = (slot + 1) & (slots->count - 1)) {
        uint32_t first = slots->ids[slot] - 1;
        if (same_list(&model->fields.data[first], list)) {
            return first;
        }
    }
    uint32_t first = (uint32_t)model->fields.count;
    for (size_t i = 0; i <= count; i++) {
        ss_vec_push(&model->fields, list[i]);
    }
    slots->ids[slot] = first + 1;
    slots->used++;
    return first;
}

/* 0: there are none. */
static uint32_t put_fields(struct ss_model *model, const struct ss_trace_event *event)
{
    struct ss_model_field list[SS_MAX_EVENT_FIELDS + 1];
    uint32_t count = event->field_count <= SS_MAX_EVENT_FIELDS ? event->field_count : 0;
    if (count == 0) {
        return 0;
    }
    memset(list, 0, sizeof list);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = field_row(model, &event->fields[i]);
    }
    return ss_load_put_fields(model, list, count);
}

uint32_t ss_load_put_payload(struct ss_model *model, const struct ss_trace_event *event)
{
    const struct ss_trace_value *value = &event->payload;
    if (value->type == SS_VALUE_NONE && event->field_count == 0) {
        return 0;
    }
    struct ss_model_payload row = {
        .type = value->type, .first_field = put_fields(model, event), .natural = value->natural};
    if (value->type == SS_VALUE_TEXT) {
        row.natural = 0;
        row.text = ss_intern_put(&model->strings, value->text.data, value->text.length);
    } else if (value->type == SS_VALUE_REAL) {
        row.real = value->real;
    }
    ss_vec_push(&model->payloads, row);
    return (uint32_t)model->payloads.count - 1;
}
