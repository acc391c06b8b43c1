/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies a schedule to a running program: the input is marks of steps and epochs, the output is
 * the action of each step and where windows begin and end.
 *
 * A window is a sequence of recorded steps. It ends with the step that saves it, or the end of its
 * epoch or of the run cuts it; a cut window is saved too and marked partial. Windows are numbered
 * from 0 over all starts of the process. A second start counts its steps from 0 again.
 *
 * No allocation, no locks, no clock. One caller at a time (the thread that marks steps).
 */
#ifndef SS_ANNOT_SCHEDULE_RUN_H
#define SS_ANNOT_SCHEDULE_RUN_H

#include <stddef.h>

#include "annot/demands.h"
#include "annot/schedule.h"

/* The effect of one mark. The end of a window comes before the beginning of the next, at the same
 * instant. */
struct ss_schedule_turn {
    enum ss_schedule_action action; /* of the step that begins; SKIP when none begins */
    bool ends, begins;              /* a window */
    bool partial;                   /* the ending window was cut */
    uint32_t ended, begun;          /* their numbers */
    int64_t ended_steps;            /* complete steps in the ending window */
};

/* Zero-initialised except for `schedule`, which must be valid (ss_schedule_check), or `demands`, by
 * whose steps windows begin and end instead. */
struct ss_schedule_run {
    struct ss_schedule schedule;
    const struct ss_demands *demands; /* NULL: `schedule` */
    int64_t number;                   /* with demands: the program's, of the step that begins */
    bool running;
    bool epoch_is_marked; /* an epoch was marked, or assumed, since the start */
    bool in_epoch;        /* false before the first epoch and after its last batch */
    bool window_open;     /* its number is windows - 1 */
    enum ss_schedule_action action;
    struct ss_schedule_position position; /* of the current step */
    int64_t epoch;
    int64_t window_steps; /* complete steps of the open window */
    uint32_t windows;     /* begun so far */
    uint32_t partial_windows;
    /* For ss_schedule_run_why_nothing: */
    int64_t starts, steps, epochs, longest; /* complete steps; those of the longest epoch or run */
};

/* The first step begins (per epoch: with the first epoch). No effect when already running. */
struct ss_schedule_turn ss_schedule_run_start(struct ss_schedule_run *run);
/* The current step ends, the next begins. */
struct ss_schedule_turn ss_schedule_run_step(struct ss_schedule_run *run);
/* An epoch begins at batch `resumed_at` (0: its start) and has `length` batches in all (-1:
 * unknown). A schedule over the whole run continues counting. */
struct ss_schedule_turn ss_schedule_run_epoch(struct ss_schedule_run *run, int64_t epoch,
                                              int64_t length, int64_t resumed_at);
/* Ends the current step and cuts an open window. No effect when not running. */
struct ss_schedule_turn ss_schedule_run_stop(struct ss_schedule_run *run);

/* One line with the reason why no window was recorded and the fix; empty when one was. */
void ss_schedule_run_why_nothing(const struct ss_schedule_run *run, char *text, size_t size);

#endif
