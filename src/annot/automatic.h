/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Automatic steps and phases: injected code detects them in the program. Once the program marks
 * steps (phases) explicitly, automatic steps (phases) are no longer marked.
 *
 * Phases belong to one thread of the process, the training thread: the thread that imports torch,
 * until another thread trains before it does, or an optimizer steps on another thread.
 */
#ifndef SS_ANNOT_AUTOMATIC_H
#define SS_ANNOT_AUTOMATIC_H

#include <stdbool.h>
#include <stdint.h>

/* A batch is fetched or a model runs: begins the first step, unless it has begun. */
void ss_automatic_begin(void);
/* The same for a model that is trained: this thread becomes the training thread, unless another
 * thread is known to train. */
void ss_automatic_train(void);
/* A step ends, the next begins. false: the program marks steps explicitly. */
bool ss_automatic_step(void);

/* The phase `name` begins on this thread. Returns the previous phase (a name; 0: none), the
 * argument for ss_automatic_leave; SS_AUTOMATIC_NOT: nothing was done. */
enum { SS_AUTOMATIC_NOT = -1 };
int64_t ss_automatic_enter(uint32_t name);
void ss_automatic_leave(int64_t before);
/* The phase of this thread; 0: none, or not the training thread. */
uint32_t ss_automatic_phase(void);
/* Whether the next phase that is entered is one of this thread, and none is under way. */
bool ss_automatic_is_between_phases(void);
/* claim: this thread trains. guess: this thread may train. disclaim: no thread of this process
 * trains. Without any of these in a forked child, its first thread that calls ss_automatic_begin
 * may train. */
void ss_automatic_claim(void);
void ss_automatic_guess(void);
void ss_automatic_disclaim(void);
/* Records the fact "torch.steps": how steps are detected. No effect once the program marks steps
 * explicitly. */
void ss_automatic_set_step_source(const char *how);

#endif
