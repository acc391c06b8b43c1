/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/steps.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "annot/schedule_text.h"
#include "base/capture.h"

void ss_steps_init(struct ss_steps *steps, const char *schedule, struct ss_ring_header *header)
{
    *steps = (struct ss_steps){
        .step = -1, .epoch = -1, .batch_is_unclaimed = true, .demands.header = header};
    struct ss_capture capture;
    bool has_capture = ss_capture_get(schedule, &capture);
    if (has_capture && capture.by != SS_CAPTURE_BY_STEPS) {
        steps->has_schedule = steps->is_captured = true;
        steps->most_captures = capture.most;
        steps->stays_open = capture.stays_open;
    } else if (has_capture || (schedule != NULL && strcmp(schedule, SS_DEMANDS_SCHEDULE) == 0)) {
        steps->has_schedule = true;
        steps->run.demands = &steps->demands;
        if (has_capture) {
            ss_demands_preset(&steps->demands, capture.first_step, capture.last_step);
        }
    } else {
        steps->has_schedule =
            schedule != NULL && ss_schedule_parse(schedule, &steps->run.schedule, NULL) == SS_OK;
    }
}

void ss_steps_forget(struct ss_steps *steps)
{
    *steps = (struct ss_steps){.has_schedule = steps->has_schedule,
                               .is_captured = steps->is_captured,
                               .most_captures = steps->most_captures,
                               .stays_open = steps->stays_open,
                               .is_over = steps->is_over,
                               .batch_is_unclaimed = true,
                               .step = -1,
                               .epoch = -1,
                               .run.schedule = steps->run.schedule,
                               .run.demands = steps->run.demands,
                               .demands = steps->demands};
}

static void apply_turn(struct ss_steps *steps, struct ss_schedule_turn turn,
                       struct ss_steps_change *change)
{
    if (turn.ends) {
        change->cut = turn.partial;
        steps->window = 0;
    }
    if (turn.begins) {
        steps->window = turn.begun + 1;
    }
    steps->action = turn.action;
}

/* `ends_step`: the mark that starts it ends the step that begins here. */
static void start_schedule(struct ss_steps *steps, bool ends_step, struct ss_steps_change *change)
{
    if (!steps->run.running && !steps->is_over) {
        steps->run.number = steps->step - ends_step;
        apply_turn(steps, ss_schedule_run_start(&steps->run), change);
        steps->is_unclaimed = true;
        steps->found = 0;
    }
}

static void begin_epoch(struct ss_steps *steps, struct ss_steps_change *change)
{
    apply_turn(steps,
               ss_schedule_run_epoch(&steps->run, steps->epoch, steps->epoch_length,
                                     steps->epoch_resumed_at),
               change);
    if (steps->run.schedule.per_epoch) {
        steps->is_unclaimed = true;
        steps->found = 0;
    }
}

static void end_step(struct ss_steps *steps, bool is_found, struct ss_steps_change *change)
{
    steps->run.number = steps->step;
    apply_turn(steps, ss_schedule_run_step(&steps->run), change);
    steps->found += is_found;
}

/* The program's first explicit mark, after automatic marks. */
static void restart_schedule(struct ss_steps *steps, bool ends_step, struct ss_steps_change *change)
{
    if (steps->found > ends_step) {
        steps->run.steps -= steps->found;
        steps->run.longest = 0;
        apply_turn(steps, ss_schedule_run_stop(&steps->run), change);
        bool cut = change->cut;
        start_schedule(steps, ends_step, change);
        if (steps->epoch >= 0) {
            begin_epoch(steps, change);
        }
        if (ends_step) {
            end_step(steps, false, change);
        }
        change->cut = cut;
    } else if (steps->found < ends_step) {
        end_step(steps, false, change);
    }
}

/* A window that a capture opened ends early. */
static void cut_capture(struct ss_steps *steps, struct ss_steps_change *change)
{
    change->cut = steps->window != 0;
    change->closed = steps->window;
    steps->window = 0;
    steps->action = SS_SCHEDULE_SKIP;
}

static void advance_schedule(struct ss_steps *steps, const struct ss_steps_request *request,
                             struct ss_steps_change *change)
{
    switch (request->mark) {
    case SS_STEPS_BEGIN:
    case SS_STEPS_NEXT:
        start_schedule(steps, request->mark == SS_STEPS_NEXT, change);
        if (request->overrules) {
            restart_schedule(steps, request->mark == SS_STEPS_NEXT, change);
        } else if (request->mark == SS_STEPS_NEXT || !steps->is_unclaimed) {
            end_step(steps, request->is_found, change);
        }
        steps->is_unclaimed = false;
        break;
    case SS_STEPS_EPOCH:
        start_schedule(steps, false, change);
        begin_epoch(steps, change);
        break;
    default:
        apply_turn(steps, ss_schedule_run_stop(&steps->run), change);
    }
}

/* After an epoch mark, NEXT ends the batch that the epoch began; BEGIN refers to that batch. */
static void count_batch(struct ss_steps *steps, const struct ss_steps_request *request)
{
    if (request->mark == SS_STEPS_EPOCH) {
        steps->batch = request->resumed_at > 0 ? request->resumed_at : 0;
        steps->batch_is_unclaimed = true;
    } else if (request->mark != SS_STEPS_END) {
        steps->batch += request->mark == SS_STEPS_NEXT || !steps->batch_is_unclaimed;
        steps->batch_is_unclaimed = false;
    }
}

static void count_mark(struct ss_steps *steps, const struct ss_steps_request *request,
                       struct ss_steps_change *change)
{
    change->cut_step = steps->step;
    if (request->again) {
        change->begins_step = true;
        return;
    }
    if (request->overrules) {
        steps->step = -1;
        steps->batch = steps->epoch_resumed_at;
        steps->batch_is_unclaimed = true;
    }
    count_batch(steps, request);
    if (request->mark == SS_STEPS_EPOCH) {
        steps->epoch_length = request->length;
        steps->epoch_resumed_at = request->resumed_at > 0 ? request->resumed_at : 0;
        steps->epoch = request->number >= 0 ? request->number : steps->epoch + 1;
        change->begins_epoch = true;
    } else if (request->mark != SS_STEPS_END) {
        /* The implicit step 0 is followed by step 1. */
        int64_t before = steps->step < 0 && request->mark == SS_STEPS_NEXT ? 0 : steps->step;
        steps->step = request->number >= 0 ? request->number : before + 1;
        steps->has_begun = request->mark == SS_STEPS_BEGIN;
        change->begins_step = true;
    }
    change->cut_step = request->overrules ? change->cut_step : steps->step;
}

/* Pairs with the release in end_mark: the next marking thread sees the complete state. */
static bool begin_mark(struct ss_steps *steps)
{
    return !atomic_exchange_explicit(&steps->is_marking, true, memory_order_acquire);
}

static void end_mark(struct ss_steps *steps, struct ss_steps_change *change)
{
    bool is_next = change->begins_epoch && steps->run.schedule.per_epoch && steps->has_begun;
    change->step = steps->step;
    change->window_step = steps->step + is_next;
    change->epoch = steps->epoch;
    change->batch = steps->batch;
    change->action = steps->action;
    change->window = steps->window;
    atomic_store_explicit(&steps->is_marking, false, memory_order_release);
}

static void end_schedule(struct ss_steps *steps, struct ss_steps_change *change)
{
    if (steps->is_captured) {
        cut_capture(steps, change);
        steps->is_captured = false;
    } else if (steps->has_schedule) {
        apply_turn(steps, ss_schedule_run_stop(&steps->run), change);
    }
}

struct ss_steps_change ss_steps_schedule(struct ss_steps *steps, const struct ss_schedule *schedule)
{
    struct ss_steps_change change = {.changes_window = true};
    if (!begin_mark(steps)) {
        return (struct ss_steps_change){.busy = true};
    }
    change.cut_step = steps->step;
    end_schedule(steps, &change);
    struct ss_schedule_run run = {.windows = steps->run.windows};
    run.schedule = schedule != NULL ? *schedule : steps->run.schedule;
    steps->run = run;
    steps->has_schedule = true;
    steps->is_over = schedule == NULL;
    start_schedule(steps, false, &change);
    end_mark(steps, &change);
    return change;
}

struct ss_steps_change ss_steps_unschedule(struct ss_steps *steps)
{
    struct ss_steps_change change = {.changes_window = true};
    if (!begin_mark(steps)) {
        return (struct ss_steps_change){.busy = true};
    }
    change.cut_step = steps->step;
    end_schedule(steps, &change);
    steps->run = (struct ss_schedule_run){.windows = steps->run.windows};
    steps->has_schedule = steps->is_over = false;
    end_mark(steps, &change);
    return change;
}

static void open_capture(struct ss_steps *steps, struct ss_steps_change *change)
{
    bool is_wanted = steps->most_captures == 0 || steps->run.windows < steps->most_captures;
    if (steps->window == 0 && is_wanted) {
        change->changes_window = true;
        steps->window = ++steps->run.windows;
        steps->action = SS_SCHEDULE_RECORD;
    }
}

static void close_capture(struct ss_steps *steps, struct ss_steps_change *change)
{
    if (steps->window != 0 && !steps->stays_open) {
        change->changes_window = true;
        change->closed = steps->window;
        steps->window = 0;
        steps->action = SS_SCHEDULE_SKIP;
    }
}

struct ss_steps_change ss_steps_capture(struct ss_steps *steps, bool opens)
{
    struct ss_steps_change change = {0};
    if (!begin_mark(steps)) {
        return (struct ss_steps_change){.busy = true};
    }
    change.cut_step = steps->step;
    if (steps->is_captured && opens) {
        open_capture(steps, &change);
    } else if (steps->is_captured) {
        close_capture(steps, &change);
    }
    end_mark(steps, &change);
    return change;
}

struct ss_steps_change ss_steps_mark(struct ss_steps *steps, const struct ss_steps_request *request)
{
    struct ss_steps_change change = {0};
    if (!begin_mark(steps)) {
        change.busy = true;
        return change;
    }
    enum ss_schedule_action action = steps->action;
    uint32_t window = steps->window;
    count_mark(steps, request, &change);
    ss_demands_read(&steps->demands, steps->step + (request->again || !change.begins_step),
                    steps->run.demands == NULL);
    if (steps->is_captured) {
        if (request->mark == SS_STEPS_END) {
            cut_capture(steps, &change);
        }
    } else if (steps->has_schedule && !request->again) {
        advance_schedule(steps, request, &change);
    }
    change.changes_window = steps->action != action || steps->window != window || change.cut;
    end_mark(steps, &change);
    return change;
}
