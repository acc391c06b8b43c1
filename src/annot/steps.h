/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps and epochs that a program marks, and the schedule of its recording.
 *
 * A program marks steps in one of two ways: a step begins (C), or the current step ends and the
 * next begins (Python). The schedule counts from the first mark; a process without marks has no
 * windows. A first mark that ends a step ends the implicit step 0, which belongs to no window.
 *
 * Automatic marks count until the first explicit mark: from then on, steps and schedule count as if
 * there had been no automatic marks. An open automatic window is cut, unless the explicit mark and
 * the last automatic mark mean the same: the end of the first step, or its beginning.
 *
 * One thread at a time marks; a concurrent thread or a signal handler is rejected (`busy`) and does
 * not wait. No allocation.
 */
#ifndef SS_ANNOT_STEPS_H
#define SS_ANNOT_STEPS_H

#include "annot/schedule_run.h"

enum ss_steps_mark {
    SS_STEPS_BEGIN, /* a step begins */
    SS_STEPS_NEXT,  /* the current step ends, the next begins */
    SS_STEPS_EPOCH, /* an epoch begins */
    SS_STEPS_END    /* the program ends */
};

struct ss_steps_request {
    enum ss_steps_mark mark;
    int64_t number;     /* of the step or epoch; -1: the previous number + 1 */
    int64_t length;     /* of the epoch, in batches; -1: unknown */
    int64_t resumed_at; /* batch at which the epoch is resumed; else 0 */
    bool is_found;      /* an automatic mark */
    bool again;         /* BEGIN of the current step, for a recorder that has just attached */
    bool overrules;     /* the first explicit step, which discards the automatic ones */
};

/* The effect of a mark. */
struct ss_steps_change {
    bool busy; /* no effect: another mark is in progress */
    bool begins_step, begins_epoch;
    bool changes_window; /* `action`, `window` or both; or `cut` */
    bool cut;            /* the window that ends here is partial */
    int64_t step, epoch; /* current; -1: none */
    int64_t batch;       /* of the epoch, or of the run while there is none; from 0 */
    enum ss_schedule_action action;
    uint32_t window;     /* from 1; 0: none is open */
    int64_t window_step; /* the first step of a window that begins here */
    int64_t cut_step;    /* the step in which a window was cut */
    uint32_t closed;     /* the window that a capture ended here; 0: none */
};

struct ss_steps {
    _Atomic bool is_marking;
    bool has_schedule;
    bool is_over;            /* the program has ended its schedule: no mark restarts it */
    bool is_unclaimed;       /* the schedule began a step without a mark: BEGIN marks that step */
    bool batch_is_unclaimed; /* the same for `batch` */
    bool has_begun;          /* the last step mark was BEGIN: an epoch mark begins the next step */
    int64_t step, epoch, batch;
    int64_t epoch_length, epoch_resumed_at; /* from the epoch mark */
    int64_t found;          /* automatic steps in the schedule's run (per epoch: in the epoch) */
    bool is_captured;       /* ss_steps_capture opens and closes windows, steps do not */
    uint32_t most_captures; /* 0: any number */
    bool stays_open;        /* nothing closes the first */
    enum ss_schedule_action action;
    uint32_t window;
    struct ss_schedule_run run;
    struct ss_demands demands; /* of a recording on demand: run.demands points here */
};

/* `schedule` in text form, "on-demand", or a capture (base/capture.h). NULL or invalid: no
 * schedule, all steps are treated the same. `header`: with requests for windows on demand; NULL:
 * none. */
void ss_steps_init(struct ss_steps *steps, const char *schedule, struct ss_ring_header *header);
/* Resets the marks in a forked child; the schedule stays. */
void ss_steps_forget(struct ss_steps *steps);
struct ss_steps_change ss_steps_mark(struct ss_steps *steps,
                                     const struct ss_steps_request *request);
/* Sets a new schedule: its first step begins now (per epoch: with the next epoch). NULL: ends the
 * schedule and recording. An open window is cut. Window numbers continue. */
struct ss_steps_change ss_steps_schedule(struct ss_steps *steps,
                                         const struct ss_schedule *schedule);
/* A capture range opens, or closes, a window within a step. No effect if a window is open, or none
 * is; or if there have been as many as are wanted. */
struct ss_steps_change ss_steps_capture(struct ss_steps *steps, bool opens);
/* Removes the schedule: everything is recorded. Window numbers continue. */
struct ss_steps_change ss_steps_unschedule(struct ss_steps *steps);

#endif
