/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/thread.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

enum { SLAB_THREADS = 64, SAFE_KEYS = 32 };

/* Never written: check_at stays 0. */
static struct ss_thread unregistered, ended_thread;

_Thread_local struct ss_thread *ss_thread_current = &unregistered;
_Thread_local uint32_t ss_thread_name;
enum { OUTSIDE, INSIDE, IN_FORK };
static _Thread_local volatile uint32_t lock_state;
static struct ss_thread_quiet forking; /* state of the IN_FORK thread, protected by the lock */

/* Cached tid of this thread, and the pid of the process for which it is valid. */
static _Thread_local volatile int32_t own_tid, own_pid;

static pthread_key_t key;
static bool has_key;

/* Memory for struct ss_thread, wiped on fork. Entries of ended threads are reused. */
static struct ss_thread *slab;
static uint32_t slab_used;
static struct ss_thread *free_threads[4096];
static uint32_t free_count;

/* All signals but the synchronous ones: if blocked, they kill the process. */
static void fill_blockable_signals(sigset_t *set)
{
    static const int synchronous[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof synchronous / sizeof *synchronous; i++) {
        sigdelset(set, synchronous[i]);
    }
}

static void restore(const struct ss_thread_quiet *quiet)
{
    lock_state = OUTSIDE;
    errno = quiet->saved_errno;
    pthread_setcancelstate(quiet->cancel, NULL);
    pthread_sigmask(SIG_SETMASK, &quiet->signals, NULL);
}

bool ss_thread_enter(struct ss_thread_quiet *quiet)
{
    sigset_t set;
    if (lock_state != OUTSIDE || !ss_process_is_set_up()) {
        return false;
    }
    quiet->saved_errno = errno;
    fill_blockable_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, &quiet->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
    lock_state = INSIDE;
    ss_process_lock();
    return true;
}

void ss_thread_leave(const struct ss_thread_quiet *quiet)
{
    ss_process_unlock();
    restore(quiet);
}

static void on_thread_end(void *argument)
{
    struct ss_thread *thread = argument;
    struct ss_thread_quiet quiet;
    ss_thread_current = &ended_thread;
    if (thread->ring.thread != NULL && ss_thread_enter(&quiet)) {
        ss_process_release_ring(thread->ring.thread);
        *thread = (struct ss_thread){0};
        if (free_count < sizeof free_threads / sizeof *free_threads) {
            free_threads[free_count++] = thread;
        }
        ss_thread_leave(&quiet);
    }
}

/* Holds the lock across fork, so that the child gets a complete table of names. Signals stay
 * blocked, so that no handler finds the lock held. Memory wiped on fork needs no care. */
static void before_fork(void)
{
    struct ss_thread_quiet quiet;
    if (ss_thread_enter(&quiet)) {
        forking = quiet;
        lock_state = IN_FORK;
    }
}

static void after_fork_in_parent(void)
{
    if (lock_state == IN_FORK) {
        struct ss_thread_quiet quiet = forking;
        ss_thread_leave(&quiet);
    }
}

static void after_fork_in_child(void)
{
    ss_process_wipe_after_fork();
    if (lock_state == IN_FORK) {
        restore(&forking); /* the lock is wiped, hence free */
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
    /* Beyond the first keys, pthread_setspecific allocates, which an event must not. Without a key,
     * the recorder detects by itself that a thread has ended. */
    has_key = pthread_key_create(&key, on_thread_end) == 0 && key < SAFE_KEYS;
}

static struct ss_thread *allocate_thread(void)
{
    if (free_count > 0) {
        return free_threads[--free_count];
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
        ss_process_acquire_ring(ss_thread_tid(), &slots_log2, &is_overwriting);
    if (ring == NULL) {
        return false;
    }
    ss_ring_producer_init(&thread->ring, ring, slots_log2,
                          is_overwriting ? SS_RING_OVERWRITE : SS_RING_DROP_NEWEST);
    return true;
}

static void write_thread_name(struct ss_thread *thread, uint64_t stamp)
{
    if (ss_thread_name != 0) {
        ss_process_share_definitions();
        ss_ring_write(&thread->ring, stamp,
                      ss_ring_head_word(SS_RING_THREAD_NAME, 0, 0, 0, ss_thread_name));
    }
}

/* With the lock held. */
static struct ss_thread *prepare_ring(struct ss_thread *thread, uint64_t stamp)
{
    if (!ss_process_ensure()) {
        return NULL;
    }
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_acquire);
    if (thread->ring.thread == NULL) {
        thread = thread != &unregistered ? thread : allocate_thread();
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
    } else if (thread->gate != gate) { /* a new recording */
        uint32_t mode = atomic_load_explicit(&ss_process_header->mode, memory_order_relaxed);
        ss_ring_producer_begin(&thread->ring, (enum ss_ring_mode)mode);
    }
    if (thread->gate != gate) {
        write_thread_name(thread, stamp);
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
    bool may_retry = thread != &ended_thread && stamp >= thread->retry_at;
    if (may_retry && ss_thread_enter(&quiet)) {
        ready = prepare_ring(ss_thread_current, stamp);
        ss_thread_leave(&quiet);
    }
    if (ready == NULL) {
        ss_process_count_dropped();
    }
    return ready;
}
