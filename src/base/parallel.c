/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include "base/thread.h"

struct job {
    void (*work)(void *context, size_t index);
    void *context;
    size_t count, next;
};

static void *run(void *argument)
{
    struct job *job = argument;
    for (;;) {
        /* Relaxed: only the number counts. pthread_create and pthread_join order the data. */
        size_t index = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (index >= job->count) {
            return NULL;
        }
        job->work(job->context, index);
    }
}

void ss_parallel_run(unsigned threads, size_t count, void (*work)(void *context, size_t index),
                     void *context)
{
    pthread_t started[SS_PARALLEL_MOST_THREADS];
    struct job job = {work, context, count, 0};
    size_t most = threads < SS_PARALLEL_MOST_THREADS ? threads : SS_PARALLEL_MOST_THREADS;
    most = most < count ? most : count;
    size_t others = 0;
    while (others + 1 < most && ss_thread_start("stepscope-work", run, &job, &started[others])) {
        others++;
    }
    run(&job);
    for (size_t i = 0; i < others; i++) {
        pthread_join(started[i], NULL);
    }
}
