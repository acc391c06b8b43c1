/* SPDX-License-Identifier: Apache-2.0 */
#include "record/windows/window_filter_inside.h"

enum { MAX_OPEN = 4096 }; /* per lane; deeper ranges are omitted, not cut */

/* --- edges ----------------------------------------------------------------------------------- */

void ss_filter_emit(struct ss_window_filter *filter, const struct ss_filter_lane *lane,
                    const struct ss_annot_event *event)
{
    struct ss_annot_event out = *event;
    out.window = lane->window;
    out.window_owner = lane->window_owner;
    filter->to.event(filter->to.context, &out);
}

static void emit_begin(struct ss_window_filter *filter, const struct ss_filter_lane *lane,
                       struct ss_filter_range *range, uint64_t time_ns)
{
    struct ss_annot_event begin = range->begin;
    begin.unseen_begin = begin.time_ns < time_ns;
    begin.time_ns = time_ns;
    range->is_emitted = true;
    ss_filter_emit(filter, lane, &begin);
}

static void emit_end(struct ss_window_filter *filter, const struct ss_filter_lane *lane,
                     struct ss_filter_range *range, uint64_t time_ns, bool unseen)
{
    if (range->is_emitted) {
        struct ss_annot_event end = range->begin;
        end.kind = end.kind == SS_ANNOT_ASYNC_BEGIN ? SS_ANNOT_ASYNC_END : SS_ANNOT_RANGE_END;
        end.time_ns = time_ns;
        end.unseen_end = unseen;
        end.value_type = SS_RING_VALUE_NONE;
        end.value = 0;
        range->is_emitted = false;
        ss_filter_emit(filter, lane, &end);
    }
}

/* The edge carries the number of its step, because the record of the step may be lost. */
static void emit_sequences(struct ss_window_filter *filter, const struct ss_filter_edge *edge)
{
    struct ss_filter_sequence *step = &filter->sequences[SS_FILTER_STEP];
    int64_t number = edge->window_edge.step >= 0 ? edge->window_edge.step : 0;
    bool is_own = edge->window_owner == 0;
    if (is_own && (!step->is_known || (int64_t)step->begin.value != number)) {
        step->is_known = true;
        step->begin = (struct ss_annot_event){
            .kind = SS_ANNOT_STEP, .value_type = SS_RING_VALUE_SIGNED, .value = (uint64_t)number};
    }
    static const int outermost_first[] = {SS_FILTER_EPOCH, SS_FILTER_STEP, SS_FILTER_PHASE};
    for (int i = 0; i < SS_FILTER_SEQUENCES; i++) {
        struct ss_filter_sequence *sequence = &filter->sequences[outermost_first[i]];
        if (sequence->is_known) {
            struct ss_annot_event begin = sequence->begin;
            begin.time_ns = edge->time_ns;
            ss_filter_emit(filter, &filter->steps, &begin);
        }
    }
}

void ss_filter_apply_edge(struct ss_window_filter *filter, struct ss_filter_lane *lane,
                          const struct ss_filter_edge *edge)
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
            ss_filter_emit(filter, lane, &end);
        }
    }
    lane->is_open = edge->opens;
    lane->window = edge->opens ? edge->window_edge.window : 0;
    lane->window_owner = edge->opens ? edge->window_owner : 0;
}

void ss_filter_apply_edges(struct ss_window_filter *filter, struct ss_filter_lane *lane,
                           uint64_t until_ns)
{
    while (lane->next_edge < filter->edges.count &&
           filter->edges.data[lane->next_edge].time_ns <= until_ns) {
        ss_filter_apply_edge(filter, lane, &filter->edges.data[lane->next_edge++]);
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
    struct ss_filter_edge edge = {*window_edge,
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
    filter->emits_all = false;
    filter->window_owner = window_owner;
    filter->window = opens ? edge->window : 0;
    push_edge(filter, edge, opens);
}

bool ss_window_filter_holds(const struct ss_window_filter *filter, uint32_t window_owner,
                            uint32_t window)
{
    for (size_t i = 0; i < filter->edges.count; i++) {
        const struct ss_filter_edge *edge = &filter->edges.data[i];
        if (!edge->opens && edge->window_owner == window_owner &&
            edge->window_edge.window == window) {
            return true;
        }
    }
    return false;
}

void ss_filter_stop_following(struct ss_window_filter *filter, uint64_t time_ns)
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

/* A capture may begin and end on two threads, whose events come in any order. Whether the event is
 * the end of another window than the open one. */
static bool is_of_another(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    if (event->closed == 0 || (filter->will_be_open && event->closed == filter->window)) {
        return false;
    }
    if (event->closed > filter->last_window) {
        filter->early_end = *event;
    }
    return true;
}

static void end_early(struct ss_window_filter *filter)
{
    struct ss_annot_event end = filter->early_end;
    if (end.closed != 0 && end.closed <= filter->window) {
        filter->early_end.closed = 0;
        if (end.closed == filter->window) {
            ss_filter_on_window(filter, &end);
        }
    }
}

/* A window may continue with another action: its last step saves it. */
void ss_filter_on_window(struct ss_window_filter *filter, const struct ss_annot_event *event)
{
    ss_filter_stop_following(filter, event->time_ns);
    if (is_of_another(filter, event)) {
        return;
    }
    bool is_cut = (event->detail & SS_RING_WINDOW_CUT) != 0;
    if (filter->will_be_open && event->id == filter->window && !is_cut && !filter->emits_all) {
        return;
    }
    if (filter->will_be_open) {
        struct ss_window_edge edge = edge_of(filter, event, (uint32_t)filter->window);
        filter->counts.partial += is_cut && !filter->emits_all;
        add_edge(filter, &edge, false);
    }
    filter->emits_all = false;
    if (event->id != 0) {
        struct ss_window_edge edge = edge_of(filter, event, (uint32_t)event->id);
        filter->counts.windows++;
        add_edge(filter, &edge, true);
    }
    filter->window = event->id;
    if (event->id != 0) {
        filter->last_window = event->id;
        end_early(filter);
    }
}

/* --- ranges ---------------------------------------------------------------------------------- */

static void begin_range(struct ss_window_filter *filter, struct ss_filter_lane *lane,
                        const struct ss_annot_event *event)
{
    if (lane->ranges.count >= MAX_OPEN) {
        lane->too_deep++;
        return;
    }
    struct ss_filter_range range = {.begin = *event};
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

static void end_range(struct ss_window_filter *filter, struct ss_filter_lane *lane,
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
        ss_filter_emit(filter, lane, event); /* it began before the filter existed */
    }
}

void ss_filter_handle_event(struct ss_window_filter *filter, struct ss_filter_lane *lane,
                            const struct ss_annot_event *event)
{
    ss_filter_apply_edges(filter, lane, event->time_ns);
    if (event->kind == SS_ANNOT_RANGE_BEGIN || event->kind == SS_ANNOT_ASYNC_BEGIN) {
        begin_range(filter, lane, event);
    } else if (event->kind == SS_ANNOT_RANGE_END || event->kind == SS_ANNOT_ASYNC_END) {
        end_range(filter, lane, event);
    } else if (lane->is_open) {
        ss_filter_emit(filter, lane, event);
    } else {
        filter->counts.left_out++;
    }
}
