/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/schedule_run.h"

#include <inttypes.h>
#include <stdio.h>

static void end_window(struct ss_schedule_run *run, bool partial, struct ss_schedule_turn *turn)
{
    turn->ends = true;
    turn->partial = partial;
    turn->ended = run->windows - 1;
    turn->ended_steps = run->window_steps;
    run->partial_windows += partial;
    run->window_open = false;
}

static void begin_window(struct ss_schedule_run *run, struct ss_schedule_turn *turn)
{
    turn->begins = true;
    turn->begun = run->windows++;
    run->window_open = true;
    run->window_steps = 0;
}

/* The step at run->position begins; a window begins with its first recorded step. */
static void begin_step(struct ss_schedule_run *run, struct ss_schedule_turn *turn)
{
    run->action = run->demands != NULL ? ss_demands_action(run->demands, run->number)
                  : run->in_epoch      ? ss_schedule_at(&run->schedule, &run->position)
                                       : SS_SCHEDULE_SKIP;
    turn->action = run->action;
    if (ss_schedule_records(run->action) && !run->window_open) {
        begin_window(run, turn);
    }
}

struct ss_schedule_turn ss_schedule_run_start(struct ss_schedule_run *run)
{
    struct ss_schedule_turn turn = {.action = run->action};
    if (run->running) {
        return turn;
    }
    run->running = true;
    run->starts++;
    run->epoch = 0;
    run->epoch_is_marked = false;
    run->position = (struct ss_schedule_position){.length = -1};
    run->in_epoch = !run->schedule.per_epoch;
    begin_step(run, &turn);
    return turn;
}

/* Numbers that the program gives to its steps may skip the last one of a window on demand. */
static bool ends_window(const struct ss_schedule_run *run)
{
    return run->action == SS_SCHEDULE_RECORD_AND_SAVE ||
           (run->demands != NULL && run->window_open &&
            ss_demands_action(run->demands, run->number) == SS_SCHEDULE_SKIP);
}

static bool is_cut(const struct ss_schedule_run *run)
{
    return run->demands == NULL && !ss_schedule_ends_cycle(&run->schedule, &run->position);
}

static void count_step(struct ss_schedule_run *run)
{
    int64_t consecutive = run->position.step + 1 - run->position.resumed_at;
    run->steps++;
    run->window_steps += run->window_open;
    run->longest = consecutive > run->longest ? consecutive : run->longest;
}

struct ss_schedule_turn ss_schedule_run_step(struct ss_schedule_run *run)
{
    struct ss_schedule_turn turn = {.action = SS_SCHEDULE_SKIP};
    if (!run->running) {
        return turn;
    }
    if (run->schedule.per_epoch && !run->epoch_is_marked) {
        run->epoch_is_marked = true; /* a program without epoch marks is one long epoch */
        run->epochs++;
        run->in_epoch = true;
    }
    if (!run->in_epoch) {
        return turn; /* after the last batch of the epoch, for example in evaluation */
    }
    count_step(run);
    if (ends_window(run)) {
        end_window(run, is_cut(run), &turn);
    }
    run->position.step++;
    run->in_epoch = run->position.length < 0 || run->position.step < run->position.length;
    begin_step(run, &turn);
    return turn;
}

struct ss_schedule_turn ss_schedule_run_epoch(struct ss_schedule_run *run, int64_t epoch,
                                              int64_t length, int64_t resumed_at)
{
    struct ss_schedule_turn turn = {.action = run->action};
    if (!run->running) {
        return turn;
    }
    run->epoch = epoch;
    run->epoch_is_marked = true;
    run->epochs++;
    if (!run->schedule.per_epoch) {
        return turn;
    }
    if (run->window_open) {
        end_window(run, true, &turn);
    }
    resumed_at = resumed_at > 0 ? resumed_at : 0;
    run->position = (struct ss_schedule_position){
        .step = resumed_at, .resumed_at = resumed_at, .length = length >= 0 ? length : -1};
    run->in_epoch = length < 0 || resumed_at < length;
    begin_step(run, &turn);
    return turn;
}

struct ss_schedule_turn ss_schedule_run_stop(struct ss_schedule_run *run)
{
    struct ss_schedule_turn turn = {.action = SS_SCHEDULE_SKIP};
    if (run->window_open) {
        end_window(run, true, &turn);
    }
    run->running = false;
    run->in_epoch = false;
    run->action = SS_SCHEDULE_SKIP;
    return turn;
}

void ss_schedule_run_why_nothing(const struct ss_schedule_run *run, char *text, size_t size)
{
    const struct ss_schedule *schedule = &run->schedule;
    int64_t wait = schedule->skip_first_wait != 0 ? 0 : schedule->wait;
    text[0] = '\0';
    if (run->windows > 0) {
        return;
    }
    if (run->starts == 0) {
        snprintf(text, size, "no window was recorded: the schedule was never started");
    } else if (run->steps == 0) {
        snprintf(text, size,
                 "no window was recorded: the program marked no step; call step() at the end of "
                 "each training step");
    } else {
        snprintf(text, size,
                 "no window was recorded: %s %" PRId64 " %s, and the first recorded one is "
                 "number %" PRId64 " (after skip_first=%" PRId64 ", wait=%" PRId64
                 ", warmup=%" PRId64 "); "
                 "%s, or lower these",
                 schedule->per_epoch ? "the longest epoch had" : "the run had", run->longest,
                 schedule->per_epoch ? "batches" : "steps", ss_schedule_lead(schedule) + 1,
                 schedule->skip_first, wait, schedule->warmup,
                 schedule->per_epoch ? "run longer epochs" : "run longer");
    }
}
