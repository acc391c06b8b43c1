/* SPDX-License-Identifier: Apache-2.0 */
/* Work in time: when it starts and ends, and the thread that carries out its effects. */
#include "inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 2000000, LATE_NS = 200000000, POLL_NS = 50000 };

/* A heap of work by its end; entries of the same end stay in their order. */
struct heap {
    struct entry {
        uint64_t at_ns, sequence;
        struct sim_work *work;
    } * entries;
    size_t count, capacity;
};

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
const struct sim_tracer *sim_tracer;

static struct heap effects, records;
static uint64_t next_sequence;
static uint64_t running_ns = UINT64_MAX; /* the end of the work that is carried out now */
static bool keeps_records, thread_runs;
static pthread_cond_t work_queued, effect_done;
/* Records are reported by one thread at a time, in their order. */
static pthread_mutex_t report_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

uint64_t sim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct timespec as_timespec(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static bool is_before(const struct entry *a, const struct entry *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static void heap_push(struct heap *heap, uint64_t at_ns, const struct sim_work *work)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity == 0 ? 256 : 2 * heap->capacity;
        heap->entries = realloc(heap->entries, heap->capacity * sizeof heap->entries[0]);
    }
    struct entry new = {at_ns, next_sequence++, malloc(sizeof *work)};
    if (heap->entries == NULL || new.work == NULL) {
        fputs("fake cuda: out of memory\n", stderr);
        abort();
    }
    *new.work = *work;
    size_t at = heap->count++;
    while (at > 0 && is_before(&new, &heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = new;
}

/* The caller frees it. */
static struct sim_work *heap_pop(struct heap *heap)
{
    struct sim_work *first = heap->entries[0].work;
    struct entry last = heap->entries[--heap->count];
    size_t at = 0;
    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count &&
            is_before(&heap->entries[child + 1], &heap->entries[child])) {
            child++;
        }
        if (!is_before(&heap->entries[child], &last)) {
            break;
        }
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    if (heap->count > 0) {
        heap->entries[at] = last;
    }
    return first;
}

/* Copies in one direction share an engine. */
static uint64_t *engine_of(struct sim_device *device, const struct sim_work *work)
{
    if (work->kind != SIM_COPY) {
        return NULL;
    }
    switch (work->copy.kind) {
    case SIM_H2D:
        return &device->engine_ready_ns[0];
    case SIM_D2H:
        return &device->engine_ready_ns[1];
    case SIM_P2P:
        return &device->engine_ready_ns[2];
    default:
        return NULL;
    }
}

/* The legacy null stream waits for all blocking streams of its device, and they wait for it. */
uint64_t sim_earliest_start(struct sim_stream *stream, uint64_t queued_ns)
{
    uint64_t start = queued_ns + sim_settings()->launch_ns;
    if (stream->ready_ns > start) {
        start = stream->ready_ns;
    }
    if ((stream->flags & SIM_NON_BLOCKING) != 0) {
        return start;
    }
    for (struct sim_stream *other = stream->device->streams; other != NULL; other = other->next) {
        bool counts = stream->is_null ? (other->flags & SIM_NON_BLOCKING) == 0 : other->is_null;
        if (counts && other->ready_ns > start) {
            start = other->ready_ns;
        }
    }
    return start;
}

void sim_describe(struct sim_stream *stream, struct sim_work *work)
{
    work->device = stream->device->index;
    work->context = stream->device->context;
    work->stream = stream->id;
    work->correlation = sim_correlation();
    work->thread = sim_thread_slot();
    work->queued_ns = sim_now_ns();
}

void sim_submit(struct sim_stream *stream, struct sim_work *work, uint64_t duration_ns)
{
    sim_describe(stream, work);
    if (stream->deferred != NULL) {
        sim_defer_work(stream, work, duration_ns);
    } else {
        sim_start(stream, work, duration_ns);
    }
}

void sim_start(struct sim_stream *stream, struct sim_work *work, uint64_t duration_ns)
{
    uint64_t *engine = engine_of(stream->device, work);
    work->start_ns = sim_earliest_start(stream, work->queued_ns);
    if (engine != NULL && *engine > work->start_ns) {
        work->start_ns = *engine;
    }
    work->end_ns = work->start_ns + duration_ns;
    if (engine != NULL) {
        *engine = work->end_ns;
    }
    stream->ready_ns = work->end_ns;
    sim_queue(work);
}

static bool is_known_kernel(const struct sim_work *work)
{
    return work->kind == SIM_KERNEL && work->kernel.function->known != NULL &&
           work->kernel.function->known->effect != NULL;
}

void sim_queue(const struct sim_work *work)
{
    bool has_effect = work->kind == SIM_COPY || work->kind == SIM_SET ||
                      work->kind == SIM_HOST_CALL || is_known_kernel(work);
    bool has_record = work->kind != SIM_HOST_CALL && work->kind != SIM_EMPTY;
    sim_start_device_thread();
    if (sim_tracer != NULL && sim_tracer->work_queued != NULL) {
        sim_tracer->work_queued(work);
    }
    if (has_effect) {
        heap_push(&effects, work->start_ns, work); /* like a copy engine, from start to end */
        pthread_cond_signal(&work_queued);
    }
    if (has_record && keeps_records) {
        heap_push(&records, work->end_ns + (sim_has_fault(SIM_LATE_RECORDS) ? LATE_NS : 0), work);
        if (records.count == 1) {
            pthread_cond_signal(&work_queued);
        }
    }
}

void sim_report_done_work(void)
{
    pthread_mutex_lock(&report_lock);
    pthread_mutex_lock(&sim_lock);
    while (records.count > 0 && records.entries[0].at_ns <= sim_now_ns()) {
        struct sim_work *work = heap_pop(&records);
        const struct sim_tracer *tracer = sim_tracer;
        pthread_mutex_unlock(&sim_lock);
        if (tracer != NULL && tracer->work_done != NULL) {
            tracer->work_done(work);
        }
        free(work);
        pthread_mutex_lock(&sim_lock);
    }
    pthread_mutex_unlock(&sim_lock);
    pthread_mutex_unlock(&report_lock);
}

/* With the lock, which it gives up while it works. */
static void run_due_effects(void)
{
    while (effects.count > 0 && effects.entries[0].at_ns <= sim_now_ns()) {
        struct sim_work *work = heap_pop(&effects);
        running_ns = work->end_ns;
        pthread_mutex_unlock(&sim_lock);
        sim_run_effect(work);
        free(work);
        pthread_mutex_lock(&sim_lock);
        running_ns = UINT64_MAX;
        pthread_cond_broadcast(&effect_done);
    }
}

static void *device_thread(void *nothing)
{
    uint64_t next_tick_ns = sim_now_ns() + TICK_NS;
    pthread_mutex_lock(&sim_lock);
    for (;;) {
        run_due_effects();
        sim_advance();
        if (sim_now_ns() >= next_tick_ns) {
            next_tick_ns = sim_now_ns() + TICK_NS;
            const struct sim_tracer *tracer = sim_tracer;
            pthread_mutex_unlock(&sim_lock);
            pthread_mutex_lock(&report_lock);
            sim_report_done_work();
            if (tracer != NULL && tracer == sim_tracer && tracer->tick != NULL) {
                tracer->tick(sim_now_ns());
            }
            pthread_mutex_unlock(&report_lock);
            pthread_mutex_lock(&sim_lock);
            continue;
        }
        uint64_t wake_ns = effects.count > 0 ? effects.entries[0].at_ns : UINT64_MAX;
        if (keeps_records && next_tick_ns < wake_ns) {
            wake_ns = next_tick_ns;
        }
        if (sim_has_open_work() && sim_now_ns() + POLL_NS < wake_ns) {
            wake_ns = sim_now_ns() + POLL_NS;
        }
        if (wake_ns == UINT64_MAX) {
            pthread_cond_wait(&work_queued, &sim_lock);
        } else {
            struct timespec until = as_timespec(wake_ns);
            pthread_cond_timedwait(&work_queued, &sim_lock, &until);
        }
    }
    return nothing;
}

void sim_wake_device_thread(void)
{
    sim_start_device_thread();
    pthread_cond_signal(&work_queued);
}

void sim_start_device_thread(void)
{
    pthread_condattr_t monotonic;
    pthread_t thread;
    if (thread_runs) {
        return;
    }
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&work_queued, &monotonic);
    pthread_cond_init(&effect_done, &monotonic);
    thread_runs = pthread_create(&thread, NULL, device_thread, NULL) == 0;
    if (!thread_runs) {
        fputs("fake cuda: cannot start the device thread\n", stderr);
        abort();
    }
    pthread_setname_np(thread, "fake-cuda");
    pthread_detach(thread);
}

/* With the lock: whether work that ends by then is still to be carried out. */
static bool has_open_effects(uint64_t at_ns)
{
    if (running_ns <= at_ns) {
        return true;
    }
    if (effects.count == 0 || effects.entries[0].at_ns > at_ns) {
        return false;
    }
    for (size_t i = 0; i < effects.count; i++) {
        if (effects.entries[i].work->end_ns <= at_ns) {
            return true;
        }
    }
    return false;
}

void sim_wait_until(uint64_t at_ns)
{
    struct timespec until = as_timespec(at_ns);
    while (sim_now_ns() < at_ns &&
           clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
    pthread_mutex_lock(&sim_lock);
    while (has_open_effects(at_ns)) {
        pthread_cond_wait(&effect_done, &sim_lock);
    }
    pthread_mutex_unlock(&sim_lock);
}

void sim_set_tracer(const struct sim_tracer *tracer)
{
    pthread_mutex_lock(&sim_lock);
    sim_tracer = tracer;
    pthread_mutex_unlock(&sim_lock);
}

void sim_end_reports(void)
{
    sim_set_tracer(NULL);
    pthread_mutex_lock(&report_lock); /* for one that is under way */
    pthread_mutex_unlock(&report_lock);
}

void sim_keep_done_work(bool keep)
{
    pthread_mutex_lock(&sim_lock);
    keeps_records = keep;
    if (keep) {
        sim_start_device_thread();
        pthread_cond_signal(&work_queued);
    }
    pthread_mutex_unlock(&sim_lock);
}
