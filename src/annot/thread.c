/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/thread.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

enum { SLAB_THREADS = 64, SAFE_KEYS = 32 };

/* Both are never written: check_at stays 0. */
static struct ss_thread nobody, ended;

_Thread_local struct ss_thread *ss_thread_current = &nobody;
_Thread_local uint32_t ss_thread_name;
enum { OUTSIDE, INSIDE, IN_FORK };
static _Thread_local volatile uint32_t place;
static struct ss_thread_quiet forking; /* of the thread that is IN_FORK, under the lock */

/* As the kernel numbers this thread, and the process that it was asked in. */
static _Thread_local volatile int32_t own_tid, own_pid;

static pthread_key_t key;
static bool has_key;

/* Rows for threads, wiped on fork. Rows of ended threads are used again. */
static struct ss_thread *slab;
static uint32_t slab_used;
static struct ss_thread *free_rows[4096];
static uint32_t free_count;

/* All but those that say what the thread itself did: blocked, they would kill. */
static void fill_with_what_can_wait(sigset_t *set)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        sigdelset(set, own[i]);
    }
}

static void restore(const struct ss_thread_quiet *quiet)
{
    place = OUTSIDE;
    errno = quiet->saved_errno;
    pthread_setcancelstate(quiet->cancel, NULL);
    pthread_sigmask(SIG_SETMASK, &quiet->signals, NULL);
}

bool ss_thread_enter(struct ss_thread_quiet *quiet)
{
    sigset_t set;
    if (place != OUTSIDE || !ss_process_is_set_up()) {
        return false;
    }
    quiet->saved_errno = errno;
    fill_with_what_can_wait(&set);
    pthread_sigmask(SIG_BLOCK, &set, &quiet->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
    place = INSIDE;
    ss_process_lock();
    return true;
}

void ss_thread_leave(const struct ss_thread_quiet *quiet)
{
    ss_process_unlock();
    restore(quiet);
}

static void on_thread_end(void *row)
{
    struct ss_thread *thread = row;
    struct ss_thread_quiet quiet;
    ss_thread_current = &ended;
    if (thread->ring.thread != NULL && ss_thread_enter(&quiet)) {
        ss_process_give_ring(thread->ring.thread);
        *thread = (struct ss_thread){0};
        if (free_count < sizeof free_rows / sizeof *free_rows) {
            free_rows[free_count++] = thread;
        }
        ss_thread_leave(&quiet);
    }
}

/* A child must not find the table of names half written, nor a handler of this thread the lock
 * taken. What is wiped needs no care. */
static void before_fork(void)
{
    struct ss_thread_quiet quiet;
    if (ss_thread_enter(&quiet)) {
        forking = quiet;
        place = IN_FORK;
    }
}

static void after_fork_in_parent(void)
{
    if (place == IN_FORK) {
        struct ss_thread_quiet quiet = forking;
        ss_thread_leave(&quiet);
    }
}

static void after_fork_in_child(void)
{
    if (place == IN_FORK) {
        restore(&forking); /* the lock is wiped: free */
    }
}

int32_t ss_thread_tid(void)
{
    int32_t pid = (int32_t)ss_process_pid();
    if (__builtin_expect(own_pid != pid, 0)) {
        own_tid = ss_process_find_tid(own_tid);
        own_pid = pid;
    }
    return own_tid;
}

void ss_thread_init(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    /* Beyond the first keys, setting one allocates, which an event must not. Then the recorder
     * finds out by itself that a thread has ended. */
    has_key = pthread_key_create(&key, on_thread_end) == 0 && key < SAFE_KEYS;
}

static struct ss_thread *take_row(void)
{
    if (free_count > 0) {
        return free_rows[--free_count];
    }
    if (slab == NULL || slab_used == SLAB_THREADS) {
        slab = ss_process_wiped_memory(SLAB_THREADS * sizeof *slab);
        slab_used = 0;
    }
    return slab != NULL ? &slab[slab_used++] : NULL;
}

/* With the lock held. */
static bool open_ring(struct ss_thread *thread)
{
    uint32_t slots_log2 = 0;
    bool is_overwriting = false;
    struct ss_ring_thread *ring =
        ss_process_take_ring(ss_thread_tid(), &slots_log2, &is_overwriting);
    if (ring == NULL) {
        return false;
    }
    ss_ring_producer_init(&thread->ring, ring, slots_log2,
                          is_overwriting ? SS_RING_OVERWRITE : SS_RING_DROP_NEWEST);
    return true;
}

static void tell_name(struct ss_thread *thread, uint64_t stamp)
{
    if (ss_thread_name != 0) {
        ss_process_share_definitions();
        ss_ring_write(&thread->ring, stamp,
                      ss_ring_head_word(SS_RING_THREAD_NAME, 0, 0, 0, ss_thread_name));
    }
}

/* With the lock held. */
static struct ss_thread *get_ready(struct ss_thread *thread, uint64_t stamp)
{
    if (!ss_process_ensure()) {
        return NULL;
    }
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_acquire);
    if (thread->ring.thread == NULL) {
        thread = thread != &nobody ? thread : take_row();
        if (thread == NULL) {
            return NULL;
        }
        ss_thread_current = thread;
        if (!open_ring(thread)) {
            thread->retry_at = stamp + ss_stamp_second() / 8;
            return NULL;
        }
        if (has_key) {
            pthread_setspecific(key, thread);
        }
    } else if (thread->gate != gate) { /* another recording than the one before */
        uint32_t mode = atomic_load_explicit(&ss_process_header->mode, memory_order_relaxed);
        ss_ring_producer_begin(&thread->ring, (enum ss_ring_mode)mode);
    }
    if (thread->gate != gate) {
        tell_name(thread, stamp);
    }
    thread->gate = gate;
    ss_process_check_heartbeat();
    thread->check_at = stamp + ss_stamp_second();
    return thread;
}

struct ss_thread *ss_thread_prepare(uint64_t stamp)
{
    struct ss_thread *thread = ss_thread_current;
    struct ss_thread_quiet quiet;
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_acquire);
    if ((gate & SS_RING_GATE_ALL) == 0) {
        return NULL;
    }
    struct ss_thread *ready = NULL;
    bool may_try = thread != &ended && stamp >= thread->retry_at;
    if (may_try && ss_thread_enter(&quiet)) {
        ready = get_ready(ss_thread_current, stamp);
        ss_thread_leave(&quiet);
    }
    if (ready == NULL) {
        ss_process_count_dropped();
    }
    return ready;
}
