/* SPDX-License-Identifier: Apache-2.0 */
#include "record/windows/window_filter.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "record/windows/window_filter_inside.h"

/* Stamps are converted with a clock that is compared with the system's periodically: the times may
 * be off by this much. */
static const uint64_t slack_ns = UINT64_C(1000000);
/* A step that begins with a window has the stamp of its edge; the times may differ by rounding. */
static const uint64_t same_ns = UINT64_C(1000);

/* --- the queues ------------------------------------------------------------------------------ */

static struct ss_filter_lane *lane_of(struct ss_window_filter *filter,
                                      const struct ss_annot_event *event)
{
    while (event->lane >= filter->lanes.count) {
        struct ss_filter_lane lane = {.is_open = filter->is_open,
                                      .window = filter->first_window,
                                      .window_owner = filter->first_window_owner};
        ss_vec_push(&filter->lanes, lane);
    }
    struct ss_filter_lane *lane = &filter->lanes.data[event->lane];
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
    /* At equal times a start precedes an end. */
    return (x->kind == SS_ANNOT_ASYNC_END) - (y->kind == SS_ANNOT_ASYNC_END);
}

static void decide_lanes(struct ss_window_filter *filter, uint64_t until_ns)
{
    size_t remaining = 0;
    for (size_t i = 0; i < filter->queue.count; i++) {
        struct ss_annot_event *event = &filter->queue.data[i];
        if (event->time_ns < until_ns) {
            ss_filter_handle_event(filter, lane_of(filter, event), event);
        } else {
            filter->queue.data[remaining++] = *event;
        }
    }
    filter->queue.count = remaining;
    for (size_t i = 0; i < filter->lanes.count; i++) {
        ss_filter_apply_edges(filter, &filter->lanes.data[i], until_ns);
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
        ss_filter_handle_event(filter, &filter->async, &filter->async_queue.data[done]);
    }
    for (size_t i = done; i < count; i++) {
        filter->async_queue.data[i - done] = filter->async_queue.data[i];
    }
    filter->async_queue.count = count - done;
    ss_filter_apply_edges(filter, &filter->async, until_ns);
}

static int sequence_of(enum ss_annot_kind kind)
{
    return kind == SS_ANNOT_STEP    ? SS_FILTER_STEP
           : kind == SS_ANNOT_EPOCH ? SS_FILTER_EPOCH
                                    : SS_FILTER_PHASE;
}

/* A step at the edge of two windows is the first of the opening one, not the last of the closing
 * one. */
static void handle_step(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    struct ss_filter_lane *lane = &filter->steps;
    ss_filter_apply_edges(filter, lane, event->time_ns > 0 ? event->time_ns - 1 : 0);
    if (lane->next_edge < filter->edges.count && !filter->edges.data[lane->next_edge].opens &&
        filter->edges.data[lane->next_edge].time_ns <= event->time_ns + same_ns) {
        ss_filter_apply_edge(filter, lane, &filter->edges.data[lane->next_edge++]);
    }
    struct ss_filter_sequence *sequence = &filter->sequences[sequence_of(event->kind)];
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
        ss_filter_emit(filter, lane, event);
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
    ss_filter_apply_edges(filter, &filter->steps, until_ns);
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
    const struct ss_filter_edge *last = &filter->edges.data[applied - 1];
    filter->is_open = last->opens;
    filter->first_window = last->opens ? last->window_edge.window : 0;
    filter->first_window_owner = last->opens ? last->window_owner : 0;
    for (size_t i = 0; i < applied; i++) {
        const struct ss_filter_edge *edge = &filter->edges.data[i];
        if (!edge->opens && edge->window_edge.window != 0 && edge->window_owner == 0 &&
            filter->options.hooks.drained != NULL) {
            filter->options.hooks.drained(filter->options.hooks.context, edge->window_edge.window);
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
        ss_filter_stop_following(filter, event->time_ns);
    } else if (filter->will_be_open && !filter->emits_all) {
        struct ss_annot_event cut = {.kind = SS_ANNOT_WINDOW,
                                     .time_ns = event->time_ns,
                                     .detail = SS_RING_WINDOW_CUT,
                                     .value = filter->step};
        ss_filter_on_window(filter, &cut);
        filter->to.event(filter->to.context, &cut);
    }
    decide(filter, UINT64_MAX);
}

/* --- the sink interface ---------------------------------------------------------------------- */

/* Long: one case for each kind of event. */
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
        ss_filter_on_window(filter, event);
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

static void on_counter(void *context, const struct ss_annot_counter *counter)
{
    struct ss_window_filter *filter = context;
    filter->to.counter(filter->to.context, counter);
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
    filter->emits_all = filter->is_open = filter->will_be_open = filter->options.is_late;
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
