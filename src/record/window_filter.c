/* SPDX-License-Identifier: Apache-2.0 */
#include "record/window_filter.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"

/* Stamps are converted with a clock that is compared with the system's periodically: the times may
 * be off by this much. */
static const uint64_t slack_ns = UINT64_C(1000000);
enum { MAX_OPEN = 4096 }; /* per lane; deeper ranges are omitted, not cut */
/* A step that begins with a window has the stamp of its edge; the times may differ by rounding. */
static const uint64_t same_ns = UINT64_C(1000);

struct edge {
    struct ss_window_edge window_edge; /* window: the one that opens or closes */
    uint64_t time_ns;                  /* not before the preceding edge */
    uint32_t window_owner;             /* ref of another process; 0: this process */
    bool opens;
};

/* The current step, epoch and phase. */
enum { STEP, EPOCH, PHASE, SEQUENCE_COUNT };
struct sequence {
    bool is_known;
    struct ss_annot_event begin;
};

struct open_range {
    struct ss_annot_event begin;
    bool is_emitted;
};

/* Open ranges of one thread, or all open asynchronous ranges. */
struct lane {
    uint32_t thread;
    bool is_open;          /* after edges[0 … next_edge) */
    uint32_t window;       /* the open one */
    uint32_t window_owner; /* ref of another process; 0: this process */
    size_t next_edge;      /* earlier edges are applied */
    uint32_t too_deep;
    struct ss_vec_of(struct open_range) ranges;
};

struct ss_window_filter {
    struct ss_annot_sink to;
    struct ss_window_filter_options options;
    struct ss_vec_of(struct ss_annot_event) queue, async_queue, step_queue;
    struct ss_vec_of(struct edge) edges;
    struct ss_vec_of(struct lane) lanes;
    struct lane async, steps; /* `steps` has no ranges, but sequences */
    struct sequence sequences[SEQUENCE_COUNT];
    bool is_open;          /* before edges[0] */
    uint32_t first_window; /* the window before edges[0], and its owner */
    uint32_t first_window_owner;
    uint32_t window_owner; /* of the last edge */
    bool has_own_windows;
    bool will_be_open; /* after the last edge */
    bool passes_all;   /* a late filter without an edge so far */
    uint64_t window;   /* of the last edge */
    uint64_t step;     /* current */
    int64_t epoch;     /* current; -1: none */
    struct ss_window_counts counts;
};

/* --- edges ----------------------------------------------------------------------------------- */

static void emit(struct ss_window_filter *filter, const struct lane *lane,
                 const struct ss_annot_event *event)
{
    struct ss_annot_event out = *event;
    out.window = lane->window;
    out.leader = lane->window_owner;
    filter->to.event(filter->to.context, &out);
}

static void emit_begin(struct ss_window_filter *filter, const struct lane *lane,
                       struct open_range *range, uint64_t time_ns)
{
    struct ss_annot_event begin = range->begin;
    begin.unseen_begin = begin.time_ns < time_ns;
    begin.time_ns = time_ns;
    range->is_emitted = true;
    emit(filter, lane, &begin);
}

static void emit_end(struct ss_window_filter *filter, const struct lane *lane,
                     struct open_range *range, uint64_t time_ns, bool unseen)
{
    if (range->is_emitted) {
        struct ss_annot_event end = range->begin;
        end.kind = end.kind == SS_ANNOT_ASYNC_BEGIN ? SS_ANNOT_ASYNC_END : SS_ANNOT_RANGE_END;
        end.time_ns = time_ns;
        end.unseen_end = unseen;
        end.value_type = SS_RING_VALUE_NONE;
        end.value = 0;
        range->is_emitted = false;
        emit(filter, lane, &end);
    }
}

/* The edge carries the number of its step, because the record of the step may be lost. */
static void emit_sequences(struct ss_window_filter *filter, const struct edge *edge)
{
    struct sequence *step = &filter->sequences[STEP];
    int64_t number = edge->window_edge.step >= 0 ? edge->window_edge.step : 0;
    bool is_own = edge->window_owner == 0;
    if (is_own && (!step->is_known || (int64_t)step->begin.value != number)) {
        step->is_known = true;
        step->begin = (struct ss_annot_event){
            .kind = SS_ANNOT_STEP, .value_type = SS_RING_VALUE_SIGNED, .value = (uint64_t)number};
    }
    static const int outermost_first[] = {EPOCH, STEP, PHASE};
    for (int i = 0; i < SEQUENCE_COUNT; i++) {
        struct sequence *sequence = &filter->sequences[outermost_first[i]];
        if (sequence->is_known) {
            struct ss_annot_event begin = sequence->begin;
            begin.time_ns = edge->time_ns;
            emit(filter, &filter->steps, &begin);
        }
    }
}

static void apply_edge(struct ss_window_filter *filter, struct lane *lane, const struct edge *edge)
{
    if (edge->opens) {
        lane->window = edge->window_edge.window;
        lane->window_owner = edge->window_owner;
        for (size_t i = 0; i < lane->ranges.count; i++) {
            emit_begin(filter, lane, &lane->ranges.data[i], edge->time_ns);
        }
    } else {
        for (size_t i = lane->ranges.count; i > 0; i--) {
            emit_end(filter, lane, &lane->ranges.data[i - 1], edge->time_ns, true);
        }
    }
    if (lane == &filter->steps && filter->options.cuts_steps) {
        struct ss_annot_event end = {.kind = SS_ANNOT_STEPS_END,
                                     .time_ns = edge->time_ns,
                                     .unseen_end = edge->window_edge.is_cut};
        if (edge->opens) {
            emit_sequences(filter, edge);
        } else {
            emit(filter, lane, &end);
        }
    }
    lane->is_open = edge->opens;
    lane->window = edge->opens ? edge->window_edge.window : 0;
    lane->window_owner = edge->opens ? edge->window_owner : 0;
}

static void apply_edges(struct ss_window_filter *filter, struct lane *lane, uint64_t until_ns)
{
    while (lane->next_edge < filter->edges.count &&
           filter->edges.data[lane->next_edge].time_ns <= until_ns) {
        apply_edge(filter, lane, &filter->edges.data[lane->next_edge++]);
    }
}

static struct ss_window_edge edge_of(const struct ss_window_filter *filter,
                                     const struct ss_annot_event *event, uint32_t window)
{
    return (struct ss_window_edge){.window = window,
                                   .time_ns = event->time_ns,
                                   .step = (int64_t)event->value,
                                   .epoch = filter->epoch,
                                   .batch = event->name,
                                   .is_cut = (event->detail & SS_RING_WINDOW_CUT) != 0};
}

static void push_edge(struct ss_window_filter *filter, const struct ss_window_edge *window_edge,
                      bool opens)
{
    size_t count = filter->edges.count;
    uint64_t last_ns = count > 0 ? filter->edges.data[count - 1].time_ns : 0;
    struct edge edge = {*window_edge,
                        window_edge->time_ns > last_ns ? window_edge->time_ns : last_ns,
                        filter->window_owner, opens};
    ss_vec_push(&filter->edges, edge);
    filter->will_be_open = opens;
}

static void add_edge(struct ss_window_filter *filter, const struct ss_window_edge *window_edge,
                     bool opens)
{
    const struct ss_window_hooks *hooks = &filter->options.hooks;
    void (*hook)(void *, const struct ss_window_edge *) = opens ? hooks->begins : hooks->ends;
    push_edge(filter, window_edge, opens);
    if (hook != NULL && window_edge->window != 0) {
        hook(hooks->context, window_edge);
    }
}

void ss_window_filter_follow(struct ss_window_filter *filter, uint32_t window_owner,
                             const struct ss_window_edge *edge, bool opens)
{
    if (filter->has_own_windows || (!opens && !filter->will_be_open)) {
        return;
    }
    if (opens && filter->will_be_open) {
        struct ss_window_edge end = {.window = (uint32_t)filter->window, .time_ns = edge->time_ns};
        push_edge(filter, &end, false);
    }
    filter->passes_all = false;
    filter->window_owner = window_owner;
    filter->window = opens ? edge->window : 0;
    push_edge(filter, edge, opens);
}

bool ss_window_filter_holds(const struct ss_window_filter *filter, uint32_t window_owner,
                            uint32_t window)
{
    for (size_t i = 0; i < filter->edges.count; i++) {
        const struct edge *edge = &filter->edges.data[i];
        if (!edge->opens && edge->window_owner == window_owner &&
            edge->window_edge.window == window) {
            return true;
        }
    }
    return false;
}

/* The process has windows of its own now, or has ended. */
static void stop_following(struct ss_window_filter *filter, uint64_t time_ns)
{
    filter->has_own_windows = true;
    if (filter->window_owner != 0) {
        struct ss_window_edge end = {.window = (uint32_t)filter->window, .time_ns = time_ns};
        if (filter->will_be_open) {
            push_edge(filter, &end, false);
        }
        filter->window_owner = 0;
        filter->window = 0;
    }
}

/* A window may continue with another action: its last step saves it. */
static void on_window(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    stop_following(filter, event->time_ns);
    bool is_cut = (event->detail & SS_RING_WINDOW_CUT) != 0;
    if (filter->will_be_open && event->id == filter->window && !is_cut && !filter->passes_all) {
        return;
    }
    if (filter->will_be_open) {
        struct ss_window_edge edge = edge_of(filter, event, (uint32_t)filter->window);
        filter->counts.partial += is_cut && !filter->passes_all;
        add_edge(filter, &edge, false);
    }
    filter->passes_all = false;
    if (event->id != 0) {
        struct ss_window_edge edge = edge_of(filter, event, (uint32_t)event->id);
        filter->counts.windows++;
        add_edge(filter, &edge, true);
    }
    filter->window = event->id;
}

/* --- ranges ---------------------------------------------------------------------------------- */

static void begin_range(struct ss_window_filter *filter, struct lane *lane,
                        const struct ss_annot_event *event)
{
    if (lane->ranges.count >= MAX_OPEN) {
        lane->too_deep++;
        return;
    }
    struct open_range range = {.begin = *event};
    ss_vec_push(&lane->ranges, range);
    if (lane->is_open) {
        emit_begin(filter, lane, &lane->ranges.data[lane->ranges.count - 1], event->time_ns);
    } else {
        filter->counts.left_out++;
    }
}

static bool is_end_of(const struct ss_annot_event *end, const struct ss_annot_event *begin)
{
    return end->kind == SS_ANNOT_ASYNC_END ? end->id == begin->id : end->domain == begin->domain;
}

static void end_range(struct ss_window_filter *filter, struct lane *lane,
                      const struct ss_annot_event *event)
{
    if (lane->too_deep > 0 && event->kind == SS_ANNOT_RANGE_END) {
        lane->too_deep--;
        return;
    }
    for (size_t i = lane->ranges.count; i > 0; i--) {
        if (is_end_of(event, &lane->ranges.data[i - 1].begin)) {
            emit_end(filter, lane, &lane->ranges.data[i - 1], event->time_ns, event->unseen_end);
            for (size_t k = i; k < lane->ranges.count; k++) {
                lane->ranges.data[k - 1] = lane->ranges.data[k];
            }
            lane->ranges.count--;
            return;
        }
    }
    if (filter->options.is_late && lane->is_open && lane->window == 0) {
        emit(filter, lane, event); /* it began before the filter existed */
    }
}

static void handle_event(struct ss_window_filter *filter, struct lane *lane,
                         const struct ss_annot_event *event)
{
    apply_edges(filter, lane, event->time_ns);
    if (event->kind == SS_ANNOT_RANGE_BEGIN || event->kind == SS_ANNOT_ASYNC_BEGIN) {
        begin_range(filter, lane, event);
    } else if (event->kind == SS_ANNOT_RANGE_END || event->kind == SS_ANNOT_ASYNC_END) {
        end_range(filter, lane, event);
    } else if (lane->is_open) {
        emit(filter, lane, event);
    } else {
        filter->counts.left_out++;
    }
}

static struct lane *lane_of(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    while (event->lane >= filter->lanes.count) {
        struct lane lane = {.is_open = filter->is_open,
                            .window = filter->first_window,
                            .window_owner = filter->first_window_owner};
        ss_vec_push(&filter->lanes, lane);
    }
    struct lane *lane = &filter->lanes.data[event->lane];
    if (lane->thread != event->thread) { /* the previous thread has ended, with its ranges */
        lane->thread = event->thread;
        lane->ranges.count = 0;
        lane->too_deep = 0;
    }
    return lane;
}

static int compare_times(const void *a, const void *b)
{
    const struct ss_annot_event *x = a, *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    /* At equal times a begin precedes an end. */
    return (x->kind == SS_ANNOT_ASYNC_END) - (y->kind == SS_ANNOT_ASYNC_END);
}

/* --- the queues ------------------------------------------------------------------------------ */

static void decide_lanes(struct ss_window_filter *filter, uint64_t until_ns)
{
    size_t remaining = 0;
    for (size_t i = 0; i < filter->queue.count; i++) {
        struct ss_annot_event *event = &filter->queue.data[i];
        if (event->time_ns < until_ns) {
            handle_event(filter, lane_of(filter, event), event);
        } else {
            filter->queue.data[remaining++] = *event;
        }
    }
    filter->queue.count = remaining;
    for (size_t i = 0; i < filter->lanes.count; i++) {
        apply_edges(filter, &filter->lanes.data[i], until_ns);
    }
}

/* Begin and end may come from the rings of two threads, in any order. */
static void decide_async(struct ss_window_filter *filter, uint64_t until_ns)
{
    size_t done = 0, count = filter->async_queue.count;
    if (count > 1) {
        qsort(filter->async_queue.data, count, sizeof *filter->async_queue.data, compare_times);
    }
    for (; done < count && filter->async_queue.data[done].time_ns < until_ns; done++) {
        handle_event(filter, &filter->async, &filter->async_queue.data[done]);
    }
    for (size_t i = done; i < count; i++) {
        filter->async_queue.data[i - done] = filter->async_queue.data[i];
    }
    filter->async_queue.count = count - done;
    apply_edges(filter, &filter->async, until_ns);
}

static int sequence_of(enum ss_annot_kind kind)
{
    return kind == SS_ANNOT_STEP ? STEP : kind == SS_ANNOT_EPOCH ? EPOCH : PHASE;
}

/* A step at the edge of two windows is the first of the opening one, not the last of the closing
 * one. */
static void handle_step(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    struct lane *lane = &filter->steps;
    apply_edges(filter, lane, event->time_ns > 0 ? event->time_ns - 1 : 0);
    if (lane->next_edge < filter->edges.count && !filter->edges.data[lane->next_edge].opens &&
        filter->edges.data[lane->next_edge].time_ns <= event->time_ns + same_ns) {
        apply_edge(filter, lane, &filter->edges.data[lane->next_edge++]);
    }
    struct sequence *sequence = &filter->sequences[sequence_of(event->kind)];
    bool is_another = event->kind == SS_ANNOT_PHASE ||
                      (event->kind == SS_ANNOT_STEP && event->detail == SS_RING_STEP_OVERRULES);
    bool is_emitted =
        lane->is_open && !is_another && sequence->is_known && sequence->begin.value == event->value;
    bool opens = lane->next_edge < filter->edges.count &&
                 filter->edges.data[lane->next_edge].opens &&
                 filter->edges.data[lane->next_edge].time_ns <= event->time_ns + same_ns;
    sequence->begin = *event;
    sequence->is_known = event->kind != SS_ANNOT_PHASE || event->name != 0;
    if (lane->is_open && !is_emitted && !opens) {
        emit(filter, lane, event);
    }
}

static void decide_steps(struct ss_window_filter *filter, uint64_t until_ns)
{
    size_t done = 0, count = filter->step_queue.count;
    for (; done < count && filter->step_queue.data[done].time_ns < until_ns; done++) {
        handle_step(filter, &filter->step_queue.data[done]);
    }
    for (size_t i = done; i < count; i++) {
        filter->step_queue.data[i - done] = filter->step_queue.data[i];
    }
    filter->step_queue.count = count - done;
    apply_edges(filter, &filter->steps, until_ns);
}

/* Steps may come from the rings of several threads: sorted by time. */
static void queue_step(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    ss_vec_push(&filter->step_queue, *event);
    struct ss_annot_event *queue = filter->step_queue.data;
    for (size_t i = filter->step_queue.count - 1; i > 0 && queue[i - 1].time_ns > queue[i].time_ns;
         i--) {
        struct ss_annot_event later = queue[i - 1];
        queue[i - 1] = queue[i];
        queue[i] = later;
    }
}

/* Removes the edges that every lane has applied. */
static void remove_applied_edges(struct ss_window_filter *filter)
{
    size_t applied = filter->async.next_edge < filter->steps.next_edge ? filter->async.next_edge
                                                                       : filter->steps.next_edge;
    for (size_t i = 0; i < filter->lanes.count; i++) {
        size_t next = filter->lanes.data[i].next_edge;
        applied = next < applied ? next : applied;
    }
    if (applied == 0) {
        return;
    }
    const struct edge *last = &filter->edges.data[applied - 1];
    filter->is_open = last->opens;
    filter->first_window = last->opens ? last->window_edge.window : 0;
    filter->first_window_owner = last->opens ? last->window_owner : 0;
    for (size_t i = 0; i < applied; i++) {
        const struct edge *edge = &filter->edges.data[i];
        if (!edge->opens && edge->window_edge.window != 0 && edge->window_owner == 0 &&
            filter->options.hooks.passed != NULL) {
            filter->options.hooks.passed(filter->options.hooks.context, edge->window_edge.window);
        }
    }
    for (size_t i = applied; i < filter->edges.count; i++) {
        filter->edges.data[i - applied] = filter->edges.data[i];
    }
    filter->edges.count -= applied;
    filter->async.next_edge -= applied;
    filter->steps.next_edge -= applied;
    for (size_t i = 0; i < filter->lanes.count; i++) {
        filter->lanes.data[i].next_edge -= applied;
    }
}

static void decide(struct ss_window_filter *filter, uint64_t until_ns)
{
    decide_lanes(filter, until_ns);
    decide_async(filter, until_ns);
    decide_steps(filter, until_ns);
    remove_applied_edges(filter);
}

void ss_window_filter_drained(struct ss_window_filter *filter, uint64_t began_ns)
{
    decide(filter, began_ns > slack_ns ? began_ns - slack_ns : 0);
}

/* A killed program has not marked the end of its window. */
static void on_end(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    if (filter->window_owner != 0) {
        stop_following(filter, event->time_ns);
    } else if (filter->will_be_open && !filter->passes_all) {
        struct ss_annot_event cut = {.kind = SS_ANNOT_WINDOW,
                                     .time_ns = event->time_ns,
                                     .detail = SS_RING_WINDOW_CUT,
                                     .value = filter->step};
        on_window(filter, &cut);
        filter->to.event(filter->to.context, &cut);
    }
    decide(filter, UINT64_MAX);
}

/* --- the sink interface ---------------------------------------------------------------------- */

static void on_event(void *context, const struct ss_annot_event *event)
{
    struct ss_window_filter *filter = context;
    switch (event->kind) {
    case SS_ANNOT_RANGE_BEGIN:
    case SS_ANNOT_RANGE_END:
    case SS_ANNOT_MARK:
    case SS_ANNOT_COUNT:
    case SS_ANNOT_FLOW:
    case SS_ANNOT_LINE:
        ss_vec_push(&filter->queue, *event);
        return;
    case SS_ANNOT_ASYNC_BEGIN:
    case SS_ANNOT_ASYNC_END:
        ss_vec_push(&filter->async_queue, *event);
        return;
    case SS_ANNOT_WINDOW:
        on_window(filter, event);
        break;
    case SS_ANNOT_STEP:
        filter->step = event->value;
        if (filter->options.cuts_steps) {
            queue_step(filter, event);
            return;
        }
        break;
    case SS_ANNOT_EPOCH:
        filter->epoch = (int64_t)event->value;
        if (filter->options.cuts_steps) {
            queue_step(filter, event);
            return;
        }
        break;
    case SS_ANNOT_PHASE:
        if (filter->options.cuts_steps) {
            queue_step(filter, event);
            return;
        }
        break;
    case SS_ANNOT_PROCESS_END:
        on_end(filter, event);
        break;
    default:
        break;
    }
    filter->to.event(filter->to.context, event);
}

static void on_name(void *context, const struct ss_annot_name *name)
{
    struct ss_window_filter *filter = context;
    filter->to.name(filter->to.context, name);
}

static void on_domain(void *context, uint32_t id, struct ss_strview text)
{
    struct ss_window_filter *filter = context;
    filter->to.domain(filter->to.context, id, text);
}

static void on_counter(void *context, uint32_t name, uint32_t unit, enum ss_ring_counter kind)
{
    struct ss_window_filter *filter = context;
    filter->to.counter(filter->to.context, name, unit, kind);
}

struct ss_window_filter *ss_window_filter_new(const struct ss_annot_sink *to,
                                              const struct ss_window_filter_options *options)
{
    struct ss_window_filter *filter = ss_alloc_zero(1, sizeof *filter);
    filter->to = *to;
    filter->epoch = -1;
    if (options != NULL) {
        filter->options = *options;
    }
    filter->passes_all = filter->is_open = filter->will_be_open = filter->options.is_late;
    filter->async.is_open = filter->steps.is_open = filter->options.is_late;
    return filter;
}

void ss_window_filter_free(struct ss_window_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    for (size_t i = 0; i < filter->lanes.count; i++) {
        ss_vec_fini(&filter->lanes.data[i].ranges);
    }
    ss_vec_fini(&filter->lanes);
    ss_vec_fini(&filter->async.ranges);
    ss_vec_fini(&filter->queue);
    ss_vec_fini(&filter->async_queue);
    ss_vec_fini(&filter->step_queue);
    ss_vec_fini(&filter->edges);
    ss_free(filter);
}

struct ss_annot_sink ss_window_filter_sink(struct ss_window_filter *filter)
{
    return (struct ss_annot_sink){.context = filter,
                                  .name = on_name,
                                  .domain = on_domain,
                                  .counter = on_counter,
                                  .event = on_event};
}

struct ss_window_counts ss_window_filter_counts(const struct ss_window_filter *filter)
{
    return filter->counts;
}
