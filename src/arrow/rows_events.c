/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, marks, counters and flows. */
#include <stdio.h>
#include <string.h>

#include "analysis/steps/ranges.h"
#include "arrow/rows_inside.h"

/* --- what an event carries -------------------------------------------------------------------- */

/* The columns that ranges and marks share, in this order; columns of fields follow all others. */
enum event_column {
    EVENT_NAME,
    EVENT_CATEGORY,
    EVENT_KIND,
    EVENT_DOMAIN,
    EVENT_OWNER,
    EVENT_DEVICE = EVENT_OWNER + SS_OWNER_COLUMN_COUNT,
    EVENT_STREAM,
    EVENT_TRACK,
    EVENT_VALUE,
    EVENT_VALUE_INTEGER, /* exact where EVENT_VALUE may be rounded */
    EVENT_VALUE_TEXT,
    EVENT_COLUMNS
};
#define EVENT_KINDS                                                                                \
    {"name", NULL, SS_COLUMN_WORDS}, {"category", NULL, SS_COLUMN_WORDS},                          \
        {"kind", NULL, SS_COLUMN_WORDS}, {"domain", NULL, SS_COLUMN_WORDS}, SS_OWNER_COLUMNS,      \
        {"device_id", NULL, SS_COLUMN_INT32}, {"stream_id", NULL, SS_COLUMN_INT32},                \
        {"track_id", NULL, SS_COLUMN_INT32}, {"value", NULL, SS_COLUMN_FLOAT64},                   \
        {"value_integer", NULL, SS_COLUMN_INT64},                                                  \
    {                                                                                              \
        "value_text", NULL, SS_COLUMN_WORDS                                                        \
    }

struct events {
    const struct ss_model *model;
    struct ss_columns *columns;
    size_t first;                           /* of the shared columns */
    size_t column_of[SS_EVENT_FIELD_COUNT]; /* 0: no event has the field */
};

/* The kind of an event, where its name has none, is that of its track. */
static enum ss_event_type type_of(const struct ss_model_name *name,
                                  const struct ss_model_track *track, bool is_mark)
{
    if (name->type != SS_EVENT_TYPE_NONE) {
        return name->type;
    }
    return is_mark                          ? SS_EVENT_TYPE_instant
           : track->kind == SS_TRACK_STEPS  ? SS_EVENT_TYPE_step
           : track->kind == SS_TRACK_PHASES ? SS_EVENT_TYPE_phase
                                            : SS_EVENT_TYPE_range;
}

static bool is_number(const struct ss_model_payload *payload)
{
    return payload->type == SS_VALUE_INT || payload->type == SS_VALUE_UINT ||
           payload->type == SS_VALUE_REAL;
}

/* Marks the fields of an event. A number without a field stands for that of the event's kind. */
static void mark_fields(const struct ss_model *model, uint32_t payload, enum ss_event_type type,
                        bool *used)
{
    const struct ss_model_payload *row = &model->payloads.data[payload];
    if (payload == 0) {
        return;
    }
    if (is_number(row)) {
        used[ss_event_types[type].payload] = true;
    }
    for (const struct ss_model_field *field = &model->fields.data[row->first_field];
         field->field != 0; field++) {
        used[field->field] = true;
    }
}

/* A column for each field that occurs. Devices and streams have theirs; other entities have the
 * ids of their rows. */
static void add_field_columns(struct events *events, bool *used)
{
    static const enum ss_column_type types[] = {[SS_VALUE_INT] = SS_COLUMN_INT64,
                                                [SS_VALUE_UINT] = SS_COLUMN_INT64,
                                                [SS_VALUE_REAL] = SS_COLUMN_FLOAT64,
                                                [SS_VALUE_TEXT] = SS_COLUMN_WORDS};
    used[SS_EVENT_FIELD_NONE] = false;
    for (size_t i = 0; i < SS_EVENT_FIELD_COUNT; i++) {
        const struct ss_event_field *field = &ss_event_fields[i];
        char key[64];
        if (i == SS_EVENT_FIELD_device || i == SS_EVENT_FIELD_stream || !used[i]) {
            continue;
        }
        bool is_entity = field->entity != SS_SCHEMA_COUNT;
        snprintf(key, sizeof key, "%s%s", field->name, is_entity ? "_id" : "");
        struct ss_column_kind kind = {.key = key,
                                      .unit = field->unit[0] != '\0' ? field->unit : NULL,
                                      .type = is_entity ? SS_COLUMN_INT32 : types[field->type]};
        events->column_of[i] = ss_columns_add(events->columns, &kind);
    }
}

/* Ids, which have no unit, keep their 64 bits: large ones are negative. Figures end at INT64_MAX.
 */
static void put_natural_field(struct events *events, size_t column, enum ss_event_field_id field,
                              uint64_t natural)
{
    if (ss_event_fields[field].unit[0] == '\0') {
        ss_columns_put_integer(events->columns, column, (int64_t)natural);
    } else {
        ss_columns_put_natural(events->columns, column, natural);
    }
}

static void put_field(struct events *events, const struct ss_model_field *field)
{
    size_t column = events->column_of[field->field];
    if (column == 0 || field->type != ss_event_fields[field->field].type) {
        return;
    }
    switch ((enum ss_value_type)field->type) {
    case SS_VALUE_INT:
        ss_columns_put_integer(events->columns, column, field->integer);
        break;
    case SS_VALUE_UINT:
        put_natural_field(events, column, (enum ss_event_field_id)field->field, field->natural);
        break;
    case SS_VALUE_REAL:
        ss_columns_put_real(events->columns, column, field->real);
        break;
    case SS_VALUE_TEXT:
        ss_rows_put_string(events->columns, column, events->model, field->text);
        break;
    case SS_VALUE_NONE:
        break;
    }
}

static void put_value(struct events *events, const struct ss_model_payload *payload)
{
    struct ss_columns *columns = events->columns;
    size_t value = events->first + EVENT_VALUE, integer = events->first + EVENT_VALUE_INTEGER;
    switch (payload->type) {
    case SS_VALUE_INT:
        ss_columns_put_real(columns, value, (double)payload->integer);
        ss_columns_put_integer(columns, integer, payload->integer);
        break;
    case SS_VALUE_UINT:
        ss_columns_put_real(columns, value, (double)payload->natural);
        ss_columns_put_integer(columns, integer, (int64_t)payload->natural); /* its 64 bits */
        break;
    case SS_VALUE_REAL:
        ss_columns_put_real(columns, value, payload->real);
        break;
    case SS_VALUE_TEXT:
        ss_rows_put_string(columns, events->first + EVENT_VALUE_TEXT, events->model, payload->text);
        break;
    case SS_VALUE_NONE:
        break;
    }
}

/* The payload as the field that it stands for; the event has no such field of its own. */
static void put_payload_field(struct events *events, const struct ss_model_payload *payload,
                              enum ss_event_field_id field)
{
    size_t column = events->column_of[field];
    if (column == 0 || !is_number(payload)) {
        return;
    }
    if (ss_event_fields[field].type == SS_VALUE_REAL) {
        double real = payload->type == SS_VALUE_REAL  ? payload->real
                      : payload->type == SS_VALUE_INT ? (double)payload->integer
                                                      : (double)payload->natural;
        ss_columns_put_real(events->columns, column, real);
    } else if (payload->type == SS_VALUE_INT) {
        ss_columns_put_integer(events->columns, column, payload->integer);
    } else if (payload->type == SS_VALUE_UINT) {
        put_natural_field(events, column, field, payload->natural);
    }
}

/* Puts payload and fields; sets device and stream to those that the event names. */
static void put_payload(struct events *events, uint32_t payload, enum ss_event_type type,
                        uint32_t *device, uint32_t *stream)
{
    const struct ss_model *model = events->model;
    const struct ss_model_payload *row = &model->payloads.data[payload];
    enum ss_event_field_id stands_for = ss_event_types[type].payload;
    bool has_own = false;
    if (payload == 0) {
        return;
    }
    put_value(events, row);
    for (const struct ss_model_field *field = &model->fields.data[row->first_field];
         field->field != 0; field++) {
        has_own = has_own || field->field == stands_for;
        *device = field->field == SS_EVENT_FIELD_device ? (uint32_t)field->natural : *device;
        *stream = field->field == SS_EVENT_FIELD_stream ? (uint32_t)field->natural : *stream;
        put_field(events, field);
    }
    if (!has_own) {
        put_payload_field(events, row, stands_for);
    }
}

static void put_event(struct events *events, const struct ss_model_name *name, uint32_t track,
                      uint32_t payload, bool is_mark)
{
    const struct ss_model *model = events->model;
    const struct ss_model_track *row = &model->tracks.data[track];
    struct ss_columns *columns = events->columns;
    size_t first = events->first;
    enum ss_event_type type = type_of(name, row, is_mark);
    uint32_t device = row->device, stream = row->stream;
    ss_rows_put_string(columns, first + EVENT_NAME, model, name->text);
    ss_rows_put_string(columns, first + EVENT_CATEGORY, model, name->category);
    ss_columns_put_word(columns, first + EVENT_KIND, type,
                        ss_strview_of(ss_model_event_type_name(type)));
    if (row->kind == SS_TRACK_RANGES || row->kind == SS_TRACK_ASYNC) {
        ss_rows_put_string(columns, first + EVENT_DOMAIN, model, row->name);
    }
    ss_rows_put_owner(columns, first + EVENT_OWNER, model, row->process, row->thread);
    ss_rows_put_id(columns, first + EVENT_TRACK, track);
    put_payload(events, payload, type, &device, &stream);
    ss_rows_put_id(columns, first + EVENT_DEVICE, device);
    ss_rows_put_id(columns, first + EVENT_STREAM, stream);
}

/* --- ranges ----------------------------------------------------------------------------------- */

enum range_column {
    RANGE_BEGIN,
    RANGE_END,
    RANGE_DURATION,
    RANGE_PATH,
    RANGE_DEPTH,
    RANGE_LANE,
    RANGE_CUT,
    RANGE_EVENT
};

static const struct ss_column_kind range_columns[] = {
    {"begin_ns", "ns", SS_COLUMN_INT64},    {"end_ns", "ns", SS_COLUMN_INT64},
    {"duration_ns", "ns", SS_COLUMN_INT64}, {"path", NULL, SS_COLUMN_WORDS},
    {"depth", NULL, SS_COLUMN_INT32},       {"lane", NULL, SS_COLUMN_INT32},
    {"cut", NULL, SS_COLUMN_BOOLEAN},       EVENT_KINDS};

static bool shows_range(const struct ss_selection *selection, const struct ss_model_range *range)
{
    return (range->flags & SS_RANGE_OUTSIDE) == 0 &&
           ss_selection_has_track(selection, range->track);
}

static const struct ss_model_name *name_of_path(const struct ss_model *model, uint32_t path)
{
    return &model->names.data[model->paths.data[path].name];
}

static void put_path(struct ss_columns *columns, const struct ss_model *model, uint32_t path)
{
    if (!ss_columns_put_again(columns, RANGE_PATH, path)) {
        struct ss_arena arena = {0};
        ss_columns_put_word(columns, RANGE_PATH, path, ss_range_path_text(model, path, &arena));
        ss_arena_fini(&arena);
    }
}

static void put_range(struct events *events, const struct ss_model_range *range)
{
    const struct ss_model *model = events->model;
    struct ss_columns *columns = events->columns;
    ss_columns_add_row(columns);
    ss_columns_put_natural(columns, RANGE_BEGIN, range->begin_ns);
    ss_columns_put_natural(columns, RANGE_END, range->end_ns);
    ss_columns_put_natural(columns, RANGE_DURATION, range->end_ns - range->begin_ns);
    put_path(columns, model, range->path);
    ss_columns_put_integer(columns, RANGE_DEPTH, model->paths.data[range->path].depth);
    ss_rows_put_id(columns, RANGE_LANE, range->lane);
    ss_columns_put_boolean(columns, RANGE_CUT,
                           (range->flags & (SS_RANGE_END_UNSEEN | SS_RANGE_BEGIN_UNSEEN)) != 0);
    put_event(events, name_of_path(model, range->path), range->track, range->payload, false);
}

struct ss_columns *ss_rows_of_ranges(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    bool used[SS_EVENT_FIELD_COUNT] = {false};
    struct events events = {
        .model = model,
        .first = RANGE_EVENT,
        .columns =
            ss_columns_new("ranges", range_columns, sizeof range_columns / sizeof *range_columns)};
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (shows_range(selection, range)) {
            enum ss_event_type type =
                type_of(name_of_path(model, range->path), &model->tracks.data[range->track], false);
            mark_fields(model, range->payload, type, used);
        }
    }
    add_field_columns(&events, used);
    for (size_t i = 0; i < model->ranges.count; i++) {
        if (shows_range(selection, &model->ranges.data[i])) {
            put_range(&events, &model->ranges.data[i]);
        }
    }
    ss_columns_finish(events.columns);
    return events.columns;
}

/* --- marks ------------------------------------------------------------------------------------ */

enum mark_column { MARK_TIME, MARK_EVENT };

static const struct ss_column_kind mark_columns[] = {{"time_ns", "ns", SS_COLUMN_INT64},
                                                     EVENT_KINDS};

struct ss_columns *ss_rows_of_marks(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    bool used[SS_EVENT_FIELD_COUNT] = {false};
    struct events events = {.model = model,
                            .first = MARK_EVENT,
                            .columns = ss_columns_new("marks", mark_columns,
                                                      sizeof mark_columns / sizeof *mark_columns)};
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        const struct ss_model_name *name = &model->names.data[mark->name];
        mark_fields(model, mark->payload, type_of(name, &model->tracks.data[mark->track], true),
                    used);
    }
    add_field_columns(&events, used);
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        if (ss_selection_has_track(selection, mark->track)) {
            ss_columns_add_row(events.columns);
            ss_columns_put_natural(events.columns, MARK_TIME, mark->time_ns);
            put_event(&events, &model->names.data[mark->name], mark->track, mark->payload, true);
        }
    }
    ss_columns_finish(events.columns);
    return events.columns;
}

/* --- counters --------------------------------------------------------------------------------- */

enum counter_column {
    COUNTER_TIME,
    COUNTER_NAME,
    COUNTER_VALUE,
    COUNTER_VALUE_INTEGER,
    COUNTER_UNIT,
    COUNTER_KIND,
    COUNTER_GROUP,
    COUNTER_OWNER,
    COUNTER_DEVICE = COUNTER_OWNER + SS_OWNER_COLUMN_COUNT,
    COUNTER_TRACK
};

static const struct ss_column_kind counter_columns[] = {
    {"time_ns", "ns", SS_COLUMN_INT64},
    {"name", NULL, SS_COLUMN_WORDS},
    {"value", "unit of the row", SS_COLUMN_FLOAT64},
    {"value_integer", "unit of the row", SS_COLUMN_INT64},
    {"unit", NULL, SS_COLUMN_WORDS},
    {"kind", NULL, SS_COLUMN_WORDS},
    {"group", NULL, SS_COLUMN_WORDS},
    SS_OWNER_COLUMNS,
    {"device_id", NULL, SS_COLUMN_INT32},
    {"track_id", NULL, SS_COLUMN_INT32}};

static void put_counter(struct ss_columns *columns, const struct ss_model *model,
                        const struct ss_model_value *value)
{
    static const char *const kinds[SS_COUNTER_KIND_COUNT] = {"gauge", "delta", "cumulative"};
    const struct ss_model_track *track = &model->tracks.data[value->track];
    ss_columns_add_row(columns);
    ss_columns_put_natural(columns, COUNTER_TIME, value->time_ns);
    ss_rows_put_string(columns, COUNTER_NAME, model, track->name);
    ss_columns_put_real(columns, COUNTER_VALUE, ss_model_real(value));
    if (value->is_integer) {
        ss_columns_put_integer(columns, COUNTER_VALUE_INTEGER, value->integer);
    }
    ss_rows_put_string(columns, COUNTER_UNIT, model, track->unit);
    SS_ROWS_PUT_NAME(columns, COUNTER_KIND, kinds, track->counter);
    ss_rows_put_string(columns, COUNTER_GROUP, model, model->tracks.data[track->parent].name);
    ss_rows_put_owner(columns, COUNTER_OWNER, model, track->process, track->thread);
    ss_rows_put_id(columns, COUNTER_DEVICE, track->device);
    ss_rows_put_id(columns, COUNTER_TRACK, value->track);
}

struct ss_columns *ss_rows_of_counters(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_columns *columns = ss_columns_new("counters", counter_columns,
                                                sizeof counter_columns / sizeof *counter_columns);
    for (size_t i = 0; i < model->values.count; i++) {
        if (ss_selection_has_track(selection, model->values.data[i].track)) {
            put_counter(columns, model, &model->values.data[i]);
        }
    }
    ss_columns_finish(columns);
    return columns;
}

/* --- flows ------------------------------------------------------------------------------------ */

enum flow_column { FLOW_ID, FLOW_TIME, FLOW_TRACK, FLOW_LANE, FLOW_END };

static const struct ss_column_kind flow_columns[] = {{"flow", NULL, SS_COLUMN_INT64},
                                                     {"time_ns", "ns", SS_COLUMN_INT64},
                                                     {"track_id", NULL, SS_COLUMN_INT32},
                                                     {"lane", NULL, SS_COLUMN_INT32},
                                                     {"is_end", NULL, SS_COLUMN_BOOLEAN}};

struct ss_columns *ss_rows_of_flows(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_columns *columns =
        ss_columns_new("flows", flow_columns, sizeof flow_columns / sizeof *flow_columns);
    for (size_t i = 0; i < model->flows.count; i++) {
        const struct ss_model_flow *flow = &model->flows.data[i];
        if (ss_selection_has_track(selection, flow->track)) {
            ss_columns_add_row(columns);
            /* An id, not a number: its 64 bits as they are. */
            ss_columns_put_integer(columns, FLOW_ID, (int64_t)flow->id);
            ss_columns_put_natural(columns, FLOW_TIME, flow->time_ns);
            ss_rows_put_id(columns, FLOW_TRACK, flow->track);
            ss_rows_put_id(columns, FLOW_LANE, flow->lane);
            ss_columns_put_boolean(columns, FLOW_END, flow->is_end);
        }
    }
    ss_columns_finish(columns);
    return columns;
}
