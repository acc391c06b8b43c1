/* SPDX-License-Identifier: Apache-2.0 */
#include "model/chrome/chrome_fields.h"

#include <string.h>

#include "base/device_api.h"
#include "trace/event_fields.h"

/* How the value of an argument is read. */
enum value {
    AS_NATURAL, /* 0 and more */
    AS_INTEGER,
    AS_REAL,
    AS_TEXT,
    AS_LIST,  /* the JSON as written */
    AS_STACK, /* frames, separated by ';' */
    AS_GRID,  /* three numbers: the field and the two after it */
    AS_PAYLOAD,
    AS_CORRELATION,
    AS_DEVICE,
    AS_STREAM,
    AS_WAITS_FOR,
    AS_CONTEXT,
    AS_GROUP /* the name of a communication group */
};

enum kinds {
    OF_HOST = 1 << SS_CHROME_OPERATOR | 1 << SS_CHROME_ANNOTATION,
    OF_KERNEL = 1 << SS_CHROME_KERNEL,
    OF_COPY = 1 << SS_CHROME_COPY | 1 << SS_CHROME_MEMSET,
    OF_SYNC = 1 << SS_CHROME_DEVICE_SYNC,
    OF_WORK = OF_KERNEL | OF_COPY | OF_SYNC,
    OF_API = 1 << SS_CHROME_API,
    OF_MEMORY = 1 << SS_CHROME_OTHER /* instants */
};

#define KEY(text)                                                                                  \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

static const struct argument {
    struct ss_strview key;
    unsigned kinds;
    enum value value;
    enum ss_event_field_id field;
} arguments_known[] = {
    {KEY("correlation"), OF_WORK | OF_API, AS_CORRELATION, SS_EVENT_FIELD_correlation},
    {KEY("correlationId"), OF_WORK | OF_API, AS_CORRELATION, SS_EVENT_FIELD_correlation},
    {KEY("device"), OF_WORK, AS_DEVICE, SS_EVENT_FIELD_device},
    {KEY("stream"), OF_WORK, AS_STREAM, SS_EVENT_FIELD_stream},
    {KEY("Stream Id"), OF_WORK, AS_STREAM, SS_EVENT_FIELD_stream}, /* Ascend */
    {KEY("context"), OF_WORK, AS_CONTEXT, SS_EVENT_FIELD_context},
    {KEY("around stream"), 1 << SS_CHROME_DEVICE_ANNOTATION, AS_STREAM,
     SS_EVENT_FIELD_stream}, /* ours */
    {KEY("wait_on_stream"), OF_SYNC, AS_WAITS_FOR, SS_EVENT_FIELD_waits_for_stream},
    {KEY("wait_on_cuda_event_record_corr_id"), OF_SYNC, AS_NATURAL, SS_EVENT_FIELD_recorded_by},
    {KEY("grid"), OF_KERNEL, AS_GRID, SS_EVENT_FIELD_grid_x},
    {KEY("block"), OF_KERNEL, AS_GRID, SS_EVENT_FIELD_block_x},
    {KEY("registers per thread"), OF_KERNEL, AS_NATURAL, SS_EVENT_FIELD_registers},
    {KEY("shared memory"), OF_KERNEL, AS_NATURAL, SS_EVENT_FIELD_shared_bytes},
    {KEY("blocks per SM"), OF_KERNEL, AS_REAL, SS_EVENT_FIELD_blocks_per_sm},
    {KEY("warps per SM"), OF_KERNEL, AS_REAL, SS_EVENT_FIELD_warps_per_sm},
    {KEY("est. achieved occupancy %"), OF_KERNEL, AS_REAL, SS_EVENT_FIELD_occupancy},
    {KEY("graph id"), OF_WORK, AS_NATURAL, SS_EVENT_FIELD_graph},
    {KEY("graph node id"), OF_WORK, AS_NATURAL, SS_EVENT_FIELD_graph_node},
    {KEY("bytes"), OF_COPY, AS_PAYLOAD, SS_EVENT_FIELD_bytes},
    {KEY("payload"), OF_COPY, AS_PAYLOAD, SS_EVENT_FIELD_bytes}, /* ours */
    {KEY("Sequence number"), OF_HOST, AS_PAYLOAD, SS_EVENT_FIELD_sequence},
    {KEY("Fwd thread id"), OF_HOST, AS_NATURAL, SS_EVENT_FIELD_forward_thread},
    {KEY("Input Dims"), OF_HOST, AS_LIST, SS_EVENT_FIELD_shapes},
    {KEY("Input dims"), OF_HOST, AS_LIST, SS_EVENT_FIELD_shapes},
    {KEY("Input type"), OF_HOST, AS_LIST, SS_EVENT_FIELD_input_types},
    {KEY("Concrete Inputs"), OF_HOST, AS_LIST, SS_EVENT_FIELD_inputs},
    {KEY("Input Strides"), OF_HOST, AS_LIST, SS_EVENT_FIELD_strides},
    {KEY("Call stack"), OF_HOST, AS_STACK, SS_EVENT_FIELD_stack},
    {KEY("Collective name"), OF_HOST | OF_KERNEL, AS_TEXT, SS_EVENT_FIELD_collective},
    {KEY("dtype"), OF_HOST | OF_KERNEL, AS_TEXT, SS_EVENT_FIELD_datatype},
    {KEY("In msg nelems"), OF_HOST | OF_KERNEL, AS_NATURAL, SS_EVENT_FIELD_elements},
    {KEY("Group size"), OF_HOST | OF_KERNEL, AS_NATURAL, SS_EVENT_FIELD_group_size},
    {KEY("Process Group Name"), OF_KERNEL, AS_GROUP, SS_EVENT_FIELD_group},
    {KEY("Seq"), OF_KERNEL, AS_INTEGER, SS_EVENT_FIELD_sequence},
    {KEY("Bytes"), OF_MEMORY, AS_PAYLOAD, SS_EVENT_FIELD_bytes},
    {KEY("Addr"), OF_MEMORY, AS_NATURAL, SS_EVENT_FIELD_address},
    {KEY("Total Allocated"), OF_MEMORY, AS_NATURAL, SS_EVENT_FIELD_allocated_bytes},
    {KEY("Total Reserved"), OF_MEMORY, AS_NATURAL, SS_EVENT_FIELD_reserved_bytes},
    {KEY("Device Id"), OF_MEMORY, AS_DEVICE, SS_EVENT_FIELD_device},
};

void ss_chrome_fields_add(struct ss_chrome_fields *fields, uint32_t field,
                          struct ss_trace_value value)
{
    if (fields->count < SS_MAX_EVENT_FIELDS) {
        fields->values[fields->count++] = (struct ss_event_value){.field = field, .value = value};
    }
}

static void add_natural(struct ss_chrome_fields *fields, uint32_t field, int64_t number)
{
    if (number >= 0) {
        ss_chrome_fields_add(fields, field,
                             (struct ss_trace_value){SS_VALUE_UINT, {.natural = (uint64_t)number}});
    }
}

static void add_text(struct ss_chrome_fields *fields, uint32_t field, struct ss_strview text)
{
    if (text.length > 0) {
        ss_chrome_fields_add(fields, field, (struct ss_trace_value){SS_VALUE_TEXT, {.text = text}});
    }
}

/* "[2, 1, 1]" as x, y and z. */
static void add_grid(struct ss_chrome_fields *fields, uint32_t first, struct ss_strview list)
{
    struct ss_json_cursor cursor = {list.data, list.data + list.length};
    struct ss_strview token;
    if (ss_json_peek(&cursor) != SS_JSON_ARRAY) {
        return;
    }
    cursor.at++;
    for (uint32_t i = 0; i < 3 && ss_json_peek(&cursor) == SS_JSON_NUMBER; i++) {
        int64_t number;
        if (ss_json_read_token(&cursor, &token) == SS_JSON_OK &&
            ss_json_decimal(token, 0, &number)) {
            add_natural(fields, first + i, number);
        }
    }
}

/* Frames as a JSON list; they keep their escapes. */
static struct ss_strview stack_list(struct ss_chrome_rows *rows, struct ss_strview frames)
{
    struct ss_strbuf *list = &rows->stack;
    if (frames.length == 0) {
        return (struct ss_strview){"", 0};
    }
    const char *at = frames.data, *end = at + frames.length;
    ss_strbuf_clear(list);
    while (at < end) {
        const char *next = memchr(at, ';', (size_t)(end - at));
        next = next != NULL ? next : end;
        ss_strbuf_append_text(list, list->length == 0 ? "[\"" : "\",\"");
        ss_strbuf_append(list, at, (size_t)(next - at));
        at = next + 1;
    }
    if (list->length > 0) {
        ss_strbuf_append_text(list, "\"]");
    }
    return list->overflow ? (struct ss_strview){"", 0}
                          : (struct ss_strview){list->data, list->length};
}

static void set_number(struct ss_chrome_fields *fields, const struct argument *argument,
                       int64_t number)
{
    switch (argument->value) {
    case AS_DEVICE:
        fields->device = number;
        break;
    case AS_STREAM:
        fields->stream = number;
        break;
    case AS_WAITS_FOR:
        fields->waits_for = number;
        break;
    case AS_CONTEXT:
        fields->context = number;
        break;
    case AS_PAYLOAD:
        fields->payload = (struct ss_trace_value){SS_VALUE_INT, {.integer = number}};
        break;
    case AS_INTEGER:
        ss_chrome_fields_add(fields, argument->field,
                             (struct ss_trace_value){SS_VALUE_INT, {.integer = number}});
        break;
    default:
        add_natural(fields, argument->field, number);
    }
}

/* Copies have their size as payload, other work and calls their correlation. */
static void set_correlation(struct ss_chrome_fields *fields, enum ss_chrome_kind kind,
                            int64_t number)
{
    if (number < 0) {
        return;
    }
    fields->has_correlation = true;
    fields->correlation = (uint64_t)number;
    if (kind == SS_CHROME_COPY || kind == SS_CHROME_MEMSET) {
        add_natural(fields, SS_EVENT_FIELD_correlation, number);
    } else {
        fields->payload = (struct ss_trace_value){SS_VALUE_UINT, {.natural = (uint64_t)number}};
    }
}

static void read_argument(struct ss_chrome_rows *rows, enum ss_chrome_kind kind,
                          const struct argument *argument, struct ss_strview value,
                          struct ss_chrome_fields *fields)
{
    int64_t number;
    double real;
    if (value.length == 0) {
        return;
    }
    if (argument->value == AS_LIST) {
        add_text(fields, argument->field,
                 value.data[0] == '[' && value.length > 2 ? value : (struct ss_strview){"", 0});
    } else if (argument->value == AS_STACK) {
        add_text(fields, argument->field, stack_list(rows, ss_json_string_in(value).raw));
    } else if (argument->value == AS_TEXT) {
        add_text(fields, argument->field, ss_json_string_in(value).raw);
    } else if (argument->value == AS_GROUP) {
        add_natural(fields, argument->field,
                    (int64_t)ss_chrome_group(rows, ss_json_string_in(value).raw));
    } else if (argument->value == AS_GRID) {
        add_grid(fields, argument->field, value);
    } else if (argument->value == AS_REAL) {
        if (ss_json_real(value, &real)) {
            ss_chrome_fields_add(fields, argument->field,
                                 (struct ss_trace_value){SS_VALUE_REAL, {.real = real}});
        }
    } else if (ss_json_integer_in(value, &number)) {
        if (argument->value == AS_CORRELATION) {
            set_correlation(fields, kind, number);
        } else {
            set_number(fields, argument, number);
        }
    }
}

static const struct argument *argument_of(enum ss_chrome_kind kind, struct ss_strview key)
{
    for (size_t i = 0; i < sizeof arguments_known / sizeof *arguments_known; i++) {
        const struct argument *argument = &arguments_known[i];
        if ((argument->kinds >> kind & 1) != 0 && ss_strview_equal(key, argument->key)) {
            return argument;
        }
    }
    return NULL;
}

/* Texts of one event must outlive each other. */
static struct ss_strview kept_text(struct ss_chrome_rows *rows, struct ss_strview value)
{
    struct ss_strview text = ss_chrome_unescaped(rows, ss_json_string_in(value));
    uint32_t id = ss_intern_put(&rows->texts, text.data, text.length);
    return ss_intern_get(&rows->texts, id);
}

/* A field under our own name, as our exports have it. */
static void read_own(struct ss_chrome_rows *rows, struct ss_strview key, struct ss_strview value,
                     struct ss_chrome_fields *fields)
{
    enum ss_event_field_id field = ss_event_field_named(key);
    const struct ss_event_field *known = &ss_event_fields[field];
    bool is_plain = known->entity == SS_SCHEMA_COUNT && field != SS_EVENT_FIELD_correlation;
    int64_t number;
    double real;
    if (field == SS_EVENT_FIELD_NONE || !is_plain) {
        return;
    }
    if (known->type == SS_VALUE_TEXT) {
        add_text(fields, field, kept_text(rows, value));
    } else if (known->type == SS_VALUE_REAL && ss_json_real(value, &real)) {
        ss_chrome_fields_add(fields, field, (struct ss_trace_value){SS_VALUE_REAL, {.real = real}});
    } else if (known->type == SS_VALUE_UINT && ss_json_integer_in(value, &number)) {
        add_natural(fields, field, number);
    } else if (known->type == SS_VALUE_INT && ss_json_integer_in(value, &number)) {
        ss_chrome_fields_add(fields, field,
                             (struct ss_trace_value){SS_VALUE_INT, {.integer = number}});
    }
}

void ss_chrome_fields_read(struct ss_chrome_rows *rows, enum ss_chrome_kind kind,
                           struct ss_strview arguments, struct ss_chrome_fields *fields)
{
    struct ss_json_text key;
    struct ss_strview value;
    fields->count = 0;
    fields->payload.type = SS_VALUE_NONE;
    fields->device = fields->stream = fields->context = fields->waits_for = -1;
    fields->has_correlation = false;
    fields->correlation = 0;
    if (arguments.length < 2 || arguments.data[0] != '{') {
        return;
    }
    struct ss_json_cursor cursor = {arguments.data + 1, arguments.data + arguments.length};
    while (ss_json_next_member(&cursor, &key, &value)) {
        const struct argument *argument = argument_of(kind, key.raw);
        if (argument != NULL) {
            read_argument(rows, kind, argument, value, fields);
        } else if (rows->is_ours) {
            read_own(rows, key.raw, value, fields);
        }
    }
}
