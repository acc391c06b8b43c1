/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of Chrome events: payload, typed fields, and where a device operation ran. */
#include <inttypes.h>
#include <math.h>

#include "base/intern.h"
#include "view/export/chrome_build.h"
#include "view/output/json_text.h"

void ss_chrome_write_real(struct ss_sink *sink, double real)
{
    if (isfinite(real)) {
        ss_sink_format(sink, "%.17g", real);
    } else {
        ss_sink_text(sink, "null");
    }
}

/* Of a payload, or of a field, which has no row NONE. */
struct value {
    uint8_t type; /* enum ss_value_type */
    int64_t integer;
    double real;
    uint32_t text;
};

static void write_json_value(struct ss_chrome_writing *writing, const struct value *value)
{
    switch ((enum ss_value_type)value->type) {
    case SS_VALUE_INT:
        ss_sink_format(writing->sink, "%" PRId64, value->integer);
        break;
    case SS_VALUE_UINT:
        ss_sink_format(writing->sink, "%" PRIu64, (uint64_t)value->integer);
        break;
    case SS_VALUE_REAL:
        ss_chrome_write_real(writing->sink, value->real);
        break;
    case SS_VALUE_TEXT:
        ss_json_write_plain(writing->sink,
                            ss_intern_get(&writing->selection->model->strings, value->text));
        break;
    case SS_VALUE_NONE:
        ss_sink_text(writing->sink, "null");
        break;
    }
}

/* The row of a payload or a field as a value. */
#define VALUE_OF(row)                                                                              \
    ((struct value){(uint8_t)(row)->type, (row)->integer,                                          \
                    (row)->type == SS_VALUE_REAL ? (row)->real : 0,                                \
                    (row)->type == SS_VALUE_TEXT ? (row)->text : 0})

/* What a field refers to, as the driver or the program calls it. */
static struct value value_of_field(const struct ss_model *model, const struct ss_model_field *field)
{
    struct value value = VALUE_OF(field);
    uint64_t row = field->natural;
    switch (field->field) {
    case SS_EVENT_FIELD_device:
        value.type = SS_VALUE_INT;
        value.integer = row < model->devices.count ? model->devices.data[row].number : -1;
        break;
    case SS_EVENT_FIELD_context:
        value.integer = row < model->contexts.count ? (int64_t)model->contexts.data[row].number : 0;
        break;
    case SS_EVENT_FIELD_stream:
    case SS_EVENT_FIELD_waits_for_stream:
        value.integer = row < model->streams.count ? (int64_t)model->streams.data[row].number : 0;
        break;
    case SS_EVENT_FIELD_group:
        if (row < model->groups.count && model->groups.data[row].name != 0) {
            value.type = SS_VALUE_TEXT;
            value.text = model->groups.data[row].name;
        }
        break;
    default:
        break;
    }
    return value;
}

/* Arguments of an event; the first one has no comma before it. */
struct arguments {
    struct ss_chrome_writing *writing;
    bool has_any;
};

static void write_argument(struct arguments *arguments, const char *name, const struct value *value)
{
    ss_sink_format(arguments->writing->sink, "%s\"%s\":", arguments->has_any ? "," : "", name);
    write_json_value(arguments->writing, value);
    arguments->has_any = true;
}

/* The payload and the typed fields, by their names. Readers find launches by correlations. */
static void write_payload(struct arguments *arguments, uint32_t payload, enum ss_event_type type)
{
    const struct ss_model *model = arguments->writing->selection->model;
    const struct ss_model_payload *row = &model->payloads.data[payload];
    if (row->type != SS_VALUE_NONE) {
        struct value value = VALUE_OF(row);
        bool is_launch = ss_event_types[type].payload == SS_EVENT_FIELD_correlation &&
                         row->type != SS_VALUE_TEXT && row->type != SS_VALUE_REAL;
        write_argument(arguments, is_launch ? "correlation" : "payload", &value);
    }
    for (const struct ss_model_field *field = &model->fields.data[row->first_field];
         field->field != 0; field++) {
        struct value value = value_of_field(model, field);
        write_argument(arguments, ss_model_field_name(field->field), &value);
    }
}

/* Where device operations ran: of other events, the process is all that readers need. */
static void write_device(struct arguments *arguments, uint32_t track)
{
    const struct ss_model *model = arguments->writing->selection->model;
    const struct ss_model_track *row = &model->tracks.data[track];
    int32_t device = model->devices.data[row->device].number;
    if (row->kind != SS_TRACK_RANGES || row->device == 0 || device < 0) {
        return;
    }
    struct value value = {.type = SS_VALUE_INT, .integer = device};
    write_argument(arguments, "device", &value);
    if (row->stream != 0) {
        value.integer = (int64_t)model->streams.data[row->stream].number;
        write_argument(arguments, "stream", &value);
    }
}

void ss_chrome_write_arguments(struct ss_chrome_writing *writing, uint32_t track, uint32_t payload,
                               enum ss_event_type type, uint8_t flags)
{
    struct arguments arguments = {writing, false};
    ss_sink_text(writing->sink, ",\"args\":{");
    write_payload(&arguments, payload, type);
    if (payload != 0) {
        write_device(&arguments, track);
    }
    if (flags != 0) {
        ss_sink_text(writing->sink, arguments.has_any ? ",\"cut\":true" : "\"cut\":true");
    }
    ss_sink_text(writing->sink, "}");
}
