/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps, epochs, phases, windows and the schedule of this process, as the program marks them by the
 * runtime's table (include/stepscope/stepscope.h). Any thread.
 */
#ifndef SS_ANNOT_TRAINING_H
#define SS_ANNOT_TRAINING_H

#include <stdbool.h>
#include <stdint.h>

void ss_training_init(const char *schedule); /* once, in the constructor */
int ss_training_schedule(const char *text);
void ss_training_step(int64_t number);
void ss_training_next_step(int64_t number);
void ss_training_epoch(int64_t number);
void ss_training_begin_epoch(int64_t number, int64_t length, int64_t resumed_at);
void ss_training_phase(uint32_t name);
void ss_training_window(unsigned action, int64_t number, uint32_t which);

/* Opens or closes a window of a recording whose windows are capture ranges (base/capture.h); else
 * no effect. Any thread, also within a callback of CUPTI. */
void ss_training_capture(bool opens);
/* The capture that opens the windows of this process; by nothing: none. */
struct ss_capture;
const struct ss_capture *ss_training_captures(void);

/* The follower of steps: called on the marking thread before and after the end of a step, and after
 * an epoch mark; not called for marks by ss_training_step. NULL: none. */
typedef void ss_training_end_observer(bool is_over);
void ss_training_observe_ends(ss_training_end_observer *follower);
/* The current step (-1: none), and the schedule's window and action (annot/schedule.h) in it.
 * false: no schedule. */
bool ss_training_now(int64_t *step, uint32_t *window, uint32_t *action);

/* The watcher of steps and phases: called on the marking thread before a step begins (and the
 * previous one ends), and before a phase begins or ends. NULL: none. */
typedef void ss_training_begin_observer(bool is_step);
void ss_training_observe_begins(ss_training_begin_observer *watcher);

/* A second watcher of steps: called as the first, but not for phases. `step`: the one that ends;
 * -1: none. */
typedef void ss_training_step_observer(int64_t step);
void ss_training_observe_steps(ss_training_step_observer *watcher);

/* The watcher of windows: called on the marking thread when the action of the schedule changes or
 * the program begins or ends a window. `action`: enum ss_schedule_action. */
typedef void ss_training_window_observer(unsigned action);
void ss_training_observe_windows(ss_training_window_observer *watcher);

#endif
