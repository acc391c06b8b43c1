/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "source/annot_inside.h"

enum {
    MAX_OPEN = 65535, /* open ranges of a thread: the depth limit of a record */
    MAX_NAMES = SS_RING_MAX_NAMES
};

/* --- names ----------------------------------------------------------------------------------- */

static void emit_name(struct ss_annot *annot, uint32_t id)
{
    const struct ss_annot_style *style = &annot->names.data[id];
    struct ss_annot_name name = {
        .id = id,
        .text = {style->text_length > 0 ? annot->texts.data + style->text_at : "",
                 style->text_length},
        .argb = style->argb,
        .category = style->category,
        .file = style->file,
        .line = style->line,
        .type = style->type};
    annot->sink.name(annot->sink.context, &name);
}

/* A newer runtime may know more quantities. */
static void emit_counter(struct ss_annot *annot, const struct ss_ring_defined *defined)
{
    struct ss_annot_counter counter = {.name = defined->a,
                                       .unit = defined->b,
                                       .kind = (enum ss_ring_counter)defined->c,
                                       .quantity = defined->d < SS_QUANTITY_COUNT
                                                       ? (enum ss_quantity)defined->d
                                                       : SS_QUANTITY_NONE};
    annot->sink.counter(annot->sink.context, &counter);
}

void ss_annot_on_define(void *context, const struct ss_ring_defined *defined)
{
    struct ss_annot *annot = context;
    size_t at = annot->texts.count;
    switch (defined->kind) {
    case SS_RING_DEFINE_NAME: /* its id equals the count: checked by the consumer */
    case SS_RING_DEFINE_FUNCTION:
        if (defined->text.length > 0) {
            ss_vec_resize(&annot->texts, at + defined->text.length);
            memcpy(annot->texts.data + at, defined->text.data, defined->text.length);
        }
        ss_vec_push(&annot->names,
                    (struct ss_annot_style){(uint32_t)at, (uint32_t)defined->text.length});
        if (defined->kind == SS_RING_DEFINE_FUNCTION) {
            annot->names.data[defined->a].file = defined->b;
            annot->names.data[defined->a].line = defined->c;
        }
        emit_name(annot, defined->a);
        break;
    case SS_RING_DEFINE_DOMAIN:
        annot->sink.domain(annot->sink.context, defined->a, defined->text);
        break;
    case SS_RING_DEFINE_STYLE:
        annot->names.data[defined->a].argb = defined->b;
        annot->names.data[defined->a].category = defined->c;
        annot->names.data[defined->a].type = /* a newer runtime may know more kinds */
            defined->d < SS_EVENT_TYPE_COUNT ? (enum ss_event_type)defined->d : SS_EVENT_TYPE_NONE;
        emit_name(annot, defined->a);
        break;
    case SS_RING_DEFINE_COUNTER:
        emit_counter(annot, defined);
        break;
    default:
        break;
    }
}

/* Undefined names (the table was full, or the id is invalid) become name 0. */
static uint32_t known_name(struct ss_annot *annot, uint32_t name)
{
    if (name < annot->names.count) {
        return name;
    }
    annot->bad_names++;
    return 0;
}

/* --- ranges ---------------------------------------------------------------------------------- */

void ss_annot_emit(struct ss_annot *annot, const struct ss_annot_event *event)
{
    annot->sink.event(annot->sink.context, event);
}

static struct ss_annot_event event_of(struct ss_annot *annot, uint32_t number,
                                      enum ss_annot_kind kind, uint64_t time_ns)
{
    const struct ss_annot_lane *lane = &annot->lanes.data[number];
    return (struct ss_annot_event){
        .kind = kind, .time_ns = time_ns, .lane = number, .thread = lane->thread, .tid = lane->tid};
}

static void end_range(struct ss_annot *annot, uint32_t number, size_t at, uint64_t time_ns,
                      bool unseen)
{
    struct ss_annot_lane *lane = &annot->lanes.data[number];
    struct ss_annot_event event = event_of(annot, number, SS_ANNOT_RANGE_END, time_ns);
    event.domain = lane->open.data[at].domain;
    event.unseen_end = unseen;
    ss_annot_emit(annot, &event);
    memmove(&lane->open.data[at], &lane->open.data[at + 1],
            (lane->open.count - at - 1) * sizeof *lane->open.data);
    lane->open.count--;
}

void ss_annot_end_all(struct ss_annot *annot, uint32_t number, uint64_t time_ns)
{
    struct ss_annot_lane *lane = &annot->lanes.data[number];
    while (lane->open.count > 0) {
        end_range(annot, number, lane->open.count - 1, time_ns, true);
    }
}

static void on_push(struct ss_annot *annot, uint32_t number, const struct ss_ring_record *record,
                    struct ss_annot_event *event)
{
    struct ss_annot_lane *lane = &annot->lanes.data[number];
    uint32_t depth = record->detail;
    while (lane->open.count > 0 && lane->open.data[lane->open.count - 1].depth >= depth) {
        annot->ends_lost++; /* its pop was dropped */
        end_range(annot, number, lane->open.count - 1, event->time_ns, true);
    }
    if (lane->open.count >= MAX_OPEN) {
        annot->ends_lost++;
        return;
    }
    ss_vec_push(&lane->open, (struct ss_annot_open_range){depth, event->name, record->domain});
    event->kind = SS_ANNOT_RANGE_BEGIN;
    ss_annot_emit(annot, event);
}

/* Deeper ranges of the same domain have lost their pops. Ranges of other domains stay open, one
 * level further out. */
static void on_pop(struct ss_annot *annot, uint32_t number, const struct ss_ring_record *record,
                   uint64_t time_ns)
{
    struct ss_annot_lane *lane = &annot->lanes.data[number];
    uint32_t depth = record->detail - 1u;
    size_t at = lane->open.count;
    while (at > 0 && lane->open.data[at - 1].depth > depth) {
        at--;
    }
    bool is_open = at > 0 && lane->open.data[at - 1].depth == depth &&
                   lane->open.data[at - 1].domain == record->domain;
    for (size_t i = lane->open.count; i > at; i--) {
        if (lane->open.data[i - 1].domain == record->domain) {
            annot->ends_lost++;
            end_range(annot, number, i - 1, time_ns, true);
        } else {
            lane->open.data[i - 1].depth--;
        }
    }
    if (is_open) {
        end_range(annot, number, at - 1, time_ns, false);
    } else {
        annot->begins_lost++; /* its push was dropped, or is older than the recording */
    }
}

/* --- records --------------------------------------------------------------------------------- */

static void set_value(struct ss_annot *annot, const struct ss_ring_record *record, int index,
                      struct ss_annot_event *event)
{
    if (index < record->more) {
        uint64_t type = record->extra[index];
        event->value = record->value[index];
        event->value_type =
            type < SS_RING_VALUE_COUNT ? (enum ss_ring_value)type : SS_RING_VALUE_NONE;
        if (event->value_type == SS_RING_VALUE_NAME) {
            event->value = event->value < MAX_NAMES ? known_name(annot, (uint32_t)event->value) : 0;
        } else if (event->value_type == SS_RING_VALUE_FLOW) {
            event->id = record->type == SS_RING_PUSH ? event->value : event->id;
            event->value_type = SS_RING_VALUE_NONE;
        }
    }
}

static uint64_t time_of(const struct ss_annot *annot, uint64_t stamp)
{
    return annot->ring.clock == SS_RING_CLOCK_TSC ? ss_stamp_clock_ns(annot->clock, stamp) : stamp;
}

/* Converts the ticks of a line over the interval that ends at the stamp. Ticks beyond the stamp
 * itself are invalid and become 0. */
static void set_line_time(const struct ss_annot *annot, const struct ss_ring_record *record,
                          struct ss_annot_event *event)
{
    uint64_t ticks = record->value[0] < record->stamp ? record->value[0] : 0;
    uint64_t from_ns = time_of(annot, record->stamp - ticks), to_ns = time_of(annot, record->stamp);
    event->value = to_ns > from_ns ? to_ns - from_ns : 0;
    event->value_type = SS_RING_VALUE_UNSIGNED;
    event->detail = (uint32_t)record->extra[0];
    event->id = record->value[1];
}

/* Clamped to the time of the read. */
static uint64_t past_time_of(const struct ss_annot *annot, uint64_t stamp)
{
    uint64_t time_ns = time_of(annot, stamp);
    return time_ns < annot->newest_ns ? time_ns : annot->newest_ns;
}

/* The record of an earlier event has the stamp of that event in its last continuation. */
static bool has_own_time(const struct ss_ring_record *record)
{
    static const bool may[SS_RING_TYPE_COUNT] = {[SS_RING_MARK] = true,
                                                 [SS_RING_BEGIN] = true,
                                                 [SS_RING_END] = true,
                                                 [SS_RING_COUNT] = true};
    bool needs_one = record->type != SS_RING_MARK; /* an id or a value comes first */
    return may[record->type] && (record->detail & SS_RING_OWN_TIME) != 0 &&
           record->more > (needs_one ? 1 : 0);
}

/* When the event was: at the stamp of its record, unless the record has another. */
static uint64_t event_time(const struct ss_annot *annot, struct ss_annot_lane *lane,
                           struct ss_ring_record *own, const struct ss_ring_record **record)
{
    const struct ss_ring_record *raw = *record;
    uint64_t time_ns = past_time_of(annot, raw->stamp);
    /* Records of a signal handler and the record that it interrupted may be out of order. */
    time_ns = time_ns > lane->last_ns ? time_ns : lane->last_ns;
    lane->last_ns = time_ns;
    if (has_own_time(raw)) {
        *own = *raw;
        own->more--;
        uint64_t own_ns = past_time_of(annot, own->value[own->more]);
        own_ns = own_ns < time_ns ? own_ns : time_ns;
        time_ns = own_ns > annot->since_ns ? own_ns : annot->since_ns;
        *record = own;
    }
    return time_ns;
}

static void set_window(struct ss_annot *annot, const struct ss_ring_record *record,
                       struct ss_annot_event *event)
{
    if (annot->window_hook != NULL) {
        annot->window_hook(annot->hook_context);
    }
    event->value = record->value[0];
    event->value_type = SS_RING_VALUE_SIGNED;
    event->id = record->extra[0];
    event->name =
        record->more > 1 && record->value[1] < UINT32_MAX ? (uint32_t)record->value[1] : 0;
    event->closed = record->more > 1 ? (uint32_t)record->extra[1] : 0;
}

static void set_collective(struct ss_annot *annot, const struct ss_ring_record *record,
                           struct ss_annot_event *event)
{
    event->id = record->value[0];
    event->collective.is_described = true;
    event->collective.datatype = known_name(annot, (uint32_t)(record->extra[0] & 0xffff));
    event->collective.library =
        (enum ss_ring_library)(record->extra[0] >> SS_RING_LIBRARY_SHIFT & 3);
    event->collective.direction =
        (enum ss_ring_direction)(record->extra[0] >> SS_RING_DIRECTION_SHIFT & 3);
    event->collective.sequence = (int64_t)record->value[1];
    event->collective.group = known_name(annot, (uint32_t)(record->extra[1] & 0xffffff));
    event->collective.size = (uint32_t)(record->extra[1] >> 24 & 0xffffff);
    event->collective.root = (int64_t)record->detail - 1;
    event->value = record->value[2];
    uint64_t flags = record->extra[2];
    uint32_t first = (uint32_t)(record->extra[0] >> 24), second = (uint32_t)(flags >> 24);
    uint32_t above = (uint32_t)(flags >> SS_RING_SELF_SHIFT & 0xffff);
    event->value_type =
        (flags & SS_RING_HAS_BYTES) != 0 ? SS_RING_VALUE_SIGNED : SS_RING_VALUE_NONE;
    event->collective.tag = (flags & SS_RING_HAS_TAG) != 0 ? (int64_t)first : -1;
    event->collective.self = event->collective.tag >= 0 ? (int64_t)above - 1 : -1;
    event->collective.algorithm = known_name(annot, event->collective.tag < 0 ? first : 0);
    event->collective.reduction = (uint32_t)(flags >> SS_RING_REDUCTION_SHIFT & 7);
    bool has_module = (flags & SS_RING_HAS_MODULE) != 0, is_transfer = event->collective.tag >= 0;
    uint32_t module = is_transfer ? second : above;
    event->collective.module = known_name(annot, has_module ? module : 0);
    event->collective.protocol = known_name(annot, is_transfer ? 0 : second);
}

/* Long: one case for each type of record with data of its own. */
void ss_annot_on_record(struct ss_annot *annot, uint32_t number, const struct ss_ring_record *raw)
{
    static const enum ss_annot_kind kinds[SS_RING_TYPE_COUNT] = {
        [SS_RING_MARK] = SS_ANNOT_MARK,
        [SS_RING_COUNT] = SS_ANNOT_COUNT,
        [SS_RING_STEP] = SS_ANNOT_STEP,
        [SS_RING_EPOCH] = SS_ANNOT_EPOCH,
        [SS_RING_PHASE] = SS_ANNOT_PHASE,
        [SS_RING_THREAD_NAME] = SS_ANNOT_THREAD_NAME,
        [SS_RING_FACT] = SS_ANNOT_FACT,
        [SS_RING_FLOW] = SS_ANNOT_FLOW,
        [SS_RING_WINDOW] = SS_ANNOT_WINDOW,
        [SS_RING_BEGIN] = SS_ANNOT_ASYNC_BEGIN,
        [SS_RING_END] = SS_ANNOT_ASYNC_END,
        [SS_RING_LINE] = SS_ANNOT_LINE,
        [SS_RING_COLLECTIVE] = SS_ANNOT_ASYNC_BEGIN};
    struct ss_annot_lane *lane = &annot->lanes.data[number];
    struct ss_ring_record own;
    const struct ss_ring_record *record = raw;
    uint64_t time_ns = event_time(annot, lane, &own, &record);
    if (record->type == SS_RING_POP) {
        on_pop(annot, number, record, time_ns);
        return;
    }
    struct ss_annot_event event = event_of(annot, number, kinds[record->type], time_ns);
    event.domain = record->domain < annot->ring.domains ? record->domain : 0;
    event.name = known_name(annot, record->name);
    event.detail = record->detail;
    switch (record->type) {
    case SS_RING_PUSH:
        set_value(annot, record, 0, &event);
        on_push(annot, number, record, &event);
        return;
    case SS_RING_BEGIN:
    case SS_RING_END:
        event.id = record->value[0];
        set_value(annot, record, 1, &event);
        break;
    case SS_RING_COLLECTIVE:
        set_collective(annot, record, &event);
        break;
    case SS_RING_FLOW:
        event.id = record->value[0];
        event.domain = lane->open.count > 0 ? lane->open.data[lane->open.count - 1].domain : 0;
        event.name = lane->open.count > 0 ? lane->open.data[lane->open.count - 1].name : 0;
        break;
    case SS_RING_THREAD_NAME:
        event.detail = record->more > 0 && (int32_t)record->value[0] != event.tid;
        event.tid = record->more > 0 ? (int32_t)record->value[0] : event.tid;
        break;
    case SS_RING_WINDOW:
        set_window(annot, record, &event);
        break;
    case SS_RING_LINE:
        set_line_time(annot, record, &event);
        break;
    default:
        set_value(annot, record, 0, &event);
        break;
    }
    ss_annot_emit(annot, &event);
}
