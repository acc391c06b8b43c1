/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's ring, behind one thread-local pointer. It points at something at every time:
 * at nobody's ring before the first event, at the ring, at an ended one's when the thread's
 * destructors run. All that is not a ready ring has `check_at` 0 and leads to the slow path; so
 * does what a forked child finds (wiped: zeros).
 */
#ifndef SS_ANNOT_THREAD_H
#define SS_ANNOT_THREAD_H

#include <signal.h>

#include "annot/process.h"
#include "annot/stamp.h"

struct ss_thread {
    alignas(SS_RING_LINE_BYTES) struct ss_ring_producer ring;
    uint64_t check_at; /* stamp from which on the heartbeat is to be looked at; 0: not ready */
    uint64_t retry_at; /* no ring was to be had: not before this */
    uint32_t gate;     /* for which the ring was made ready */
};

/* Twelve bytes of initial-exec TLS; another eight are private. */
extern _Thread_local struct ss_thread *ss_thread_current;
extern _Thread_local uint32_t ss_thread_name; /* what each recording is told first; 0: none */

void ss_thread_init(void); /* once, in the constructor */
int32_t ss_thread_tid(void);

/* Around all that takes the process's lock. Signals wait meanwhile, so that no handler finds the
 * lock taken by its own thread or leaves by longjmp; so does cancellation, for which opening a file
 * is a place to end the thread. errno stays as it was. */
struct ss_thread_quiet {
    sigset_t signals;
    int cancel, saved_errno;
};
/* false: the process is not set up, or this thread is within already; nothing is changed. */
bool ss_thread_enter(struct ss_thread_quiet *quiet);
void ss_thread_leave(const struct ss_thread_quiet *quiet);

/* Makes the ring ready. NULL: the event is dropped (counted), or nobody records any more. */
struct ss_thread *ss_thread_prepare(uint64_t stamp);

/* The ring for an event of this moment. */
static inline struct ss_thread *ss_thread_get(uint64_t stamp, uint32_t gate)
{
    struct ss_thread *thread = ss_thread_current;
    if (__builtin_expect(stamp >= thread->check_at || gate != thread->gate, 0)) {
        return ss_thread_prepare(stamp);
    }
    return thread;
}

#endif
