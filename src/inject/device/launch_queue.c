/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/launch_queue.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "annot/thread.h"
#include "inject/device/pool.h"

enum { FREE, USED, LEFT /* its thread has ended; free once it is drained */ };

static _Atomic uint32_t epoch; /* how often the callbacks were switched */
static _Atomic bool is_enabled;
static _Atomic(struct ss_launcher *) launchers;
static _Thread_local struct ss_launcher *own;
static pthread_key_t end_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t lost;

/* --- threads ---------------------------------------------------------------------------------- */

static void on_thread_end(void *launcher)
{
    struct ss_launcher *left = launcher;
    ss_launch_stacks_free(left->stacks);
    left->stacks = NULL;
    own = NULL;
    atomic_store_explicit(&left->state, LEFT, memory_order_release);
}

static void make_key(void)
{
    pthread_key_create(&end_of_thread, on_thread_end);
}

static struct ss_launcher *reuse_launcher(void)
{
    for (struct ss_launcher *at = atomic_load_explicit(&launchers, memory_order_acquire);
         at != NULL; at = at->next) {
        int wanted = FREE;
        if (atomic_compare_exchange_strong_explicit(&at->state, &wanted, USED, memory_order_acquire,
                                                    memory_order_relaxed)) {
            return at;
        }
    }
    return NULL;
}

static struct ss_launcher *make_launcher(void)
{
    struct ss_launcher *made =
        mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        return NULL;
    }
    atomic_store_explicit(&made->state, USED, memory_order_relaxed);
    made->next = atomic_load_explicit(&launchers, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&launchers, &made->next, made,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    return made;
}

static struct ss_launcher *find_launcher(void)
{
    pthread_once(&once, make_key);
    struct ss_launcher *launcher = reuse_launcher();
    launcher = launcher != NULL ? launcher : make_launcher();
    if (launcher != NULL) {
        launcher->thread = (uint32_t)ss_thread_tid();
        launcher->outer = 0;
        pthread_setspecific(end_of_thread, launcher);
        own = launcher;
    }
    return launcher;
}

struct ss_launcher *ss_launcher_own(void)
{
    return own != NULL ? own : find_launcher();
}

/* --- filling ---------------------------------------------------------------------------------- */

void ss_launcher_put(struct ss_launcher *launcher, const struct ss_launch *launch)
{
    uint32_t head = atomic_load_explicit(&launcher->head, memory_order_relaxed);
    /* Pairs with the release of drain_launcher. */
    uint32_t waiting = head - atomic_load_explicit(&launcher->tail, memory_order_acquire);
    launcher->last = launch->is_wait ? launcher->last : launch->correlation;
    if (launch->is_kernel && launch->outer == 0) {
        launcher->kernels++;
        launcher->last_kernel = launch->correlation;
    }
    if (waiting >= SS_LAUNCH_QUEUE) {
        ss_launches_lose();
        return;
    }
    launcher->queue[head % SS_LAUNCH_QUEUE] = *launch;
    /* Pairs with the acquire of drain_launcher. */
    atomic_store_explicit(&launcher->head, head + 1, memory_order_release);
    if (waiting == SS_LAUNCH_QUEUE / 2) {
        ss_device_pool_wake();
    }
}

void ss_launches_switch(bool on)
{
    atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
    atomic_store_explicit(&is_enabled, on, memory_order_relaxed);
}

uint32_t ss_launches_epoch(void)
{
    return atomic_load_explicit(&epoch, memory_order_relaxed);
}

void ss_launches_lose(void)
{
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

/* --- emptying --------------------------------------------------------------------------------- */

static uint32_t drain_launcher(struct ss_launcher *launcher,
                               void (*visit)(void *context, const struct ss_launch *launch),
                               void *context)
{
    uint32_t tail = atomic_load_explicit(&launcher->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&launcher->head, memory_order_acquire);
    uint32_t count = head - tail;
    for (; tail != head; tail++) {
        visit(context, &launcher->queue[tail % SS_LAUNCH_QUEUE]);
    }
    atomic_store_explicit(&launcher->tail, tail, memory_order_release);
    return count;
}

uint32_t ss_launches_drain(void (*visit)(void *context, const struct ss_launch *launch),
                           void *context)
{
    uint32_t count = 0;
    for (struct ss_launcher *at = atomic_load_explicit(&launchers, memory_order_acquire);
         at != NULL; at = at->next) {
        int left = LEFT; /* read before the queue: a thread that has left adds nothing */
        bool is_left = atomic_load_explicit(&at->state, memory_order_acquire) == LEFT;
        count += drain_launcher(at, visit, context);
        if (is_left) {
            atomic_compare_exchange_strong_explicit(&at->state, &left, FREE, memory_order_release,
                                                    memory_order_relaxed);
        }
    }
    return count;
}

/* Pairs with the release of drain_launcher, after what it passed on. */
bool ss_launches_wait(void)
{
    for (struct ss_launcher *at = atomic_load_explicit(&launchers, memory_order_acquire);
         at != NULL; at = at->next) {
        if (atomic_load_explicit(&at->tail, memory_order_acquire) !=
            atomic_load_explicit(&at->head, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* A thread that is just leaving its callback may still fill its queue: the pages stay mapped. */
void ss_launches_release(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (struct ss_launcher *at = atomic_load_explicit(&launchers, memory_order_acquire);
         at != NULL; at = at->next) {
        uintptr_t begin = ((uintptr_t)at->queue + page - 1) / page * page;
        uintptr_t end = (uintptr_t)(at->queue + SS_LAUNCH_QUEUE) / page * page;
        madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    atomic_store_explicit(&lost, 0, memory_order_relaxed);
}

uint32_t ss_launches_last(void)
{
    bool is_current = own != NULL && atomic_load_explicit(&is_enabled, memory_order_relaxed) &&
                      own->epoch == ss_launches_epoch();
    return is_current ? own->last : 0;
}

uint32_t ss_launches_kernels(uint32_t *last)
{
    *last = own != NULL ? own->last_kernel : 0;
    return own != NULL ? own->kernels : 0;
}

uint64_t ss_launches_lost(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}
