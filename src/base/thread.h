/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of ours: named, with all signals blocked, so that a program's or our own handlers never
 * run on them. */
#ifndef SS_BASE_THREAD_H
#define SS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* `name` has at most 15 characters. false: none can be made. */
bool ss_thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *thread);

#endif
