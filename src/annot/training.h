/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps, epochs, phases, windows and the schedule of this process: what the program says of its
 * training, as the runtime's table has it (include/stepscope/stepscope.h). Any thread.
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

/* Who follows steps: called on the thread that marks them, before a step ends and behind it, and
 * behind an epoch's mark; of marks by ss_training_step it hears nothing. NULL: nobody. */
typedef void ss_training_follower(bool is_over);
void ss_training_follow(ss_training_follower *follower);
/* The step under way, -1: none; and the schedule's window and action (annot/schedule.h) in it.
 * false: there is no schedule. */
bool ss_training_now(int64_t *step, uint32_t *window, uint32_t *action);

/* Who watches the parts of steps: called on the thread that marks them, before a step begins (and
 * the one before it ends), and before a phase begins or ends. NULL: nobody. */
typedef void ss_training_watcher(bool is_step);
void ss_training_watch(ss_training_watcher *watcher);

#endif
