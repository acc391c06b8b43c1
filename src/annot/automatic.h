/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and phases that nobody wrote into the program: the injected parts find them. They give way
 * to the program's own: once it marks steps (phases) itself, those found are not marked any more.
 *
 * Phases are those of one thread of the process, the one that trains: the one that imports torch,
 * until another trains before it did, or an optimizer steps on another.
 */
#ifndef SS_ANNOT_AUTOMATIC_H
#define SS_ANNOT_AUTOMATIC_H

#include <stdbool.h>
#include <stdint.h>

/* The first step begins, unless one has: a batch is fetched, a model runs. */
void ss_automatic_begin(void);
/* The same where a model runs to be trained: this thread trains, unless another is known to. */
void ss_automatic_train(void);
/* A step ends, the next begins. false: the program marks its own. */
bool ss_automatic_step(void);

/* The phase `name` begins on this thread. Returns the one before it (a name; 0: none), which is to
 * be given to ss_automatic_leave; SS_AUTOMATIC_NOT: nothing was done. */
enum { SS_AUTOMATIC_NOT = -1 };
int64_t ss_automatic_enter(uint32_t name);
void ss_automatic_leave(int64_t before);
/* The phase of this thread, if it is the one that trains; 0: none. */
uint32_t ss_automatic_phase(void);
/* This thread is the one that trains; it may be; none of this process does. A forked child that
 * says nothing of it may train on the thread that first calls ss_automatic_begin. */
void ss_automatic_claim(void);
void ss_automatic_guess(void);
void ss_automatic_disclaim(void);
/* The fact "torch.steps": by what steps are found. Nothing once the program marks its own. */
void ss_automatic_tell(const char *how);

#endif
