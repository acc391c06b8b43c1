/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "annot/stamp.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t is_wanted;
    struct ss_device_full full[SS_DEVICE_MOST_BUFFERS]; /* a queue: from first on */
    uint8_t *free[SS_DEVICE_MOST_BUFFERS];
    size_t waiting_bytes; /* in full ones */
    uint32_t first, full_count, free_count, made, most;
    uint8_t *thrown_away;
    bool takes_none, is_woken;
    _Atomic uint64_t refused;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint8_t *make_buffer(void)
{
    void *memory = mmap(NULL, SS_DEVICE_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void ss_device_pool_init(bool takes_none, uint32_t most)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool.is_wanted, &attributes);
    pthread_condattr_destroy(&attributes);
    pool.takes_none = takes_none;
    pool.most = most > 0 && most < SS_DEVICE_MOST_BUFFERS ? most : SS_DEVICE_MOST_BUFFERS;
}

void ss_device_pool_fini(void)
{
    pthread_mutex_lock(&pool.lock);
    while (pool.free_count > 0) {
        munmap(pool.free[--pool.free_count], SS_DEVICE_BUFFER_BYTES);
        pool.made--;
    }
    atomic_store_explicit(&pool.refused, 0, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
}

static uint8_t *take_throw_away(void)
{
    if (!pool.takes_none && pool.thrown_away == NULL) {
        pool.thrown_away = make_buffer();
    }
    return pool.takes_none ? NULL : pool.thrown_away;
}

/* With the lock: what the interface holds. */
static uint32_t count_held(void)
{
    return pool.made - pool.free_count - pool.full_count;
}

static bool is_scarce(void)
{
    return 4 * count_held() > 3 * pool.most;
}

bool ss_device_pool_is_scarce(void)
{
    pthread_mutex_lock(&pool.lock);
    bool scarce = is_scarce();
    pthread_mutex_unlock(&pool.lock);
    return scarce;
}

/* Memory is mapped for large ones; of a small one, the rest is never touched. */
uint8_t *ss_device_pool_take(size_t *size)
{
    uint8_t *bytes = NULL;
    pthread_mutex_lock(&pool.lock);
    *size = count_held() < SS_DEVICE_FEW_BUFFERS ? SS_DEVICE_BUFFER_BYTES
                                                 : SS_DEVICE_SMALL_BUFFER_BYTES;
    if (pool.waiting_bytes >= (size_t)SS_DEVICE_FEW_BUFFERS * SS_DEVICE_BUFFER_BYTES) {
        bytes = NULL; /* the writer is behind */
    } else if (pool.free_count > 0) {
        bytes = pool.free[--pool.free_count];
    } else if (pool.made < pool.most) {
        bytes = make_buffer();
        pool.made += bytes != NULL;
    }
    if (bytes == NULL) {
        atomic_fetch_add_explicit(&pool.refused, 1, memory_order_relaxed);
        bytes = take_throw_away();
    }
    if (is_scarce()) {
        pool.is_woken = true;
        pthread_cond_signal(&pool.is_wanted);
    }
    pthread_mutex_unlock(&pool.lock);
    *size = bytes != NULL ? *size : 0;
    return bytes;
}

void ss_device_pool_put_full(uint8_t *bytes, size_t valid)
{
    pthread_mutex_lock(&pool.lock);
    bool is_ours = bytes != NULL && bytes != pool.thrown_away;
    if (is_ours && valid > 0 && pool.full_count < SS_DEVICE_MOST_BUFFERS) {
        uint32_t at = (pool.first + pool.full_count++) % SS_DEVICE_MOST_BUFFERS;
        pool.full[at] = (struct ss_device_full){
            bytes, valid < SS_DEVICE_BUFFER_BYTES ? valid : SS_DEVICE_BUFFER_BYTES};
        pool.waiting_bytes += pool.full[at].valid;
        pthread_cond_signal(&pool.is_wanted);
    } else if (is_ours && pool.free_count < SS_DEVICE_MOST_BUFFERS) {
        pool.free[pool.free_count++] = bytes;
    }
    pthread_mutex_unlock(&pool.lock);
}

static void wait_for_one(uint32_t wait_ms)
{
    uint64_t until_ns = ss_stamp_monotonic_ns() + (uint64_t)wait_ms * 1000000;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    while (pool.full_count == 0 && !pool.is_woken &&
           pthread_cond_timedwait(&pool.is_wanted, &pool.lock, &until) == 0) {
    }
    pool.is_woken = false;
}

bool ss_device_pool_next_full(struct ss_device_full *full, uint32_t wait_ms)
{
    pthread_mutex_lock(&pool.lock);
    if (wait_ms > 0) {
        wait_for_one(wait_ms);
    }
    bool is_there = pool.full_count > 0;
    if (is_there) {
        *full = pool.full[pool.first];
        pool.waiting_bytes -= full->valid;
        pool.first = (pool.first + 1) % SS_DEVICE_MOST_BUFFERS;
        pool.full_count--;
    }
    pthread_mutex_unlock(&pool.lock);
    return is_there;
}

void ss_device_pool_recycle(struct ss_device_full *full)
{
    memset(full->bytes, 0, full->valid);
    pthread_mutex_lock(&pool.lock);
    if (pool.free_count < SS_DEVICE_MOST_BUFFERS) {
        pool.free[pool.free_count++] = full->bytes;
    }
    pthread_mutex_unlock(&pool.lock);
}

void ss_device_pool_wake(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.is_woken = true;
    pthread_cond_signal(&pool.is_wanted);
    pthread_mutex_unlock(&pool.lock);
}

uint64_t ss_device_pool_refused(void)
{
    return atomic_load_explicit(&pool.refused, memory_order_relaxed);
}

uint32_t ss_device_pool_full_count(void)
{
    pthread_mutex_lock(&pool.lock);
    uint32_t count = pool.full_count;
    pthread_mutex_unlock(&pool.lock);
    return count;
}
