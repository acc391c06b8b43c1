/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks: ranges matched from begin and end events, marks, flows, counters; and notes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "lib/reader_inside.h"
#include "trace/event_fields.h"

_Static_assert((int)STEPSCOPE_TRACK_GROUP == (int)SS_TRACK_GROUP &&
                   (int)STEPSCOPE_TRACK_STEPS == (int)SS_TRACK_STEPS &&
                   SS_TRACK_KIND_COUNT == (int)STEPSCOPE_TRACK_GROUP + 1,
               "the public kinds of tracks are those of the trace");
_Static_assert((int)STEPSCOPE_VALUES_CUMULATIVE == (int)SS_COUNTER_CUMULATIVE &&
                   (int)STEPSCOPE_VALUES_DELTA == (int)SS_COUNTER_DELTA,
               "the public kinds of counters are those of the trace");
_Static_assert((int)STEPSCOPE_VALUE_TEXT == (int)SS_VALUE_TEXT &&
                   (int)STEPSCOPE_VALUE_UNSIGNED == (int)SS_VALUE_UINT,
               "the public types of values are those of the trace");

/* --- definitions ---------------------------------------------------------------------------- */

enum ss_status ss_reader_on_track(void *context, const struct ss_trace_track *track)
{
    struct stepscope_reader *reader = context;
    SS_READER_GROW(&reader->tracks, track->ref);
    /* A parent has a smaller ref than its children, so that a walk to the root terminates. */
    if (track->parent_ref >= track->ref) {
        return SS_E_FORMAT;
    }
    reader->tracks.data[track->ref - 1] =
        (stepscope_track){.ref = track->ref,
                          .kind = (stepscope_track_kind)track->kind,
                          .process_ref = track->process_ref,
                          .thread_ref = track->thread_ref,
                          .parent_ref = track->parent_ref,
                          .name = ss_reader_intern(reader, track->name),
                          .unit = ss_reader_intern(reader, track->unit),
                          .values = (stepscope_counter_kind)track->counter,
                          .device_ref = track->device_ref,
                          .stream_ref = track->stream_ref};
    return SS_OK;
}

enum ss_status ss_reader_on_name(void *context, const struct ss_trace_name *name)
{
    struct stepscope_reader *reader = context;
    SS_READER_GROW(&reader->event_names, name->ref);
    reader->event_names.data[name->ref - 1] = (stepscope_event_name){
        .ref = name->ref,
        .text = ss_reader_intern(reader, name->text),
        .category = ss_reader_intern(reader, name->category),
        .colour = name->colour,
        .type = name->type != SS_EVENT_TYPE_NONE ? ss_event_types[name->type].name : ""};
    return SS_OK;
}

uint32_t stepscope_reader_track_count(const stepscope_reader *reader)
{
    return (uint32_t)reader->tracks.count;
}

uint32_t stepscope_reader_event_name_count(const stepscope_reader *reader)
{
    return (uint32_t)reader->event_names.count;
}

const stepscope_track *stepscope_reader_track(const stepscope_reader *reader, uint32_t ref)
{
    return SS_READER_ROW(reader->tracks, ref);
}

const stepscope_event_name *stepscope_reader_event_name(const stepscope_reader *reader,
                                                        uint32_t ref)
{
    return SS_READER_ROW(reader->event_names, ref);
}

/* --- walks ---------------------------------------------------------------------------------- */

/* A begin or end event, before matching. */
struct edge {
    uint64_t time_ns;
    uint32_t track_ref, lane, name_ref;
    uint8_t is_begin, flags;
    uint32_t payload; /* index in payloads; 0: none */
    uint64_t order;
};

/* What an edge carries. */
struct payload {
    stepscope_value value;
    size_t first_field;
    uint32_t field_count;
};

struct payloads ss_vec_of(struct payload);
struct fields ss_vec_of(stepscope_field);

struct walk {
    const struct stepscope_reader *reader;
    stepscope_range_visit range;
    stepscope_mark_visit mark;
    stepscope_counter_visit counter;
    stepscope_note_visit note;
    void *context;
    bool ended;
    struct ss_intern texts; /* texts passed to the callbacks */
    struct payloads payloads;
    struct fields fields;       /* of the payloads, or of the current mark */
    struct fields range_fields; /* of the current range */
    struct ss_vec_of(struct edge) edges;
    uint64_t last_ns;
};

static enum ss_status visit_result(struct walk *walk, int result)
{
    walk->ended = result != 0;
    return walk->ended ? SS_E_AGAIN : SS_OK;
}

static const char *text_of(struct walk *walk, struct ss_strview text)
{
    return ss_intern_text(&walk->texts, ss_intern_put(&walk->texts, text.data, text.length));
}

static stepscope_value value_of(struct walk *walk, const struct ss_trace_value *value)
{
    stepscope_value copy = {.type = (stepscope_value_type)value->type, .text = ""};
    switch (value->type) {
    case SS_VALUE_INT:
        copy.signed_value = value->integer;
        break;
    case SS_VALUE_UINT:
        copy.unsigned_value = value->natural;
        break;
    case SS_VALUE_REAL:
        copy.real = value->real;
        break;
    case SS_VALUE_TEXT:
        copy.text = text_of(walk, value->text);
        break;
    case SS_VALUE_NONE:
        break;
    }
    return copy;
}

static void add_fields(struct walk *walk, const struct ss_trace_event *event)
{
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct ss_event_field *field = &ss_event_fields[event->fields[i].field];
        stepscope_field row = {.name = field->name,
                               .unit = field->unit,
                               .value = value_of(walk, &event->fields[i].value)};
        ss_vec_push(&walk->fields, row);
    }
}

/* False for definitions that were added to the file after stepscope_reader_open. */
static bool is_known(const struct stepscope_reader *reader, const struct ss_trace_event *event)
{
    return SS_READER_ROW(reader->tracks, event->track_ref) != NULL &&
           (event->name_ref == 0 || SS_READER_ROW(reader->event_names, event->name_ref) != NULL);
}

static enum ss_status on_mark(void *context, const struct ss_trace_event *event)
{
    struct walk *walk = context;
    bool is_point = event->kind == SS_EVENT_INSTANT || event->flow != SS_FLOW_NONE;
    if (!is_point || !is_known(walk->reader, event)) {
        return SS_OK;
    }
    ss_vec_clear(&walk->fields);
    add_fields(walk, event);
    stepscope_mark mark = {.time_ns = event->time_ns,
                           .track_ref = event->track_ref,
                           .lane = event->lane,
                           .name_ref = event->name_ref,
                           .is_begin = event->kind == SS_EVENT_BEGIN,
                           .flow_id = event->flow != SS_FLOW_NONE ? event->flow_id : 0,
                           .flow_ends = event->flow == SS_FLOW_END,
                           .payload = value_of(walk, &event->payload),
                           .fields = walk->fields.data,
                           .field_count = event->field_count};
    return visit_result(walk, walk->mark(walk->context, &mark));
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *counter)
{
    struct walk *walk = context;
    if (SS_READER_ROW(walk->reader->tracks, counter->track_ref) == NULL) {
        return SS_OK;
    }
    stepscope_counter_value value = {.time_ns = counter->time_ns,
                                     .track_ref = counter->track_ref,
                                     .is_integer = counter->is_integer,
                                     .integer = counter->is_integer ? counter->integer : 0,
                                     .real = counter->is_integer ? (double)counter->integer
                                                                 : counter->real};
    return visit_result(walk, walk->counter(walk->context, &value));
}

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    struct walk *walk = context;
    stepscope_note public_note = {.time_ns = note->time_ns,
                                  .process_ref = note->process_ref,
                                  .kind = text_of(walk, note->kind),
                                  .text = text_of(walk, note->text),
                                  .value = note->value};
    return visit_result(walk, walk->note(walk->context, &public_note));
}

static enum ss_status on_edge(void *context, const struct ss_trace_event *event)
{
    struct walk *walk = context;
    walk->last_ns = event->time_ns > walk->last_ns ? event->time_ns : walk->last_ns;
    if (event->kind == SS_EVENT_INSTANT || !is_known(walk->reader, event)) {
        return SS_OK;
    }
    struct edge edge = {.time_ns = event->time_ns,
                        .track_ref = event->track_ref,
                        .lane = event->lane,
                        .name_ref = event->name_ref,
                        .is_begin = event->kind == SS_EVENT_BEGIN,
                        .flags = event->flags,
                        .order = walk->edges.count};
    if (event->payload.type != SS_VALUE_NONE || event->field_count > 0) {
        edge.payload = (uint32_t)walk->payloads.count;
        ss_vec_push(&walk->payloads, (struct payload){.value = value_of(walk, &event->payload),
                                                      .first_field = walk->fields.count,
                                                      .field_count = event->field_count});
        add_fields(walk, event);
    }
    ss_vec_push(&walk->edges, edge);
    return SS_OK;
}

static enum ss_status on_late_sample(void *context, const struct ss_trace_sample *sample)
{
    struct walk *walk = context;
    walk->last_ns = sample->time_ns > walk->last_ns ? sample->time_ns : walk->last_ns;
    return SS_OK;
}

/* --- ranges --------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    int by_lane = a->track_ref != b->track_ref ? compare(a->track_ref, b->track_ref)
                                               : compare(a->lane, b->lane);
    int by_time = compare(a->time_ns, b->time_ns);
    return by_lane != 0 ? by_lane : by_time != 0 ? by_time : compare(a->order, b->order);
}

/* Matches begins and ends of edges [first, end), all of one track and lane: ends[i] is the index of
 * the end edge + 1; 0: none. */
static void match(const struct walk *walk, size_t first, size_t end, size_t *ends, uint32_t *depths)
{
    struct ss_vec_of(size_t) open = {0};
    for (size_t i = first; i < end; i++) {
        if (walk->edges.data[i].is_begin) {
            depths[i] = (uint32_t)open.count;
            ss_vec_push(&open, i);
        } else if (open.count > 0) {
            ends[open.data[--open.count]] = i + 1;
        }
    }
    ss_vec_fini(&open);
}

static void gather_fields(struct walk *walk, const struct payload *payload)
{
    for (uint32_t i = 0; i < payload->field_count; i++) {
        ss_vec_push(&walk->range_fields, walk->fields.data[payload->first_field + i]);
    }
}

static int emit_range(struct walk *walk, size_t at, size_t end, uint32_t depth)
{
    const struct edge *begin = &walk->edges.data[at];
    const struct edge *close = end != 0 ? &walk->edges.data[end - 1] : NULL;
    const struct payload *own = &walk->payloads.data[begin->payload];
    const struct payload *closing = &walk->payloads.data[close != NULL ? close->payload : 0];
    bool has_own = own->value.type != STEPSCOPE_VALUE_NONE;
    ss_vec_clear(&walk->range_fields);
    gather_fields(walk, own);
    gather_fields(walk, closing);
    uint64_t last_ns = walk->last_ns > begin->time_ns ? walk->last_ns : begin->time_ns;
    stepscope_range range = {.begin_ns = begin->time_ns,
                             .end_ns = close != NULL ? close->time_ns : last_ns,
                             .track_ref = begin->track_ref,
                             .lane = begin->lane,
                             .name_ref = begin->name_ref,
                             .depth = depth,
                             .begin_unseen = (begin->flags & SS_EVENT_BEGIN_UNSEEN) != 0,
                             .end_unseen =
                                 close == NULL || (close->flags & SS_EVENT_END_UNSEEN) != 0,
                             .payload = has_own ? own->value : closing->value,
                             .fields = walk->range_fields.data,
                             .field_count = (uint32_t)walk->range_fields.count};
    return walk->range(walk->context, &range);
}

static void emit_ranges(struct walk *walk)
{
    size_t count = walk->edges.count;
    size_t *ends = ss_alloc_zero(count + 1, sizeof *ends);
    uint32_t *depths = ss_alloc_zero(count + 1, sizeof *depths);
    const struct edge *edges = walk->edges.data;
    if (count > 1) {
        qsort(walk->edges.data, count, sizeof *walk->edges.data, compare_edges);
    }
    for (size_t first = 0, end; first < count && !walk->ended; first = end) {
        for (end = first; end < count && edges[end].track_ref == edges[first].track_ref &&
                          edges[end].lane == edges[first].lane;) {
            end++;
        }
        match(walk, first, end, ends, depths);
        for (size_t i = first; i < end && !walk->ended; i++) {
            walk->ended = edges[i].is_begin && emit_range(walk, i, ends[i], depths[i]) != 0;
        }
    }
    ss_free(ends);
    ss_free(depths);
}

/* --- the public walks ------------------------------------------------------------------------- */

static stepscope_status run_walk(struct walk *walk, const struct ss_trace_visitor *visitor,
                                 stepscope_error *error)
{
    struct ss_trace_summary summary;
    struct ss_error err = {0};
    ss_intern_init(&walk->texts);
    ss_vec_push(&walk->payloads, (struct payload){.value.text = ""});
    enum ss_status status = ss_trace_read(walk->reader->path, visitor, walk, &summary, &err);
    if (status == SS_OK && walk->range != NULL) {
        emit_ranges(walk);
    }
    ss_intern_fini(&walk->texts);
    ss_vec_fini(&walk->payloads);
    ss_vec_fini(&walk->fields);
    ss_vec_fini(&walk->range_fields);
    ss_vec_fini(&walk->edges);
    return status == SS_OK || walk->ended ? STEPSCOPE_OK : ss_reader_forward(error, &err);
}

stepscope_status stepscope_reader_each_range(const stepscope_reader *reader,
                                             stepscope_range_visit visit, void *context,
                                             stepscope_error *error)
{
    static const struct ss_trace_visitor visitor = {.event = on_edge, .sample = on_late_sample};
    struct walk walk = {.reader = reader, .range = visit, .context = context};
    return run_walk(&walk, &visitor, error);
}

stepscope_status stepscope_reader_each_mark(const stepscope_reader *reader,
                                            stepscope_mark_visit visit, void *context,
                                            stepscope_error *error)
{
    static const struct ss_trace_visitor visitor = {.event = on_mark};
    struct walk walk = {.reader = reader, .mark = visit, .context = context};
    return run_walk(&walk, &visitor, error);
}

stepscope_status stepscope_reader_each_counter_value(const stepscope_reader *reader,
                                                     stepscope_counter_visit visit, void *context,
                                                     stepscope_error *error)
{
    static const struct ss_trace_visitor visitor = {.counter = on_counter};
    struct walk walk = {.reader = reader, .counter = visit, .context = context};
    return run_walk(&walk, &visitor, error);
}

stepscope_status stepscope_reader_each_note(const stepscope_reader *reader,
                                            stepscope_note_visit visit, void *context,
                                            stepscope_error *error)
{
    static const struct ss_trace_visitor visitor = {.note = on_note};
    struct walk walk = {.reader = reader, .note = visit, .context = context};
    return run_walk(&walk, &visitor, error);
}
