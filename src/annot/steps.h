/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps and epochs that a program marks, with the schedule that its recording asks for.
 *
 * A program marks in one of two ways: a step begins (C), or the step under way ends and the next
 * begins (Python). The schedule counts from the first mark; a process that marks nothing has no
 * windows. A first mark that ends a step ends step 0, which nobody announced: no window holds it.
 *
 * Marks that were found, not written, count until the program's own begin: then steps, and the
 * schedule with them, count as if there had been none. A window that is open by them is cut, unless
 * the own mark means what was found last: the end of the first step, or its beginning.
 *
 * One thread at a time marks; another that comes in between, or a signal handler, is turned away
 * (`busy`) rather than made to wait. No allocation.
 */
#ifndef SS_ANNOT_STEPS_H
#define SS_ANNOT_STEPS_H

#include "annot/schedule_run.h"

enum ss_steps_mark {
    SS_STEPS_BEGIN, /* a step begins */
    SS_STEPS_NEXT,  /* the step under way ends, another begins */
    SS_STEPS_EPOCH, /* an epoch begins */
    SS_STEPS_END    /* the program ends */
};

struct ss_steps_wish {
    enum ss_steps_mark mark;
    int64_t number;     /* of the step or epoch; -1: one more than the last */
    int64_t length;     /* of the epoch, in batches; -1: not known */
    int64_t resumed_at; /* batch at which the epoch is taken up again; else 0 */
    bool is_found;      /* nobody wrote this mark into the program */
    bool again;         /* BEGIN of the step under way, for who has just begun to record */
    bool overrules;     /* the program's first own mark of a step: those found never were */
};

/* What a mark means. */
struct ss_steps_change {
    bool busy; /* nothing: somebody is marking */
    bool begins_step, begins_epoch;
    bool changes_window; /* `action`, `window` or both; or `cut` */
    bool cut;            /* the window that ends here is partial */
    int64_t step, epoch; /* under way now; -1: none */
    int64_t batch;       /* of the epoch, or of the run while there is none; from 0 */
    enum ss_schedule_action action;
    uint32_t window;     /* from 1; 0: none is open */
    int64_t window_step; /* the step that a window which begins here opens with */
    int64_t cut_step;    /* the one in which a window was cut */
};

struct ss_steps {
    _Atomic bool is_marking;
    bool has_schedule;
    bool is_over;            /* the program has ended its schedule: nothing starts it again */
    bool is_unclaimed;       /* the schedule's step began with its epoch: BEGIN means this one */
    bool batch_is_unclaimed; /* the same for `batch` */
    bool has_begun;          /* the last mark of a step was BEGIN: an epoch begins the next one */
    int64_t step, epoch, batch;
    int64_t epoch_length, epoch_resumed_at; /* as its mark said */
    int64_t found; /* steps of the schedule's run (per epoch: of the epoch) that were found */
    enum ss_schedule_action action;
    uint32_t window;
    struct ss_schedule_run run;
};

/* `schedule` in text form. NULL, or one that cannot be read: none, and every step is like another.
 */
void ss_steps_init(struct ss_steps *steps, const char *schedule);
/* A forked child: it has marked nothing yet. */
void ss_steps_forget(struct ss_steps *steps);
struct ss_steps_change ss_steps_mark(struct ss_steps *steps, const struct ss_steps_wish *wish);
/* Another schedule, which counts from here: its first step begins now (per epoch: with the next
 * epoch). NULL: none, and nothing is recorded any more. A window that is open is cut. Windows keep
 * counting. */
struct ss_steps_change ss_steps_schedule(struct ss_steps *steps,
                                         const struct ss_schedule *schedule);
/* As if there had been none: everything is recorded. Windows keep counting. */
struct ss_steps_change ss_steps_unschedule(struct ss_steps *steps);

#endif
