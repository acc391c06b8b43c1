/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of events: typed fields under the names that Kineto has for them. */
#include "base/event_types.h"
#include "view/export/kineto_inside.h"
#include "view/output/json_text.h"

enum how {
    UNKNOWN_TO_KINETO, /* under its own name */
    NUMBER,
    TEXT,
    LIST,
    FRAMES,
    DEVICE,
    STREAM,
    CONTEXT,
    AXES,   /* of a grid: the field and the two after it */
    DERIVED /* from names or other fields */
};

static const struct argument {
    const char *key;
    enum how how;
} arguments_known[SS_EVENT_FIELD_COUNT] = {
    [SS_EVENT_FIELD_device] = {"device", DEVICE},
    [SS_EVENT_FIELD_context] = {"context", CONTEXT},
    [SS_EVENT_FIELD_stream] = {"stream", STREAM},
    [SS_EVENT_FIELD_waits_for_stream] = {"wait_on_stream", STREAM},
    [SS_EVENT_FIELD_external_id] = {"External id", NUMBER},
    [SS_EVENT_FIELD_recorded_by] = {"wait_on_cuda_event_record_corr_id", NUMBER},
    [SS_EVENT_FIELD_correlation] = {"correlation", NUMBER},
    [SS_EVENT_FIELD_bytes] = {"bytes", NUMBER},
    [SS_EVENT_FIELD_grid_x] = {"grid", AXES},
    [SS_EVENT_FIELD_grid_y] = {"grid", DERIVED},
    [SS_EVENT_FIELD_grid_z] = {"grid", DERIVED},
    [SS_EVENT_FIELD_block_x] = {"block", AXES},
    [SS_EVENT_FIELD_block_y] = {"block", DERIVED},
    [SS_EVENT_FIELD_block_z] = {"block", DERIVED},
    [SS_EVENT_FIELD_registers] = {"registers per thread", NUMBER},
    [SS_EVENT_FIELD_shared_bytes] = {"shared memory", NUMBER},
    [SS_EVENT_FIELD_blocks_per_sm] = {"blocks per SM", NUMBER},
    [SS_EVENT_FIELD_warps_per_sm] = {"warps per SM", NUMBER},
    [SS_EVENT_FIELD_occupancy] = {"est. achieved occupancy %", NUMBER},
    [SS_EVENT_FIELD_graph] = {"graph id", NUMBER},
    [SS_EVENT_FIELD_graph_node] = {"graph node id", NUMBER},
    [SS_EVENT_FIELD_group] = {"", DERIVED},
    [SS_EVENT_FIELD_from_memory] = {"", DERIVED},
    [SS_EVENT_FIELD_to_memory] = {"", DERIVED},
    [SS_EVENT_FIELD_sequence] = {"Sequence number", NUMBER},
    [SS_EVENT_FIELD_forward_thread] = {"Fwd thread id", NUMBER},
    [SS_EVENT_FIELD_shapes] = {"Input Dims", LIST},
    [SS_EVENT_FIELD_input_types] = {"Input type", LIST},
    [SS_EVENT_FIELD_strides] = {"Input Strides", LIST},
    [SS_EVENT_FIELD_inputs] = {"Concrete Inputs", LIST},
    [SS_EVENT_FIELD_stack] = {"Call stack", FRAMES},
    [SS_EVENT_FIELD_collective] = {"Collective name", TEXT},
    [SS_EVENT_FIELD_datatype] = {"dtype", TEXT},
    [SS_EVENT_FIELD_elements] = {"In msg nelems", NUMBER},
    [SS_EVENT_FIELD_group_size] = {"Group size", NUMBER},
    [SS_EVENT_FIELD_address] = {"Addr", NUMBER},
    [SS_EVENT_FIELD_allocated_bytes] = {"Total Allocated", NUMBER},
    [SS_EVENT_FIELD_reserved_bytes] = {"Total Reserved", NUMBER},
};

void ss_kineto_begin_arguments(struct ss_kineto_arguments *arguments,
                               struct ss_kineto_values *values, struct ss_sink *sink)
{
    *arguments =
        (struct ss_kineto_arguments){.values = values, .sink = sink, .model = values->model};
}

static void put_key(struct ss_kineto_arguments *arguments, const char *key)
{
    ss_sink_text(arguments->sink, arguments->has_any ? ",\"" : ",\"args\":{\"");
    ss_sink_text(arguments->sink, key);
    ss_sink_text(arguments->sink, "\":");
    arguments->has_any = true;
}

void ss_kineto_end_arguments(struct ss_kineto_arguments *arguments)
{
    ss_sink_text(arguments->sink, arguments->has_any ? "}}" : "}");
}

void ss_kineto_put_integer(struct ss_kineto_arguments *arguments, const char *key, int64_t number)
{
    put_key(arguments, key);
    ss_json_write_integer(arguments->sink, number);
}

void ss_kineto_put_null(struct ss_kineto_arguments *arguments, const char *key)
{
    put_key(arguments, key);
    ss_sink_text(arguments->sink, "null");
}

/* --- values ----------------------------------------------------------------------------------- */

/* Of a payload or a field. */
struct value {
    uint8_t type; /* enum ss_value_type */
    uint64_t natural;
    double real;
};

static struct value value_of_field(const struct ss_model_field *field)
{
    return field->type == SS_VALUE_REAL   ? (struct value){field->type, 0, field->real}
           : field->type == SS_VALUE_TEXT ? (struct value){field->type, field->text, 0}
                                          : (struct value){field->type, field->natural, 0};
}

static struct value value_of_payload(const struct ss_model_payload *payload)
{
    uint8_t type = (uint8_t)payload->type;
    return type == SS_VALUE_REAL   ? (struct value){type, 0, payload->real}
           : type == SS_VALUE_TEXT ? (struct value){type, payload->text, 0}
                                   : (struct value){type, payload->natural, 0};
}

static void put_value(struct ss_kineto_arguments *arguments, const struct value *value)
{
    struct ss_sink *sink = arguments->sink;
    switch ((enum ss_value_type)value->type) {
    case SS_VALUE_INT:
        ss_json_write_integer(sink, (int64_t)value->natural);
        break;
    case SS_VALUE_UINT:
        ss_json_write_natural(sink, value->natural);
        break;
    case SS_VALUE_REAL:
        ss_json_write_real(sink, value->real);
        break;
    case SS_VALUE_TEXT:
        ss_json_write_plain(sink,
                            ss_intern_get(&arguments->model->strings, (uint32_t)value->natural));
        break;
    case SS_VALUE_NONE:
        ss_sink_text(sink, "null");
        break;
    }
}

/* "[2,1,1]" of a field and the two after it. */
static void put_axes(struct ss_kineto_arguments *arguments, uint32_t payload, uint32_t first)
{
    ss_sink_text(arguments->sink, "[");
    for (uint32_t i = 0; i < 3; i++) {
        const struct ss_model_field *field =
            ss_model_field_of(arguments->model, payload, first + i);
        ss_sink_text(arguments->sink, i > 0 ? "," : "");
        ss_json_write_natural(arguments->sink, field != NULL ? field->natural : 1);
    }
    ss_sink_text(arguments->sink, "]");
}

static int64_t number_of_entity(const struct ss_model *model, enum how how, uint64_t row)
{
    return how == DEVICE ? (row < model->devices.count ? model->devices.data[row].number : -1)
           : how == STREAM
               ? (row < model->streams.count ? (int64_t)model->streams.data[row].number : -1)
               : (row < model->contexts.count ? (int64_t)model->contexts.data[row].number : -1);
}

static void put_field(struct ss_kineto_arguments *arguments, uint32_t payload, uint32_t field,
                      const struct value *value)
{
    const struct argument *argument = &arguments_known[field];
    uint64_t *seen = &arguments->seen[field / 64];
    if (argument->how == DERIVED || (*seen >> field % 64 & 1) != 0) {
        return;
    }
    *seen |= UINT64_C(1) << field % 64;
    put_key(arguments, argument->key != NULL ? argument->key : ss_model_field_name(field));
    bool is_text = value->type == SS_VALUE_TEXT;
    switch (argument->how) {
    case LIST:
    case FRAMES:
        if (is_text && argument->how == LIST) {
            ss_kineto_write_list(arguments->values, arguments->sink, (uint32_t)value->natural);
        } else if (is_text) {
            ss_kineto_write_frames(arguments->values, arguments->sink, (uint32_t)value->natural);
        } else {
            put_value(arguments, value);
        }
        break;
    case DEVICE:
    case STREAM:
    case CONTEXT:
        ss_json_write_integer(arguments->sink,
                              number_of_entity(arguments->model, argument->how, value->natural));
        break;
    case AXES:
        put_axes(arguments, payload, field);
        break;
    default:
        put_value(arguments, value);
    }
}

/* --- payloads --------------------------------------------------------------------------------- */

/* The field for which the payload stands; NONE: it is the program's own. */
static enum ss_event_field_id field_of_payload(enum ss_event_type type, enum ss_kineto_kind kind,
                                               bool is_imported)
{
    enum ss_event_field_id field = ss_event_types[type].payload;
    return field != SS_EVENT_FIELD_NONE                  ? field
           : kind == SS_KINETO_API                       ? SS_EVENT_FIELD_correlation
           : kind == SS_KINETO_ANNOTATION && is_imported ? SS_EVENT_FIELD_sequence
                                                         : SS_EVENT_FIELD_NONE;
}

static void put_shared_memory(struct ss_kineto_arguments *arguments, uint32_t payload)
{
    const struct ss_model *model = arguments->model;
    const struct ss_model_field *of_kernel =
        ss_model_field_of(model, payload, SS_EVENT_FIELD_static_shared_bytes);
    const struct ss_model_field *of_launch =
        ss_model_field_of(model, payload, SS_EVENT_FIELD_dynamic_shared_bytes);
    bool is_known = ss_model_field_of(model, payload, SS_EVENT_FIELD_shared_bytes) != NULL;
    if (!is_known && (of_kernel != NULL || of_launch != NULL)) {
        put_key(arguments, "shared memory");
        ss_json_write_natural(arguments->sink, (of_kernel != NULL ? of_kernel->natural : 0) +
                                                   (of_launch != NULL ? of_launch->natural : 0));
    }
}

void ss_kineto_put_payload(struct ss_kineto_arguments *arguments, uint32_t payload,
                           enum ss_event_type type, enum ss_kineto_kind kind, bool is_imported)
{
    const struct ss_model_payload *row = &arguments->model->payloads.data[payload];
    if (kind == SS_KINETO_KERNEL) {
        ss_kineto_put_integer(arguments, "queued", 0);
        put_shared_memory(arguments, payload);
    }
    if (row->type != SS_VALUE_NONE) {
        struct value value = value_of_payload(row);
        enum ss_event_field_id field = field_of_payload(type, kind, is_imported);
        if (field != SS_EVENT_FIELD_NONE) {
            put_field(arguments, payload, field, &value);
        } else {
            put_key(arguments, "payload");
            put_value(arguments, &value);
        }
    }
    const struct ss_model_field *field = &arguments->model->fields.data[row->first_field];
    for (; field->field != 0; field++) {
        if (field->field < SS_EVENT_FIELD_COUNT && ss_event_fields[field->field].name != NULL) {
            struct value value = value_of_field(field);
            put_field(arguments, payload, field->field, &value);
        }
    }
}

void ss_kineto_put_bandwidth(struct ss_kineto_arguments *arguments, uint32_t payload,
                             uint64_t duration_ns)
{
    const struct ss_model_payload *row = &arguments->model->payloads.data[payload];
    if (row->type == SS_VALUE_INT && row->integer >= 0 && duration_ns > 0) {
        put_key(arguments, "memory bandwidth (GB/s)");
        ss_json_write_real(arguments->sink, (double)row->integer / (double)duration_ns);
    }
}
