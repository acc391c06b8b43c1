/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses CUDA, built without CUDA's headers: it opens the runtime by name.
 *
 *   cuda_program STEPS KERNELS [MODE]
 *
 * marks STEPS steps, in each of which it copies, launches KERNELS kernels in turn, sets memory and
 * waits. MODE: "plain" (the default); "threads": a second thread launches as well; "crowd": eight
 * threads launch, one after another new ones, while the steps change; "fork": a child
 * is forked after the first step and exits; "exec": it executes itself, plain, at its end; "exit":
 * leaves by _exit; "kill": is killed in its last step; "burst": marks no steps and waits only at
 * the end; "ahead": marks steps, and waits only at the end; "memory": each step also allocates and
 * frees 2 MiB, and 1 MiB from the pool, the first keeps 8 MiB; a module of PTX is loaded twice, and
 * the calls of step N have the external id 1000 + N; "rate": steps of a tenth of a second, in which
 * it launches KERNELS kernels at an even rate; "many": 160 threads launch in turn with the others,
 * so that all have launched before the first ends. Prints its number of launches.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stepscope/stepscope.h"

struct size3 {
    unsigned x, y, z;
};

static struct {
    int (*launch)(const void *, struct size3, struct size3, void **, size_t, void *);
    int (*allocate)(void **, size_t);
    int (*release)(void *);
    int (*allocate_async)(void **, size_t, void *);
    int (*release_async)(void *, void *);
    int (*load_module)(void **, const void *);
    int (*push)(int, uint64_t);
    int (*pop)(int, uint64_t *);
    int (*copy)(void *, const void *, size_t, int, void *);
    int (*set)(void *, int, size_t, void *);
    int (*wait)(void);
    int (*make_stream)(void **);
    void **(*add_binary)(void *);
    void (*add_function)(void **, const char *, char *, const char *, int, void *, void *, void *,
                         void *, int *);
} cuda;

enum { EXTERNAL = 3 /* a family of ids */, KERNELS = 3, BYTES = 1 << 20, TO_DEVICE = 1 };
static char kernels[KERNELS];
static void *memory;
static char host[BYTES];

static void find(void *library, void *function, const char *name)
{
    *(void **)function = dlsym(library, name);
    if (*(void **)function == NULL) {
        fprintf(stderr, "cuda_program: no %s\n", name);
        exit(2);
    }
}

static void start(void)
{
    static const char *const names[] = {"_Z3addPfS_i", "_Z4gemmPKfS0_Pfi", "_Z6reducePfi"};
    void *library = dlopen("libcudart.so.13", RTLD_NOW);
    library = library != NULL ? library : dlopen("libcudart.so.12", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "cuda_program: %s\n", dlerror());
        exit(2);
    }
    find(library, &cuda.launch, "cudaLaunchKernel");
    find(library, &cuda.allocate, "cudaMalloc");
    find(library, &cuda.copy, "cudaMemcpyAsync");
    find(library, &cuda.set, "cudaMemsetAsync");
    find(library, &cuda.wait, "cudaDeviceSynchronize");
    find(library, &cuda.make_stream, "cudaStreamCreate");
    find(library, &cuda.add_binary, "__cudaRegisterFatBinary");
    find(library, &cuda.add_function, "__cudaRegisterFunction");
    void **binary = cuda.add_binary(NULL);
    for (int i = 0; i < KERNELS; i++) {
        cuda.add_function(binary, &kernels[i], &kernels[i], names[i], -1, NULL, NULL, NULL, NULL,
                          NULL);
    }
    if (cuda.allocate(&memory, BYTES) != 0) {
        fprintf(stderr, "cuda_program: no memory\n");
        exit(2);
    }
}

/* libcupti is the one that stepscope uses, if it does. */
static void start_memory(void)
{
    static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                              ".visible .entry nothing()\n{ ret; }\n";
    void *library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD), *module;
    library = library != NULL ? library : dlopen("libcudart.so.12", RTLD_NOW | RTLD_NOLOAD);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
    cupti = cupti != NULL ? cupti : dlopen("libcupti.so.12", RTLD_NOW);
    if (driver == NULL || cupti == NULL) {
        fprintf(stderr, "cuda_program: %s\n", dlerror());
        exit(2);
    }
    find(library, &cuda.release, "cudaFree");
    find(library, &cuda.allocate_async, "cudaMallocAsync");
    find(library, &cuda.release_async, "cudaFreeAsync");
    find(driver, &cuda.load_module, "cuModuleLoadData");
    find(cupti, &cuda.push, "cuptiActivityPushExternalCorrelationId");
    find(cupti, &cuda.pop, "cuptiActivityPopExternalCorrelationId");
    for (int i = 0; i < 2; i++) {
        if (cuda.load_module(&module, ptx) != 0) {
            fprintf(stderr, "cuda_program: a module cannot be loaded\n");
            exit(2);
        }
    }
}

static void allocate_in_step(int step)
{
    void *block, *kept, *pooled;
    if (cuda.allocate(&block, 2 << 20) != 0 || cuda.allocate_async(&pooled, 1 << 20, NULL) != 0 ||
        (step == 0 && cuda.allocate(&kept, 8 << 20) != 0)) {
        fprintf(stderr, "cuda_program: no memory\n");
        exit(2);
    }
    cuda.release_async(pooled, NULL);
    cuda.release(block);
}

static void launch(int number, void *stream)
{
    void *arguments[] = {NULL};
    if (cuda.launch(&kernels[number % KERNELS], (struct size3){4, 1, 1}, (struct size3){128, 1, 1},
                    arguments, 0, stream) != 0) {
        fprintf(stderr, "cuda_program: a launch failed\n");
        exit(2);
    }
}

static void run_step(int count, void *stream)
{
    cuda.copy(memory, host, BYTES, TO_DEVICE, stream);
    for (int i = 0; i < count; i++) {
        launch(i, stream);
    }
    cuda.set(memory, 0, BYTES, stream);
}

struct work {
    int steps, kernels;
};

static void *run_thread(void *argument)
{
    const struct work *work = argument;
    void *stream = NULL;
    cuda.make_stream(&stream);
    for (int i = 0; i < work->steps; i++) {
        run_step(work->kernels, stream);
    }
    return NULL;
}

/* Threads that come and go, each with a part of the launches of a step. */
enum { CROWD = 8 };

static void *run_few(void *argument)
{
    const struct work *work = argument;
    for (int i = 0; i < work->kernels; i++) {
        launch(i, NULL);
    }
    return NULL;
}

static void *run_crowd(void *argument)
{
    const struct work *work = argument;
    for (int step = 0; step < work->steps; step++) {
        pthread_t threads[CROWD];
        for (int i = 0; i < CROWD; i++) {
            if (pthread_create(&threads[i], NULL, run_few, argument) != 0) {
                exit(2);
            }
        }
        for (int i = 0; i < CROWD; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    return NULL;
}

enum { MANY = 160 };
static pthread_barrier_t all_launch;

static void *run_one_of_many(void *argument)
{
    const struct work *work = argument;
    for (int step = 0; step < work->steps; step++) {
        for (int i = 0; i < work->kernels; i++) {
            launch(i, NULL);
        }
        pthread_barrier_wait(&all_launch);
    }
    return NULL;
}

static void run_many(struct work *work)
{
    static pthread_t threads[MANY];
    pthread_barrier_init(&all_launch, NULL, MANY);
    for (int i = 0; i < MANY; i++) {
        if (pthread_create(&threads[i], NULL, run_one_of_many, work) != 0) {
            exit(2);
        }
    }
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
    }
    cuda.wait();
}

static void fork_a_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        exit(0); /* with its handlers */
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "cuda_program: the child ended with %d\n", status);
        exit(2);
    }
}

static void run_steps(const struct work *work, const char *mode)
{
    for (int step = 0; step < work->steps; step++) {
        if (strcmp(mode, "burst") != 0) {
            stepscope_step(step);
        }
        if (strcmp(mode, "memory") == 0) {
            cuda.push(EXTERNAL, 1000 + (uint64_t)step);
            allocate_in_step(step);
        }
        run_step(work->kernels, NULL);
        if (strcmp(mode, "memory") == 0) {
            cuda.pop(EXTERNAL, NULL);
        }
        if (step == work->steps - 1 && strcmp(mode, "kill") == 0) {
            fflush(stdout);
            kill(getpid(), SIGKILL);
        }
        if (strcmp(mode, "burst") != 0 && strcmp(mode, "ahead") != 0) {
            cuda.wait();
        }
        if (step == 0 && strcmp(mode, "fork") == 0) {
            fork_a_child();
        }
    }
    cuda.wait();
}

/* A part of the launches each millisecond. */
static void run_at_rate(const struct work *work)
{
    enum { PARTS = 100, PART_NS = 1000000 };
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long part = 0; part < (long)work->steps * PARTS; part++) {
        int number = (int)(part % PARTS);
        if (number == 0) {
            stepscope_step(part / PARTS);
        }
        int first = work->kernels * number / PARTS, end = work->kernels * (number + 1) / PARTS;
        for (int i = first; i < end; i++) {
            launch(i, NULL);
        }
        next.tv_nsec += PART_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    cuda.wait();
}

int main(int count, char **words)
{
    struct work work = {count > 1 ? atoi(words[1]) : 3, count > 2 ? atoi(words[2]) : 6};
    const char *mode = count > 3 ? words[3] : "plain";
    bool is_crowd = strcmp(mode, "crowd") == 0;
    bool has_thread = is_crowd || strcmp(mode, "threads") == 0;
    pthread_t thread;
    start();
    if (strcmp(mode, "memory") == 0) {
        start_memory();
    }
    bool is_many = strcmp(mode, "many") == 0;
    int threads = is_many ? MANY : 1 + (is_crowd ? CROWD : has_thread);
    printf("%d\n", work.steps * work.kernels * threads);
    if (has_thread &&
        pthread_create(&thread, NULL, is_crowd ? run_crowd : run_thread, &work) != 0) {
        return 2;
    }
    if (is_many) {
        run_many(&work);
    } else if (strcmp(mode, "rate") == 0) {
        run_at_rate(&work);
    } else {
        run_steps(&work, mode);
    }
    if (has_thread) {
        pthread_join(thread, NULL);
        cuda.wait();
    }
    fflush(stdout);
    if (strcmp(mode, "exit") == 0) {
        _exit(0);
    }
    if (strcmp(mode, "exec") == 0) {
        execl(words[0], words[0], words[1], words[2], (char *)NULL);
        return 2;
    }
    return 0;
}
