/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/thread.h"

#include <errno.h>
#include <pthread.h>

enum { SLAB_THREADS = 64, SAFE_KEYS = 32 };

/* Both are never written: check_at stays 0. */
static struct ss_thread nobody, ended;

_Thread_local struct ss_thread *ss_thread_current = &nobody;
_Thread_local volatile uint32_t ss_thread_is_inside;

static pthread_key_t key;
static bool has_key;

/* Rows for threads, wiped on fork. Rows of ended threads are used again. */
static struct ss_thread *slab;
static uint32_t slab_used;
static struct ss_thread *free_rows[4096];
static uint32_t free_count;

static void on_thread_end(void *row)
{
    struct ss_thread *thread = row;
    ss_thread_is_inside++;
    ss_thread_current = &ended;
    if (thread->ring.thread != NULL) {
        ss_process_lock();
        ss_process_give_ring(thread->ring.thread);
        *thread = (struct ss_thread){0};
        if (free_count < sizeof free_rows / sizeof *free_rows) {
            free_rows[free_count++] = thread;
        }
        ss_process_unlock();
    }
    ss_thread_is_inside--;
}

/* A child must not find the table of names half written. What is wiped needs no care. */
static void before_fork(void)
{
    if (ss_thread_is_inside == 0) {
        ss_process_lock();
    }
}

static void after_fork_in_parent(void)
{
    if (ss_thread_is_inside == 0) {
        ss_process_unlock();
    }
}

void ss_thread_init(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, NULL);
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
    struct ss_ring_thread *ring = ss_process_take_ring(&slots_log2, &is_overwriting);
    if (ring == NULL) {
        return false;
    }
    ss_ring_producer_init(&thread->ring, ring, slots_log2,
                          is_overwriting ? SS_RING_OVERWRITE : SS_RING_DROP_NEWEST);
    return true;
}

static struct ss_thread *get_ready(struct ss_thread *thread, uint64_t stamp, uint32_t gate)
{
    if (!ss_process_ensure() || stamp < thread->retry_at) {
        return NULL;
    }
    gate = atomic_load_explicit(&ss_process_header->gate, memory_order_acquire);
    if (thread->ring.thread == NULL) {
        ss_process_lock();
        if (thread == &nobody) {
            thread = take_row();
        }
        bool is_open = thread != NULL && open_ring(thread);
        ss_process_unlock();
        if (thread == NULL) {
            return NULL;
        }
        ss_thread_current = thread;
        if (!is_open) {
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
    thread->gate = gate;
    ss_process_check_heartbeat();
    thread->check_at = stamp + ss_stamp_second();
    return thread;
}

struct ss_thread *ss_thread_prepare(uint64_t stamp)
{
    struct ss_thread *thread = ss_thread_current;
    uint32_t gate = atomic_load_explicit(&ss_process_header->gate, memory_order_acquire);
    if ((gate & SS_RING_GATE_ALL) == 0) {
        return NULL;
    }
    struct ss_thread *ready = NULL;
    if (thread != &ended && ss_thread_is_inside == 0) {
        int saved = errno;
        ss_thread_is_inside = 1;
        ready = get_ready(thread, stamp, gate);
        ss_thread_is_inside = 0;
        errno = saved;
    }
    if (ready == NULL) {
        ss_process_count_dropped();
    }
    return ready;
}
