/* SPDX-License-Identifier: Apache-2.0 */
#include "record/window_filter.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"

/* Stamps become times by a clock that is compared with the system's once in a while: they may be
 * off by this much. */
static const uint64_t slack_ns = UINT64_C(1000000);
enum { MAX_OPEN = 4096 }; /* of a lane; what is deeper is not cut, but left out */

struct edge {
    uint64_t time_ns;
    bool opens;
};

struct open_range {
    struct ss_annot_event begin;
    bool is_shown;
};

/* Ranges that are open on one thread, or all the asynchronous ones. */
struct lane {
    uint32_t thread;
    bool is_open;     /* the window, behind edges[0 … next_edge) */
    size_t next_edge; /* what comes before is applied */
    uint32_t too_deep;
    struct ss_vec_of(struct open_range) ranges;
};

struct ss_window_filter {
    struct ss_annot_sink to;
    struct ss_vec_of(struct ss_annot_event) queue, async_queue;
    struct ss_vec_of(struct edge) edges;
    struct ss_vec_of(struct lane) lanes;
    struct lane async;
    bool is_open;      /* before edges[0] */
    bool will_be_open; /* behind the last edge */
    uint64_t window;   /* of the last edge */
    uint64_t step;     /* under way */
    struct ss_window_counts counts;
};

/* --- edges ----------------------------------------------------------------------------------- */

static void show(struct ss_window_filter *filter, struct open_range *range, uint64_t time_ns)
{
    struct ss_annot_event begin = range->begin;
    begin.time_ns = time_ns;
    range->is_shown = true;
    filter->to.event(filter->to.context, &begin);
}

static void hide(struct ss_window_filter *filter, struct open_range *range, uint64_t time_ns,
                 bool unseen)
{
    if (range->is_shown) {
        struct ss_annot_event end = range->begin;
        end.kind = end.kind == SS_ANNOT_ASYNC_BEGIN ? SS_ANNOT_ASYNC_END : SS_ANNOT_RANGE_END;
        end.time_ns = time_ns;
        end.unseen_end = unseen;
        end.value_type = SS_RING_VALUE_NONE;
        end.value = 0;
        range->is_shown = false;
        filter->to.event(filter->to.context, &end);
    }
}

static void apply_edge(struct ss_window_filter *filter, struct lane *lane, const struct edge *edge)
{
    if (edge->opens) {
        for (size_t i = 0; i < lane->ranges.count; i++) {
            show(filter, &lane->ranges.data[i], edge->time_ns);
        }
    } else {
        for (size_t i = lane->ranges.count; i > 0; i--) {
            hide(filter, &lane->ranges.data[i - 1], edge->time_ns, true);
        }
    }
    lane->is_open = edge->opens;
}

static void apply_edges(struct ss_window_filter *filter, struct lane *lane, uint64_t until_ns)
{
    while (lane->next_edge < filter->edges.count &&
           filter->edges.data[lane->next_edge].time_ns <= until_ns) {
        apply_edge(filter, lane, &filter->edges.data[lane->next_edge++]);
    }
}

static void add_edge(struct ss_window_filter *filter, uint64_t time_ns, bool opens)
{
    size_t count = filter->edges.count;
    uint64_t last_ns = count > 0 ? filter->edges.data[count - 1].time_ns : 0;
    struct edge edge = {time_ns > last_ns ? time_ns : last_ns, opens};
    ss_vec_push(&filter->edges, edge);
    filter->will_be_open = opens;
}

/* A window may go on with another action: the last of its steps saves it. */
static void on_window(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    bool is_cut = (event->detail & SS_RING_WINDOW_CUT) != 0;
    if (filter->will_be_open && event->id == filter->window && !is_cut) {
        return;
    }
    if (filter->will_be_open) {
        filter->counts.partial += is_cut;
        add_edge(filter, event->time_ns, false);
    }
    if (event->id != 0) {
        filter->counts.windows++;
        add_edge(filter, event->time_ns, true);
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
        show(filter, &lane->ranges.data[lane->ranges.count - 1], event->time_ns);
    }
}

static bool ends(const struct ss_annot_event *end, const struct ss_annot_event *begin)
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
        if (ends(event, &lane->ranges.data[i - 1].begin)) {
            hide(filter, &lane->ranges.data[i - 1], event->time_ns, event->unseen_end);
            for (size_t k = i; k < lane->ranges.count; k++) {
                lane->ranges.data[k - 1] = lane->ranges.data[k];
            }
            lane->ranges.count--;
            return;
        }
    }
}

static void handle(struct ss_window_filter *filter, struct lane *lane,
                   const struct ss_annot_event *event)
{
    apply_edges(filter, lane, event->time_ns);
    if (event->kind == SS_ANNOT_RANGE_BEGIN || event->kind == SS_ANNOT_ASYNC_BEGIN) {
        begin_range(filter, lane, event);
    } else if (event->kind == SS_ANNOT_RANGE_END || event->kind == SS_ANNOT_ASYNC_END) {
        end_range(filter, lane, event);
    } else if (lane->is_open) {
        filter->to.event(filter->to.context, event);
    }
}

static struct lane *lane_of(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    while (event->lane >= filter->lanes.count) {
        struct lane lane = {.is_open = filter->is_open};
        ss_vec_push(&filter->lanes, lane);
    }
    struct lane *lane = &filter->lanes.data[event->lane];
    if (lane->thread != event->thread) { /* the last one has ended, and its ranges with it */
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
    /* What begins and ends at the same instant begins first. */
    return (x->kind == SS_ANNOT_ASYNC_END) - (y->kind == SS_ANNOT_ASYNC_END);
}

/* --- the queues ------------------------------------------------------------------------------ */

static void decide_lanes(struct ss_window_filter *filter, uint64_t until_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < filter->queue.count; i++) {
        struct ss_annot_event *event = &filter->queue.data[i];
        if (event->time_ns < until_ns) {
            handle(filter, lane_of(filter, event), event);
        } else {
            filter->queue.data[kept++] = *event;
        }
    }
    filter->queue.count = kept;
    for (size_t i = 0; i < filter->lanes.count; i++) {
        apply_edges(filter, &filter->lanes.data[i], until_ns);
    }
}

/* Begin and end may come from rings of two threads, in any order. */
static void decide_async(struct ss_window_filter *filter, uint64_t until_ns)
{
    size_t done = 0, count = filter->async_queue.count;
    if (count > 1) {
        qsort(filter->async_queue.data, count, sizeof *filter->async_queue.data, compare_times);
    }
    for (; done < count && filter->async_queue.data[done].time_ns < until_ns; done++) {
        handle(filter, &filter->async, &filter->async_queue.data[done]);
    }
    for (size_t i = done; i < count; i++) {
        filter->async_queue.data[i - done] = filter->async_queue.data[i];
    }
    filter->async_queue.count = count - done;
    apply_edges(filter, &filter->async, until_ns);
}

/* Edges that every lane has passed. */
static void forget_edges(struct ss_window_filter *filter)
{
    size_t passed = filter->async.next_edge;
    for (size_t i = 0; i < filter->lanes.count; i++) {
        size_t next = filter->lanes.data[i].next_edge;
        passed = next < passed ? next : passed;
    }
    if (passed == 0) {
        return;
    }
    filter->is_open = filter->edges.data[passed - 1].opens;
    for (size_t i = passed; i < filter->edges.count; i++) {
        filter->edges.data[i - passed] = filter->edges.data[i];
    }
    filter->edges.count -= passed;
    filter->async.next_edge -= passed;
    for (size_t i = 0; i < filter->lanes.count; i++) {
        filter->lanes.data[i].next_edge -= passed;
    }
}

static void decide(struct ss_window_filter *filter, uint64_t until_ns)
{
    decide_lanes(filter, until_ns);
    decide_async(filter, until_ns);
    forget_edges(filter);
}

void ss_window_filter_drained(struct ss_window_filter *filter, uint64_t began_ns)
{
    decide(filter, began_ns > slack_ns ? began_ns - slack_ns : 0);
}

/* A program that was killed has not said that its window ends. */
static void on_end(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    if (filter->will_be_open) {
        struct ss_annot_event cut = {.kind = SS_ANNOT_WINDOW,
                                     .time_ns = event->time_ns,
                                     .detail = SS_RING_WINDOW_CUT,
                                     .value = filter->step};
        on_window(filter, &cut);
        filter->to.event(filter->to.context, &cut);
    }
    decide(filter, UINT64_MAX);
}

/* --- as a sink ------------------------------------------------------------------------------- */

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

struct ss_window_filter *ss_window_filter_new(const struct ss_annot_sink *to)
{
    struct ss_window_filter *filter = ss_alloc_zero(1, sizeof *filter);
    filter->to = *to;
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
