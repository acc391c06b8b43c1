/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/answer_slice.h"

#include "timeline/answer_names.h"
#include "timeline/answers.h"
#include "timeline/labels.h"
#include "view/output/frame_text.h"
#include "view/output/json_text.h"

enum { MOST_LINKS = 16 /* of each direction */, FIELD_BYTES = 16384, WHERE_BYTES = 2048 };

/* --- references ------------------------------------------------------------------------------- */

static void write_natural(struct ss_sink *sink, const char *key, uint64_t natural)
{
    ss_sink_text(sink, key);
    ss_json_write_natural(sink, natural);
}

/* "rank 3 · stream 7" */
static void write_where(const struct ss_timeline *timeline, const struct ss_timeline_track *track,
                        struct ss_sink *sink)
{
    struct ss_strbuf group, name;
    ss_strbuf_init(&group, WHERE_BYTES);
    ss_strbuf_init(&name, WHERE_BYTES);
    ss_label_append_group(&group, timeline, &timeline->groups.data[track->group]);
    ss_label_append_track(&name, timeline, track);
    ss_strbuf_append_text(&group, " · ");
    ss_strbuf_append(&group, name.data, name.length);
    ss_json_write_plain(sink, (struct ss_strview){group.data, group.length});
    ss_strbuf_fini(&group);
    ss_strbuf_fini(&name);
}

void ss_answer_write_slice(const struct ss_timeline *timeline, uint32_t lane, uint32_t position,
                           size_t name_bytes, struct ss_sink *sink)
{
    uint32_t id = timeline->track_of_lane[lane];
    const struct ss_timeline_track *track = &timeline->tracks.data[id];
    const struct ss_model_range *slice = ss_lane_slice(&timeline->lanes.data[lane], position);
    write_natural(sink, "\"track\":", id);
    write_natural(sink, ",\"lane\":", lane - track->first_lane);
    write_natural(sink, ",\"position\":", position);
    write_natural(sink, ",\"begin_ns\":",
                  slice->begin_ns > track->base_ns ? slice->begin_ns - track->base_ns : 0);
    write_natural(sink, ",\"duration_ns\":", slice->end_ns - slice->begin_ns);
    ss_sink_text(sink, ",\"name\":");
    ss_answer_write_label(timeline, track, slice, name_bytes, sink);
    ss_sink_text(sink, ",\"where\":");
    write_where(timeline, track, sink);
}

static void write_reference(const struct ss_timeline *timeline, uint32_t lane, uint32_t position,
                            struct ss_sink *sink)
{
    ss_sink_text(sink, "{");
    ss_answer_write_slice(timeline, lane, position, SS_LABEL_BYTES, sink);
    ss_sink_text(sink, "}");
}

/* --- what is around and within ---------------------------------------------------------------- */

static uint16_t model_lane(const struct ss_timeline *timeline, uint32_t lane)
{
    const struct ss_lane *row = &timeline->lanes.data[lane];
    return row->count > 0 ? ss_lane_slice(row, 0)->lane : 0;
}

bool ss_answer_inner_lane(const struct ss_timeline *timeline, uint32_t lane, uint32_t *inner)
{
    const struct ss_timeline_track *track = &timeline->tracks.data[timeline->track_of_lane[lane]];
    *inner = lane + 1;
    return *inner < track->first_lane + track->lanes &&
           model_lane(timeline, *inner) == model_lane(timeline, lane);
}

/* The slices around, from the innermost to the outermost. */
static void write_around(const struct ss_timeline *timeline, uint32_t lane,
                         const struct ss_model_range *slice, struct ss_sink *sink)
{
    const struct ss_timeline_track *track = &timeline->tracks.data[timeline->track_of_lane[lane]];
    bool is_first = true;
    ss_sink_text(sink, ",\n\"around\":[");
    for (uint32_t at = lane; at > track->first_lane; at--) {
        const struct ss_lane *outer = &timeline->lanes.data[at - 1];
        if (model_lane(timeline, at - 1) != slice->lane) {
            break;
        }
        uint32_t found = ss_lane_find(outer, slice->begin_ns);
        bool is_around = found < outer->count &&
                         ss_lane_slice(outer, found)->begin_ns <= slice->begin_ns &&
                         ss_lane_slice(outer, found)->end_ns >= slice->end_ns;
        if (is_around) {
            ss_sink_text(sink, is_first ? "" : ",");
            write_reference(timeline, at - 1, found, sink);
            is_first = false;
        }
    }
    ss_sink_text(sink, "]");
}

static void write_inside(const struct ss_timeline *timeline, uint32_t lane,
                         const struct ss_model_range *slice, struct ss_sink *sink)
{
    uint32_t inner, found;
    uint64_t busy_ns = 0;
    ss_sink_text(sink, ",\n\"inside\":");
    if (ss_answer_inner_lane(timeline, lane, &inner)) {
        const struct ss_lane *row = &timeline->lanes.data[inner];
        found = ss_lane_find(row, slice->begin_ns);
        if (found < row->count && ss_lane_slice(row, found)->begin_ns < slice->end_ns) {
            write_reference(timeline, inner, found, sink);
            busy_ns = ss_lane_busy_ns(row, slice->begin_ns, slice->end_ns);
        } else {
            ss_sink_text(sink, "null");
        }
    } else {
        ss_sink_text(sink, "null");
    }
    uint64_t duration_ns = slice->end_ns - slice->begin_ns;
    write_natural(sink, ",\"self_ns\":", duration_ns > busy_ns ? duration_ns - busy_ns : 0);
}

/* --- links ------------------------------------------------------------------------------------ */

static void write_links_of(const struct ss_answering *answering, uint32_t range, bool back,
                           bool *is_first, size_t *hidden, struct ss_sink *sink)
{
    static const char *const kinds[][2] = {[SS_LINK_LAUNCH] = {"launches", "launched by"},
                                           [SS_LINK_BACKWARD] = {"backward", "forward"},
                                           [SS_LINK_COLLECTIVE] = {"kept waiting", "waited for"},
                                           [SS_LINK_EVENT] = {"awaited by", "recorded by"},
                                           [SS_LINK_FLOW] = {"leads to", "comes from"}};
    size_t count, written = 0;
    const struct ss_timeline_link *links =
        ss_timeline_links_of(answering->links, range, back, &count);
    for (size_t i = 0; i < count && written < MOST_LINKS; i++) {
        uint32_t lane, position;
        if (ss_timeline_place(answering->timeline, back ? links[i].from : links[i].to, &lane,
                              &position)) {
            ss_sink_format(sink,
                           "%s\n{\"leaves\":%s,\"kind\":\"%s\",\"slice\":", *is_first ? "" : ",",
                           back ? "false" : "true", kinds[links[i].kind][back]);
            write_reference(answering->timeline, lane, position, sink);
            ss_sink_text(sink, "}");
            *is_first = false;
            written++;
        }
    }
    *hidden += count - written;
}

static void write_links(const struct ss_answering *answering, const struct ss_lane *lane,
                        uint32_t position, struct ss_sink *sink)
{
    bool is_first = true;
    size_t hidden = 0;
    ss_sink_text(sink, ",\n\"links\":[");
    if (lane->ranges == answering->timeline->selection->model->ranges.data) {
        write_links_of(answering, lane->slices[position], true, &is_first, &hidden, sink);
        write_links_of(answering, lane->slices[position], false, &is_first, &hidden, sink);
    }
    ss_sink_text(sink, "]");
    write_natural(sink, ",\"hidden_links\":", hidden);
}

/* --- fields ----------------------------------------------------------------------------------- */

struct value {
    enum ss_value_type type;
    int64_t integer;
    double real;
    uint32_t text;
};

/* Numbers that JavaScript cannot hold exactly are texts. */
static void write_integer(struct ss_sink *sink, int64_t integer, bool is_natural)
{
    const int64_t most = INT64_C(1) << 53;
    const char *quote = integer > most || integer < -most ? "\"" : "";
    ss_sink_text(sink, quote);
    if (is_natural) {
        ss_json_write_natural(sink, (uint64_t)integer);
    } else {
        ss_json_write_integer(sink, integer);
    }
    ss_sink_text(sink, quote);
}

static void write_value(const struct ss_model *model, const struct value *value,
                        struct ss_sink *sink)
{
    struct ss_strbuf text;
    switch (value->type) {
    case SS_VALUE_INT:
        write_integer(sink, value->integer, false);
        break;
    case SS_VALUE_UINT:
        write_integer(sink, value->integer, true);
        break;
    case SS_VALUE_REAL:
        ss_json_write_real(sink, value->real);
        break;
    case SS_VALUE_TEXT:
        ss_strbuf_init(&text, 8 * FIELD_BYTES);
        ss_frame_append_clean(&text, ss_intern_get(&model->strings, value->text), "", FIELD_BYTES);
        ss_json_write_plain(sink, (struct ss_strview){text.data, text.length});
        ss_strbuf_fini(&text);
        break;
    case SS_VALUE_NONE:
        ss_sink_text(sink, "null");
        break;
    }
}

static void write_field(const struct ss_model *model, const char *name, const char *unit,
                        const char *meaning, const struct value *value, bool *is_first,
                        struct ss_sink *sink)
{
    ss_sink_format(sink, "%s\n{\"name\":\"%s\",\"unit\":\"%s\",\"meaning\":", *is_first ? "" : ",",
                   name, unit);
    ss_json_write_plain(sink, ss_strview_of(meaning));
    ss_sink_text(sink, ",\"value\":");
    write_value(model, value, sink);
    ss_sink_text(sink, "}");
    *is_first = false;
}

/* The row of a payload or a field as a value. */
#define VALUE_OF(row)                                                                              \
    ((struct value){(enum ss_value_type)(row)->type, (row)->integer,                               \
                    (row)->type == SS_VALUE_REAL ? (row)->real : 0,                                \
                    (row)->type == SS_VALUE_TEXT ? (row)->text : 0})

/* `has_number`: the name has the payload already. */
static void write_fields(const struct ss_model *model, uint32_t payload, enum ss_event_type type,
                         bool has_number, struct ss_sink *sink)
{
    const struct ss_model_payload *row = &model->payloads.data[payload];
    const struct ss_event_field *as = &ss_event_fields[ss_event_types[type].payload];
    bool is_first = true, is_known = ss_event_types[type].payload != SS_EVENT_FIELD_NONE;
    ss_sink_text(sink, ",\n\"fields\":[");
    if (payload != 0 && row->type != SS_VALUE_NONE && !has_number) {
        struct value value = VALUE_OF(row);
        write_field(model, is_known ? as->name : "payload", is_known ? as->unit : "",
                    is_known ? as->meaning : "what the program gave", &value, &is_first, sink);
    }
    for (const struct ss_model_field *field =
             &model->fields.data[payload != 0 ? row->first_field : 0];
         payload != 0 && field->field != 0; field++) {
        struct value value = VALUE_OF(field);
        const struct ss_event_field *known = &ss_event_fields[field->field];
        write_field(model, known->name, known->unit, known->meaning, &value, &is_first, sink);
    }
    ss_sink_text(sink, "]");
}

/* --- a slice ---------------------------------------------------------------------------------- */

static const struct ss_model_name *name_of(const struct ss_model *model,
                                           const struct ss_timeline_track *track,
                                           const struct ss_model_range *slice)
{
    uint32_t name = track->naming == SS_NAMED_BY_NAME   ? slice->path
                    : track->naming == SS_NAMED_BY_PATH ? model->paths.data[slice->path].name
                                                        : 0;
    return &model->names.data[name];
}

static void write_nature(const struct ss_model *model, const struct ss_model_name *name,
                         const struct ss_model_range *slice, struct ss_sink *sink)
{
    const char *type = ss_model_event_type_name(name->type);
    struct value category = {.type = SS_VALUE_TEXT, .text = name->category};
    ss_sink_format(sink, ",\"type\":\"%s\",\"category\":", type != NULL ? type : "");
    write_value(model, &category, sink);
    ss_sink_format(sink, ",\"begin_unseen\":%s,\"end_unseen\":%s",
                   (slice->flags & SS_RANGE_BEGIN_UNSEEN) != 0 ? "true" : "false",
                   (slice->flags & SS_RANGE_END_UNSEEN) != 0 ? "true" : "false");
}

bool ss_answer_slice(const struct ss_answering *answering, uint32_t lane, uint32_t position,
                     struct ss_sink *sink)
{
    const struct ss_timeline *timeline = answering->timeline;
    const struct ss_model *model = timeline->selection->model;
    if (lane >= timeline->lanes.count || position >= timeline->lanes.data[lane].count) {
        return false;
    }
    const struct ss_lane *row = &timeline->lanes.data[lane];
    const struct ss_timeline_track *track = &timeline->tracks.data[timeline->track_of_lane[lane]];
    const struct ss_model_range *slice = ss_lane_slice(row, position);
    const struct ss_model_name *name = name_of(model, track, slice);
    ss_sink_text(sink, "{");
    ss_answer_write_slice(timeline, lane, position, SS_LABEL_WHOLE_BYTES, sink);
    write_natural(sink, ",\"in_lane\":", row->count);
    write_nature(model, name, slice, sink);
    bool has_number = ss_label_has_number(timeline, track, slice);
    write_fields(model, slice->payload, name->type, has_number, sink);
    write_around(timeline, lane, slice, sink);
    write_inside(timeline, lane, slice, sink);
    write_links(answering, row, position, sink);
    ss_sink_text(sink, "}\n");
    return true;
}
