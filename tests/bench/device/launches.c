/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch costs the thread that launches: blocks of kernels that do nothing, in CPU time of
 * the thread. Built as a library by bench_launch.py, for a Python that has opened CUDA's runtime.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "stepscope/stepscope.h"

struct size3 {
    unsigned x, y, z;
};

static int (*launch)(const void *, struct size3, struct size3, void **, size_t, void *);
static int (*wait_for_device)(void);
static char kernel;

int launches_open(const char *runtime)
{
    void *library = dlopen(runtime, RTLD_NOW | RTLD_NOLOAD);
    void **(*add_binary)(void *) = NULL;
    void (*add_function)(void **, const char *, char *, const char *, int, void *, void *, void *,
                         void *, int *) = NULL;
    if (library == NULL) {
        return 0;
    }
    *(void **)&launch = dlsym(library, "cudaLaunchKernel");
    *(void **)&wait_for_device = dlsym(library, "cudaDeviceSynchronize");
    *(void **)&add_binary = dlsym(library, "__cudaRegisterFatBinary");
    *(void **)&add_function = dlsym(library, "__cudaRegisterFunction");
    if (launch == NULL || wait_for_device == NULL || add_binary == NULL || add_function == NULL) {
        return 0;
    }
    add_function(add_binary(NULL), &kernel, &kernel, "_Z4idlePf", -1, NULL, NULL, NULL, NULL, NULL);
    return 1;
}

void launches_step(long long step)
{
    stepscope_step(step);
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void launch_many(int count)
{
    void *arguments[] = {NULL};
    for (int i = 0; i < count; i++) {
        launch(&kernel, (struct size3){1, 1, 1}, (struct size3){32, 1, 1}, arguments, 0, NULL);
    }
}

/* ns of a launch, after as many that are not measured. */
double launches_run(int count)
{
    launch_many(count);
    wait_for_device();
    double begin_ns = cpu_ns();
    launch_many(count);
    double took_ns = cpu_ns() - begin_ns;
    wait_for_device();
    return took_ns / count;
}

struct elsewhere {
    int count;
    double ns;
};

static void *run_elsewhere(void *argument)
{
    struct elsewhere *run = argument;
    run->ns = launches_run(run->count);
    return NULL;
}

/* The same on a thread of its own, which has no Python frames. */
double launches_run_elsewhere(int count)
{
    struct elsewhere run = {.count = count};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_elsewhere, &run) != 0) {
        return -1;
    }
    pthread_join(thread, NULL);
    return run.ns;
}

/* --- a client of CUPTI that does nothing with what it gets ------------------------------------ */

enum { BUFFER_BYTES = 4 << 20, RUNTIME_CALL = 5, KERNEL = 10, RUNTIME = 2, LAUNCH = 211 };

static void *free_buffer;

static void on_request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    uint8_t *taken = __atomic_exchange_n(&free_buffer, NULL, __ATOMIC_ACQ_REL);
    *most_records = 0;
    *size = BUFFER_BYTES;
    *buffer = taken != NULL ? taken : malloc(BUFFER_BYTES);
}

static void on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    (void)valid;
    free(__atomic_exchange_n(&free_buffer, (void *)buffer, __ATOMIC_ACQ_REL));
}

static void on_call(void *user, int domain, uint32_t function, const void *data)
{
    (void)user;
    (void)domain;
    (void)function;
    (void)data;
}

static int (*enable)(int), (*disable)(int);
static int (*enable_callback)(uint32_t, void *, int, uint32_t);
static int (*flush)(uint32_t);
static void *subscriber;

static int open_client(const char *cupti)
{
    void *library = dlopen(cupti, RTLD_NOW);
    int (*subscribe)(void **, void (*)(void *, int, uint32_t, const void *), void *) = NULL;
    int (*take_buffers)(void (*)(uint8_t **, size_t *, size_t *),
                        void (*)(void *, uint32_t, uint8_t *, size_t, size_t)) = NULL;
    if (library == NULL) {
        return 0;
    }
    *(void **)&subscribe = dlsym(library, "cuptiSubscribe");
    *(void **)&take_buffers = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&enable = dlsym(library, "cuptiActivityEnable");
    *(void **)&disable = dlsym(library, "cuptiActivityDisable");
    *(void **)&enable_callback = dlsym(library, "cuptiEnableCallback");
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    return subscribe(&subscriber, on_call, NULL) == 0 &&
           take_buffers(on_request, on_completed) == 0;
}

/* The records of kernels and, if `has_calls`, of calls, and the callbacks of launches. */
int launches_observe(const char *cupti, int is_on, int has_calls)
{
    if (subscriber == NULL && !open_client(cupti)) {
        return 0;
    }
    (is_on ? enable : disable)(KERNEL);
    if (has_calls) {
        (is_on ? enable : disable)(RUNTIME_CALL);
    }
    enable_callback((uint32_t)is_on, subscriber, RUNTIME, LAUNCH);
    return flush(1) == 0;
}
