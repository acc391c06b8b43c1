/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schedule that follows a running program: marked steps and epochs go in, what to do and where
 * windows begin and end comes out.
 *
 * A window is a run of recorded steps. It ends with the step that saves it, or is cut: by the end
 * of its epoch or of the run; it is saved all the same and marked partial. Windows are numbered
 * from 0 over all starts of the process. A second start counts its steps from 0 again.
 *
 * No allocation, no locks, no clock. One caller at a time (the thread that marks steps).
 */
#ifndef SS_ANNOT_SCHEDULE_RUN_H
#define SS_ANNOT_SCHEDULE_RUN_H

#include <stddef.h>

#include "annot/schedule.h"

/* What a mark of the program changes. The end of a window comes before the beginning of the next,
 * at the same instant. */
struct ss_schedule_turn {
    enum ss_schedule_action action; /* of the step that begins here; SKIP when none does */
    bool ends, begins;              /* a window */
    bool partial;                   /* the one that ends was cut */
    uint32_t ended, begun;          /* their numbers */
    int64_t ended_steps;            /* whole steps in the one that ends */
};

/* Zero-initialised but for `schedule`, which ss_schedule_check must have passed. */
struct ss_schedule_run {
    struct ss_schedule schedule;
    bool running;
    bool epoch_told;  /* since the start */
    bool in_epoch;    /* a batch is under way: not before the first epoch, nor behind its last */
    bool window_open; /* its number is windows - 1 */
    enum ss_schedule_action action;
    struct ss_schedule_place place; /* of the step under way */
    int64_t epoch;
    int64_t window_steps; /* whole ones, of the open window */
    uint32_t windows;     /* begun so far */
    uint32_t partial_windows;
    /* For ss_schedule_run_why_nothing: */
    int64_t starts, steps, epochs, longest; /* whole steps; batches of the longest epoch or run */
};

/* The first step begins (per epoch: with the first epoch). Does nothing when it runs already. */
struct ss_schedule_turn ss_schedule_run_start(struct ss_schedule_run *run);
/* The step under way ends, the next one begins. */
struct ss_schedule_turn ss_schedule_run_step(struct ss_schedule_run *run);
/* An epoch begins, at batch `resumed_at` (0: at its start), with `length` batches in all (-1: not
 * known). A schedule over the whole run goes on counting. */
struct ss_schedule_turn ss_schedule_run_epoch(struct ss_schedule_run *run, int64_t epoch,
                                              int64_t length, int64_t resumed_at);
/* No step is under way any more; an open window is cut. Does nothing when it does not run. */
struct ss_schedule_turn ss_schedule_run_stop(struct ss_schedule_run *run);

/* One line that says why no window was recorded, with the fix; an empty text when one was. */
void ss_schedule_run_why_nothing(const struct ss_schedule_run *run, char *text, size_t size);

#endif
