/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's ring, behind one thread-local pointer that is never NULL: it points to a
 * dummy before the first event, then to the ring, then to another dummy while the thread's
 * destructors run. Dummies have `check_at` 0, which leads to the slow path; so does the wiped
 * (zero) entry in a forked child.
 */
#ifndef SS_ANNOT_THREAD_H
#define SS_ANNOT_THREAD_H

#include <signal.h>

#include "annot/process.h"
#include "annot/stamp.h"

struct ss_thread {
    alignas(SS_RING_LINE_BYTES) struct ss_ring_producer ring;
    uint64_t check_at; /* stamp at which to check the heartbeat; 0: not ready */
    uint64_t retry_at; /* no ring was available: do not retry before this stamp */
    uint32_t gate;     /* gate word for which the ring is prepared */
};

/* 12 bytes of initial-exec TLS; thread.c has another 12. */
extern _Thread_local struct ss_thread *ss_thread_current;
extern _Thread_local uint32_t ss_thread_name; /* written first in each recording; 0: none */

void ss_thread_init(void); /* once, in the constructor */
int32_t ss_thread_tid(void);

/* Encloses all code that holds the process lock. Signals are blocked, so that no handler runs while
 * its own thread holds the lock, or leaves by longjmp; cancellation is disabled, because open(2) is
 * a cancellation point. errno is preserved. */
struct ss_thread_quiet {
    sigset_t signals;
    int cancel, saved_errno;
};
/* false: the process is not set up, or this thread already holds the lock; nothing is changed. */
bool ss_thread_enter(struct ss_thread_quiet *quiet);
void ss_thread_leave(const struct ss_thread_quiet *quiet);

/* Prepares the ring. NULL: the event is dropped and counted, or the gate is closed. */
struct ss_thread *ss_thread_prepare(uint64_t stamp);

/* The ring for an event at `stamp`. */
static inline struct ss_thread *ss_thread_get(uint64_t stamp, uint32_t gate)
{
    struct ss_thread *thread = ss_thread_current;
    if (__builtin_expect(stamp >= thread->check_at || gate != thread->gate, 0)) {
        return ss_thread_prepare(stamp);
    }
    return thread;
}

#endif
