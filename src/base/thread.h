/* SPDX-License-Identifier: Apache-2.0 */
/* Creates stepscope's threads: named, with all signals blocked, so that no signal handler runs on
 * them. */
#ifndef SS_BASE_THREAD_H
#define SS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* `name` has at most 15 characters. false: pthread_create failed. */
bool ss_thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *thread);

#endif
