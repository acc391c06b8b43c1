/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the contents of tracks as Chrome events. Ranges are complete events on threads of their
 * own, separate from those of the samples, whose edges are exact only to a sampling period. Each
 * lane of overlapping ranges is a thread of its own too.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/launches/device_work.h"
#include "base/alloc.h"
#include "base/intern.h"
#include "view/export/autograd_pairs.h"
#include "view/export/chrome_build.h"
#include "view/output/json_text.h"
#include "view/output/pair_ids.h"

enum { NAME_BYTES = 64 * 1024 };

/* A lane of a track: one Chrome thread. */
struct lane {
    uint32_t track;
    uint16_t lane;
};

struct lanes {
    struct ss_chrome_writing *writing;
    struct ss_pair_ids ids; /* by track and lane: index into lanes + 1 */
    struct ss_vec_of(struct lane) lanes;
    size_t arrows; /* written so far */
};

bool ss_chrome_has_tracks(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    /* Every recording has counters of host and processes: alone they are not the result of filters
     * that exclude all samples. */
    return model->ranges.count + model->marks.count > 0 ||
           (model->values.count > 0 && selection->filtered == 0);
}

static bool has_track(const struct ss_chrome_writing *writing, uint32_t track)
{
    const struct ss_selection *selection = writing->selection;
    const struct ss_model_track *row = &selection->model->tracks.data[track];
    return row->thread != 0 ? selection->threads[row->thread] : selection->processes[row->process];
}

static int64_t pid_of(const struct ss_chrome_writing *writing, uint32_t track)
{
    return writing->pid_of_process[ss_chrome_owner(writing, track)];
}

static uint64_t since_base(const struct ss_chrome_writing *writing, uint32_t track,
                           uint64_t time_ns)
{
    const struct ss_model *model = writing->selection->model;
    uint64_t base_ns = writing->spans.base_ns[model->tracks.data[track].input];
    return time_ns > base_ns ? time_ns - base_ns : 0;
}

/* --- lanes ---------------------------------------------------------------------------------- */

static void append_lane_name(const struct ss_model *model, uint32_t track, struct ss_strbuf *name)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    if (row->thread != 0 && row->kind == SS_TRACK_RANGES) {
        const struct ss_model_thread *thread = &model->threads.data[row->thread];
        if (thread->name != 0) {
            ss_strbuf_append_view(name, ss_intern_get(&model->strings, thread->name));
        } else if (thread->tid != -1) {
            ss_strbuf_append_format(name, "thread %" PRId64, thread->tid);
        } else {
            ss_strbuf_append_text(name, "thread");
        }
        ss_strbuf_append_text(name, ": ");
    }
    if (row->name != 0) {
        ss_strbuf_append_view(name, ss_intern_get(&model->strings, row->name));
    } else {
        ss_strbuf_append_text(name, "ranges");
    }
}

static int sort_index(enum ss_track_kind kind)
{
    return kind == SS_TRACK_STEPS ? -20 : kind == SS_TRACK_PHASES ? -10 : 10;
}

/* The thread id of a lane; its first use writes the thread's name. */
static int64_t lane_tid(struct lanes *lanes, uint32_t track, uint16_t lane)
{
    struct ss_chrome_writing *writing = lanes->writing;
    const struct ss_model *model = writing->selection->model;
    uint32_t *id = ss_pair_ids_at(&lanes->ids, ss_pair(track, lane));
    int64_t first = FIRST_SYNTHETIC_ID + (int64_t)model->threads.count;
    if (*id == 0) {
        ss_vec_push(&lanes->lanes, (struct lane){track, lane});
        *id = (uint32_t)lanes->lanes.count;
        int64_t tid = first + *id, pid = pid_of(writing, track);
        struct ss_strbuf name;
        ss_strbuf_init(&name, NAME_BYTES);
        append_lane_name(model, track, &name);
        ss_chrome_name_process(writing, ss_chrome_owner(writing, track));
        ss_chrome_metadata(writing, "thread_name", "name", pid, tid,
                           (struct ss_strview){name.data, name.length});
        ss_strbuf_fini(&name);
        ss_chrome_begin_event(writing);
        ss_sink_format(writing->sink,
                       "\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%" PRId64
                       ",\"tid\":%" PRId64 ",\"ts\":0,\"args\":{\"sort_index\":%d}}",
                       pid, tid, sort_index(model->tracks.data[track].kind));
        return tid;
    }
    return first + *id;
}

/* --- ranges, marks, flows ------------------------------------------------------------------- */

/* Writes name, category and arguments, and ends the event. */
static void end_event(struct ss_chrome_writing *writing, uint32_t track, uint32_t name,
                      uint32_t payload, bool is_step, uint8_t flags)
{
    const struct ss_model *model = writing->selection->model;
    const struct ss_model_name *row = &model->names.data[name];
    struct ss_strview text = ss_intern_get(&model->strings, row->text);
    struct ss_strview category = row->category != 0 ? ss_intern_get(&model->strings, row->category)
                                 : row->type != SS_EVENT_TYPE_NONE
                                     ? ss_strview_of(ss_model_event_type_name(row->type))
                                     : ss_strview_of("range");
    struct ss_strbuf numbered;
    ss_strbuf_init(&numbered, NAME_BYTES);
    if (is_step && model->payloads.data[payload].type != SS_VALUE_TEXT) {
        ss_strbuf_append_view(&numbered, text);
        ss_strbuf_append_format(&numbered, " %" PRId64, model->payloads.data[payload].integer);
        text = (struct ss_strview){numbered.data, numbered.length};
    }
    ss_sink_text(writing->sink, ",\"cat\":");
    ss_json_write_plain(writing->sink, category);
    ss_sink_text(writing->sink, ",\"name\":");
    ss_json_write_plain(writing->sink, text);
    ss_strbuf_fini(&numbered);
    if (payload != 0 || flags != 0) {
        ss_chrome_write_arguments(writing, track, payload, row->type, flags);
    }
    ss_sink_text(writing->sink, "}");
}

static void begin_event(struct lanes *lanes, const char *phase, uint32_t track, uint16_t lane,
                        uint64_t time_ns)
{
    struct ss_chrome_writing *writing = lanes->writing;
    int64_t tid = lane_tid(lanes, track, lane);
    ss_chrome_begin_event(writing);
    ss_sink_format(writing->sink,
                   "\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", phase,
                   pid_of(writing, track), tid);
    ss_json_write_us(writing->sink, since_base(writing, track, time_ns));
}

static void write_ranges(struct lanes *lanes)
{
    struct ss_chrome_writing *writing = lanes->writing;
    const struct ss_model *model = writing->selection->model;
    for (size_t i = 0; i < model->ranges.count && !ss_sink_failed(writing->sink); i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if ((range->flags & SS_RANGE_OUTSIDE) != 0 || !has_track(writing, range->track)) {
            continue;
        }
        begin_event(lanes, "X", range->track, range->lane, range->begin_ns);
        ss_sink_text(writing->sink, ",\"dur\":");
        ss_json_write_us(writing->sink, range->end_ns - range->begin_ns);
        end_event(writing, range->track, model->paths.data[range->path].name, range->payload,
                  model->tracks.data[range->track].kind == SS_TRACK_STEPS, range->flags);
    }
}

static uint64_t instant_key(uint32_t track, uint64_t time_ns)
{
    return ss_hash_u64(time_ns ^ (uint64_t)track << 44);
}

/* Omits the instants that carry flows in a recording: here an arrow ends at the range itself, and
 * viewers would attach it to the instant instead. */
static void write_marks(struct lanes *lanes)
{
    struct ss_chrome_writing *writing = lanes->writing;
    const struct ss_model *model = writing->selection->model;
    struct ss_pair_ids flows = {0};
    for (size_t i = 0; i < model->flows.count; i++) {
        *ss_pair_ids_at(&flows,
                        instant_key(model->flows.data[i].track, model->flows.data[i].time_ns)) = 1;
    }
    for (size_t i = 0; i < model->marks.count && !ss_sink_failed(writing->sink); i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        bool of_flow = *ss_pair_ids_at(&flows, instant_key(mark->track, mark->time_ns)) != 0;
        if (has_track(writing, mark->track) && !of_flow) {
            begin_event(lanes, "i", mark->track, 0, mark->time_ns);
            ss_sink_text(writing->sink, ",\"s\":\"t\"");
            end_event(writing, mark->track, mark->name, mark->payload, false, 0);
        }
    }
    ss_pair_ids_fini(&flows);
}

/* A point of an arrow. Most flow ids are unique only within an input. */
struct flow_point {
    struct ss_model_flow flow;
    uint32_t input;
    bool in_range; /* viewers bind it to the enclosing range */
};

static int by_id_and_time(const void *left, const void *right)
{
    const struct flow_point *a = left, *b = right;
    if (a->input != b->input) {
        return a->input < b->input ? -1 : 1;
    }
    if (a->flow.id != b->flow.id) {
        return a->flow.id < b->flow.id ? -1 : 1;
    }
    return (a->flow.time_ns > b->flow.time_ns) - (a->flow.time_ns < b->flow.time_ns);
}

static int by_lane_and_time(const void *left, const void *right)
{
    const struct flow_point *a = left, *b = right;
    uint64_t lane_a = ss_pair(a->flow.track, a->flow.lane);
    uint64_t lane_b = ss_pair(b->flow.track, b->flow.lane);
    if (lane_a != lane_b) {
        return lane_a < lane_b ? -1 : 1;
    }
    return (a->flow.time_ns > b->flow.time_ns) - (a->flow.time_ns < b->flow.time_ns);
}

/* Ranges of a lane are sorted by begin: a point is in a range if the latest end of those begun so
 * far is after the point. */
static void find_enclosing_ranges(const struct ss_model *model, struct flow_point *points,
                                  size_t count)
{
    struct ss_pair_ids first_of_lane = {0}; /* range + 1 */
    for (size_t i = 0; i < model->ranges.count && count > 0; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (i == 0 || range->track != range[-1].track || range->lane != range[-1].lane) {
            *ss_pair_ids_at(&first_of_lane, ss_pair(range->track, range->lane)) = (uint32_t)i + 1;
        }
    }
    qsort(points, count, sizeof *points, by_lane_and_time);
    size_t range = 0, end = 0;
    uint64_t latest_ns = 0, lane = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct ss_model_flow *flow = &points[i].flow;
        if (ss_pair(flow->track, flow->lane) != lane) {
            lane = ss_pair(flow->track, flow->lane);
            uint32_t first = *ss_pair_ids_at(&first_of_lane, lane);
            range = first != 0 ? first - 1 : model->ranges.count;
            end = model->ranges.count;
            latest_ns = 0;
        }
        for (; range < end && model->ranges.data[range].begin_ns <= flow->time_ns &&
               ss_pair(model->ranges.data[range].track, model->ranges.data[range].lane) == lane;
             range++) {
            const struct ss_model_range *begun = &model->ranges.data[range];
            bool drawn = (begun->flags & SS_RANGE_OUTSIDE) == 0;
            latest_ns = drawn && begun->end_ns > latest_ns ? begun->end_ns : latest_ns;
        }
        points[i].in_range = latest_ns > flow->time_ns;
    }
    ss_pair_ids_fini(&first_of_lane);
}

/* Viewers attach arrows to slices: outside ranges, writes the shortest slice for it. */
static void write_flow_point(struct lanes *lanes, const struct flow_point *point, const char *phase)
{
    struct ss_chrome_writing *writing = lanes->writing;
    const struct ss_model_flow *flow = &point->flow;
    if (!point->in_range) {
        begin_event(lanes, "X", flow->track, flow->lane, flow->time_ns);
        ss_sink_text(writing->sink, ",\"dur\":0.001,\"cat\":\"flow\",\"name\":\"flow\"}");
    }
    uint64_t id =
        point->input == 0 ? flow->id : ss_hash_u64(flow->id ^ (uint64_t)point->input << 48);
    begin_event(lanes, phase, flow->track, flow->lane, flow->time_ns);
    ss_sink_format(writing->sink, ",\"cat\":\"flow\",\"name\":\"flow\",\"id\":\"0x%" PRIx64 "\"%s}",
                   id, phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
}

/* The first point of an id starts an arrow, the last ends it; others are between. Omits ids with a
 * single point. */
static void write_flows(struct lanes *lanes)
{
    struct ss_chrome_writing *writing = lanes->writing;
    const struct ss_model *model = writing->selection->model;
    size_t count = 0;
    struct flow_point *points = ss_alloc((model->flows.count + 1) * sizeof *points);
    for (size_t i = 0; i < model->flows.count; i++) {
        const struct ss_model_flow *flow = &model->flows.data[i];
        if (has_track(writing, flow->track)) {
            uint32_t input = flow->is_of_run ? 0 : model->tracks.data[flow->track].input;
            points[count++] = (struct flow_point){*flow, input, false};
        }
    }
    find_enclosing_ranges(model, points, count);
    qsort(points, count, sizeof *points, by_id_and_time);
    for (size_t i = 0; i < count && !ss_sink_failed(writing->sink); i++) {
        const struct flow_point *at = &points[i];
        bool first = i == 0 || at[-1].flow.id != at->flow.id || at[-1].input != at->input;
        bool last = i + 1 == count || at[1].flow.id != at->flow.id || at[1].input != at->input;
        if (!first || !last) {
            const char *phase = first ? "s" : last ? "f" : "t";
            write_flow_point(lanes, at, phase);
        }
    }
    ss_free(points);
}

/* --- arrows ----------------------------------------------------------------------------------- */

/* From the begin of a range to the begin of another, to which viewers attach it. */
struct arrow {
    uint32_t from, to;
};

struct arrows ss_vec_of(struct arrow);

static int compare_arrows(const void *left, const void *right)
{
    const struct arrow *a = left, *b = right;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Ids that recorded flows do not have: theirs are counted, or hashed from smaller numbers. */
static uint64_t arrow_id(size_t number)
{
    return ss_hash_u64(UINT64_MAX - number);
}

static void write_arrow_point(struct lanes *lanes, const char *phase, const char *kind, uint64_t id,
                              uint32_t range)
{
    struct ss_chrome_writing *writing = lanes->writing;
    const struct ss_model_range *at = &writing->selection->model->ranges.data[range];
    begin_event(lanes, phase, at->track, at->lane, at->begin_ns);
    ss_sink_format(writing->sink, ",\"cat\":\"%s\",\"name\":\"%s\",\"id\":\"0x%" PRIx64 "\"%s}",
                   kind, kind, id, phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
}

static bool is_drawn(const struct ss_chrome_writing *writing, uint32_t range)
{
    const struct ss_model_range *row = &writing->selection->model->ranges.data[range];
    return (row->flags & SS_RANGE_OUTSIDE) == 0 && has_track(writing, row->track);
}

/* Arrows of one origin share its first point: the launch of a graph has much work. */
static void write_arrows(struct lanes *lanes, const char *kind, struct arrows *arrows)
{
    struct ss_chrome_writing *writing = lanes->writing;
    if (arrows->count > 1) {
        qsort(arrows->data, arrows->count, sizeof *arrows->data, compare_arrows);
    }
    for (size_t i = 0; i < arrows->count && !ss_sink_failed(writing->sink); i++) {
        const struct arrow *arrow = &arrows->data[i];
        if (i == 0 || arrow[-1].from != arrow->from) {
            write_arrow_point(lanes, "s", kind, arrow_id(++lanes->arrows), arrow->from);
        }
        write_arrow_point(lanes, "f", kind, arrow_id(lanes->arrows), arrow->to);
    }
}

static void add_arrow(const struct lanes *lanes, struct arrows *arrows, uint32_t from, uint32_t to)
{
    if (is_drawn(lanes->writing, from) && is_drawn(lanes->writing, to)) {
        ss_vec_push(arrows, (struct arrow){from, to});
    }
}

static void write_launches(struct lanes *lanes)
{
    const struct ss_device_works *works = ss_selection_works(lanes->writing->selection);
    struct arrows arrows = {0};
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->launch != 0) {
            add_arrow(lanes, &arrows, work->launch - 1, work->range);
        }
    }
    write_arrows(lanes, "ac2g", &arrows);
    ss_vec_fini(&arrows);
}

static void write_event_waits(struct lanes *lanes)
{
    const struct ss_device_works *works = ss_selection_works(lanes->writing->selection);
    struct arrows arrows = {0};
    for (size_t i = 0; i < works->event_waits.count; i++) {
        add_arrow(lanes, &arrows, works->event_waits.data[i].recorded,
                  works->event_waits.data[i].wait);
    }
    write_arrows(lanes, "event", &arrows);
    ss_vec_fini(&arrows);
}

static void write_autograd(struct lanes *lanes)
{
    const struct ss_model *model = lanes->writing->selection->model;
    ss_autograd_operators operators = {0};
    ss_autograd_pairs pairs = {0};
    struct arrows arrows = {0};
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t name = model->paths.data[range->path].name;
        if (model->names.data[name].type == SS_EVENT_TYPE_operator) {
            ss_autograd_add(&operators, model, i, model->tracks.data[range->track].process);
        }
    }
    ss_autograd_join(&operators, &pairs);
    for (size_t i = 0; i < pairs.count; i++) {
        add_arrow(lanes, &arrows, pairs.data[i].forward, pairs.data[i].backward);
    }
    write_arrows(lanes, "fwdbwd", &arrows);
    ss_vec_fini(&arrows);
    ss_vec_fini(&pairs);
    ss_vec_fini(&operators);
}

/* --- counters ------------------------------------------------------------------------------- */

/* "host;disk sda;read": groups first, outermost to innermost. */
static void append_series(const struct ss_model *model, uint32_t track, struct ss_strbuf *name)
{
    uint32_t groups[16], count = 0;
    for (uint32_t at = model->tracks.data[track].parent; at != 0 && count < 16;
         at = model->tracks.data[at].parent) {
        groups[count++] = at;
    }
    while (count > 0) {
        uint32_t text = model->tracks.data[groups[--count]].name;
        ss_strbuf_append_view(name, ss_intern_get(&model->strings, text));
        ss_strbuf_append_char(name, ';');
    }
    ss_strbuf_append_view(name, ss_intern_get(&model->strings, model->tracks.data[track].name));
}

static void write_value(struct ss_chrome_writing *writing, const struct ss_model_value *value,
                        struct ss_strview name, struct ss_strview unit)
{
    if (!value->is_integer && !isfinite(value->real)) {
        return;
    }
    ss_chrome_begin_event(writing);
    ss_sink_format(writing->sink, "\"ph\":\"C\",\"pid\":%" PRId64 ",\"tid\":0,\"ts\":",
                   pid_of(writing, value->track));
    ss_json_write_us(writing->sink, since_base(writing, value->track, value->time_ns));
    ss_sink_text(writing->sink, ",\"name\":");
    ss_json_write_plain(writing->sink, name);
    ss_sink_text(writing->sink, ",\"args\":{");
    ss_json_write_plain(writing->sink, unit);
    ss_sink_text(writing->sink, ":");
    if (value->is_integer) {
        ss_sink_format(writing->sink, "%" PRId64, value->integer);
    } else {
        ss_chrome_write_real(writing->sink, value->real);
    }
    ss_sink_text(writing->sink, "}}");
}

static void write_counters(struct ss_chrome_writing *writing)
{
    const struct ss_model *model = writing->selection->model;
    struct ss_strbuf name;
    ss_strbuf_init(&name, NAME_BYTES);
    uint32_t named = 0;
    for (size_t i = 0; i < model->values.count && !ss_sink_failed(writing->sink); i++) {
        const struct ss_model_value *value = &model->values.data[i];
        if (!has_track(writing, value->track)) {
            continue;
        }
        if (value->track != named) {
            named = value->track;
            ss_strbuf_clear(&name);
            append_series(model, named, &name);
            ss_chrome_name_process(writing, ss_chrome_owner(writing, named));
        }
        uint32_t unit = model->tracks.data[value->track].unit;
        write_value(writing, value, (struct ss_strview){name.data, name.length},
                    unit != 0 ? ss_intern_get(&model->strings, unit) : ss_strview_of("value"));
    }
    ss_strbuf_fini(&name);
}

void ss_chrome_write_tracks(struct ss_chrome_writing *writing)
{
    struct lanes lanes = {.writing = writing};
    write_ranges(&lanes);
    write_marks(&lanes);
    write_flows(&lanes);
    write_launches(&lanes);
    write_event_waits(&lanes);
    write_autograd(&lanes);
    write_counters(writing);
    ss_pair_ids_fini(&lanes.ids);
    ss_vec_fini(&lanes.lanes);
}
