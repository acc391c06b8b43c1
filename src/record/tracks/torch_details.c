/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracks/torch_details.h"

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "base/strbuf.h"
#include "trace/event_fields.h"

enum { MOST_DETAIL_BYTES = 64 * 1024, MOST_LIST_BYTES = 15 * 1024, GRID_AXES = 3 };

/* Members, and the fields that they become. An array has a field for each of its first numbers. */
static const struct member {
    const char *key;
    uint32_t fields[GRID_AXES];
} members_of_calls[] = {{"flops", {SS_EVENT_FIELD_flops}}};

static const struct member members_of_devices[] = {
    {"bytes", {SS_EVENT_FIELD_bytes}},
    {"grid", {SS_EVENT_FIELD_grid_x, SS_EVENT_FIELD_grid_y, SS_EVENT_FIELD_grid_z}},
    {"block", {SS_EVENT_FIELD_block_x, SS_EVENT_FIELD_block_y, SS_EVENT_FIELD_block_z}},
    {"registers per thread", {SS_EVENT_FIELD_registers}},
    {"shared memory", {SS_EVENT_FIELD_shared_bytes}},
    {"blocks per SM", {SS_EVENT_FIELD_blocks_per_sm}},
    {"warps per SM", {SS_EVENT_FIELD_warps_per_sm}},
    {"est. achieved occupancy %", {SS_EVENT_FIELD_occupancy}},
    {"graph id", {SS_EVENT_FIELD_graph}},
    {"graph node id", {SS_EVENT_FIELD_graph_node}},
    {"Collective name", {SS_EVENT_FIELD_collective}},
    {"Group size", {SS_EVENT_FIELD_group_size}},
    {"In msg nelems", {SS_EVENT_FIELD_elements}},
    {"dtype", {SS_EVENT_FIELD_datatype}},
    {"Seq", {SS_EVENT_FIELD_sequence}},
};
#define COUNT_OF(rows) (sizeof(rows) / sizeof *(rows))

/* --- reading ---------------------------------------------------------------------------------- */

/* NULL: it is none, or longer than texts of fields: what is cut from it would be no list. */
static char *text_of(const json_t *list)
{
    char *text = json_is_array(list) ? json_dumps(list, JSON_COMPACT) : NULL;
    if (text != NULL && strlen(text) > MOST_LIST_BYTES) {
        ss_free(text);
        text = NULL;
    }
    return text;
}

/* The outermost frames are left out where all are too long. */
static char *stack_of(json_t *list)
{
    char *text = text_of(list);
    while (text == NULL && json_array_size(list) > 1) {
        size_t frames = json_array_size(list) * 3 / 4;
        while (json_array_size(list) > frames) {
            json_array_remove(list, json_array_size(list) - 1);
        }
        text = text_of(list);
    }
    return text;
}

void ss_torch_details_read(struct ss_torch_details *details, struct ss_strview members)
{
    struct ss_strbuf text;
    details->is_read = true;
    if (members.length == 0 || members.length > MOST_DETAIL_BYTES) {
        return;
    }
    ss_strbuf_init(&text, MOST_DETAIL_BYTES + 3);
    ss_strbuf_append_char(&text, '{');
    ss_strbuf_append_view(&text, members);
    ss_strbuf_append_char(&text, '}');
    details->object = json_loadb(text.data, text.length, 0, NULL);
    ss_strbuf_fini(&text);
    details->shapes = text_of(json_object_get(details->object, "shapes"));
    details->types = text_of(json_object_get(details->object, "types"));
    details->inputs = text_of(json_object_get(details->object, "inputs"));
    details->stack = stack_of(json_object_get(details->object, "stack"));
}

void ss_torch_details_fini(struct ss_torch_details *details)
{
    json_decref(details->object);
    ss_free(details->shapes);
    ss_free(details->types);
    ss_free(details->inputs);
    ss_free(details->stack);
    *details = (struct ss_torch_details){0};
}

struct ss_strview ss_torch_details_group(const struct ss_torch_details *details, uint32_t *size)
{
    const char *name = json_string_value(json_object_get(details->object, "Process Group Name"));
    json_int_t number = json_integer_value(json_object_get(details->object, "Group size"));
    *size = number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
    return ss_strview_of(name != NULL ? name : "");
}

/* --- fields ----------------------------------------------------------------------------------- */

struct adding {
    struct ss_event_value *fields;
    uint32_t count;
};

static void add(struct adding *adding, uint32_t field, struct ss_trace_value value)
{
    if (adding->count < SS_MAX_EVENT_FIELDS) {
        adding->fields[adding->count++] = (struct ss_event_value){field, value};
    }
}

static void add_text(struct adding *adding, uint32_t field, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        add(adding, field, (struct ss_trace_value){SS_VALUE_TEXT, {.text = ss_strview_of(text)}});
    }
}

/* As the field's type has it. 0 stands for "unknown". */
static void add_number(struct adding *adding, uint32_t field, json_int_t number)
{
    if (ss_event_fields[field].type == SS_VALUE_INT && number != 0) {
        add(adding, field, (struct ss_trace_value){SS_VALUE_INT, {.integer = number}});
    } else if (ss_event_fields[field].type == SS_VALUE_UINT && number > 0) {
        add(adding, field, (struct ss_trace_value){SS_VALUE_UINT, {.natural = (uint64_t)number}});
    }
}

static void add_json(struct adding *adding, uint32_t field, const json_t *value)
{
    if (ss_event_fields[field].type == SS_VALUE_TEXT) {
        add_text(adding, field, json_string_value(value));
    } else if (ss_event_fields[field].type == SS_VALUE_REAL && json_number_value(value) > 0) {
        add(adding, field,
            (struct ss_trace_value){SS_VALUE_REAL, {.real = json_number_value(value)}});
    } else {
        add_number(adding, field, json_integer_value(value));
    }
}

static void add_members(struct adding *adding, const json_t *object, const struct member *members,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, members[i].key);
        for (size_t axis = 0; axis < GRID_AXES && members[i].fields[axis] != 0; axis++) {
            bool is_list = json_is_array(value);
            if (is_list || axis == 0) {
                add_json(adding, members[i].fields[axis],
                         is_list ? json_array_get(value, axis) : value);
            }
        }
    }
}

static void add_of_device(struct adding *adding, const struct ss_torch_details *details,
                          enum ss_event_type type, struct ss_strview name)
{
    add_members(adding, details->object, members_of_devices, COUNT_OF(members_of_devices));
    if (type == SS_EVENT_TYPE_copy || type == SS_EVENT_TYPE_memset) {
        struct ss_device_memories memories = ss_device_memories_of(name);
        add_text(adding, SS_EVENT_FIELD_from_memory, memories.from);
        add_text(adding, SS_EVENT_FIELD_to_memory, memories.to);
    }
}

uint32_t ss_torch_details_fields(const struct ss_torch_details *details,
                                 const struct ss_torch_range *range, enum ss_event_type type,
                                 struct ss_strview name, struct ss_event_value *fields)
{
    struct adding adding = {.fields = fields};
    add_text(&adding, SS_EVENT_FIELD_shapes, details->shapes);
    add_text(&adding, SS_EVENT_FIELD_input_types, details->types);
    add_text(&adding, SS_EVENT_FIELD_inputs, details->inputs);
    add_members(&adding, details->object, members_of_calls, COUNT_OF(members_of_calls));
    add_text(&adding, SS_EVENT_FIELD_stack, details->stack);
    add_number(&adding, SS_EVENT_FIELD_cpu_bytes, range->cpu_bytes);
    add_number(&adding, SS_EVENT_FIELD_device_bytes, range->device_bytes);
    if (range->kind == SS_TORCH_DEVICE) {
        add_of_device(&adding, details, type, name);
    }
    if (range->correlation != 0) {
        add(&adding, SS_EVENT_FIELD_correlation,
            (struct ss_trace_value){SS_VALUE_UINT, {.natural = range->correlation}});
    }
    return adding.count;
}
