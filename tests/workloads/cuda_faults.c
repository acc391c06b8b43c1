/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training in C on a CUDA device, with a planted fault; built without CUDA's headers.
 *
 *   cuda_faults FAULT [STEPS]
 *
 * Each step launches 20 kernels of ten names; the host is one step ahead of the device. FAULT:
 * healthy; wait (waits for the device in the middle of a step, and then does something else);
 * pageable (copies 8 MB from pageable memory); slow (the host takes longer for each launch than
 * the kernel takes); kernel (one kernel more, slow_scan); ranks, late (two processes with a device
 * each sum up by NCCL in each step; late: the second has twice the kernels).
 * The durations are those of the device: see tests/e2e/test_device_faults.py.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
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
struct id {
    char bytes[128];
};

static struct {
    int (*launch)(const void *, struct size3, struct size3, void **, size_t, void *);
    int (*allocate)(void **, size_t);
    int (*copy)(void *, const void *, size_t, int, void *);
    int (*wait)(void);
    int (*set_device)(int);
    int (*make_event)(void **);
    int (*record_event)(void *, void *);
    int (*wait_for_event)(void *);
    void **(*add_binary)(void *);
    void (*add_function)(void **, const char *, char *, const char *, int, void *, void *, void *,
                         void *, int *);
    int (*get_id)(struct id *);
    int (*join)(void **, int, struct id, int);
    int (*sum)(const void *, void *, size_t, int, int, void *, void *);
} cuda;

enum { NAMES = 11, SCAN = 10, KERNELS = 20, BYTES = 8 << 20, TO_DEVICE = 1, FLOAT = 7, SUM = 0 };
static char kernels[NAMES];
static void *memory, *events[2], *comm;

static void find(void *library, void *function, const char *name)
{
    *(void **)function = dlsym(library, name);
    if (*(void **)function == NULL) {
        fprintf(stderr, "cuda_faults: no %s\n", name);
        exit(2);
    }
}

static void *need(const char *first, const char *second)
{
    void *library = dlopen(first, RTLD_NOW);
    library = library != NULL ? library : dlopen(second, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "cuda_faults: %s\n", dlerror());
        exit(2);
    }
    return library;
}

static void start(int device)
{
    static const char *const names[NAMES] = {
        "_Z6layer0Pf", "_Z6layer1Pf", "_Z6layer2Pf", "_Z6layer3Pf", "_Z6layer4Pf",   "_Z6layer5Pf",
        "_Z6layer6Pf", "_Z6layer7Pf", "_Z6layer8Pf", "_Z6layer9Pf", "_Z9slow_scanPf"};
    void *library = need("libcudart.so.13", "libcudart.so.12");
    find(library, &cuda.launch, "cudaLaunchKernel");
    find(library, &cuda.allocate, "cudaMalloc");
    find(library, &cuda.copy, "cudaMemcpyAsync");
    find(library, &cuda.wait, "cudaDeviceSynchronize");
    find(library, &cuda.set_device, "cudaSetDevice");
    find(library, &cuda.make_event, "cudaEventCreate");
    find(library, &cuda.record_event, "cudaEventRecord");
    find(library, &cuda.wait_for_event, "cudaEventSynchronize");
    find(library, &cuda.add_binary, "__cudaRegisterFatBinary");
    find(library, &cuda.add_function, "__cudaRegisterFunction");
    void **binary = cuda.add_binary(NULL);
    for (int i = 0; i < NAMES; i++) {
        cuda.add_function(binary, &kernels[i], &kernels[i], names[i], -1, NULL, NULL, NULL, NULL,
                          NULL);
    }
    if (cuda.set_device(device) != 0 || cuda.allocate(&memory, BYTES) != 0 ||
        cuda.make_event(&events[0]) != 0 || cuda.make_event(&events[1]) != 0) {
        fprintf(stderr, "cuda_faults: the device cannot be used\n");
        exit(2);
    }
}

static void launch(int number)
{
    void *arguments[] = {NULL};
    if (cuda.launch(&kernels[number], (struct size3){64, 1, 1}, (struct size3){256, 1, 1},
                    arguments, 0, NULL) != 0) {
        fprintf(stderr, "cuda_faults: a launch failed\n");
        exit(2);
    }
}

/* Something else than launching. */
static void take_ms(double ms)
{
    const struct timespec time = {.tv_nsec = (long)(ms * 1e6)};
    nanosleep(&time, NULL);
}

static void run_step(int step, const char *fault, int rank)
{
    static char host[BYTES];
    stepscope_step(step);
    if (strcmp(fault, "pageable") == 0) {
        cuda.copy(memory, host, BYTES, TO_DEVICE, NULL);
    }
    bool is_late = strcmp(fault, "late") == 0 && rank == 1;
    for (int i = 0; i < (is_late ? 2 : 1) * KERNELS; i++) {
        if (strcmp(fault, "slow") == 0) {
            take_ms(1.5);
        }
        if (strcmp(fault, "wait") == 0 && i == KERNELS / 2) {
            cuda.wait();
            take_ms(4);
        }
        launch(i % SCAN);
    }
    if (strcmp(fault, "kernel") == 0) {
        launch(SCAN);
    }
    if (comm != NULL) {
        cuda.sum(memory, memory, 1 << 16, FLOAT, SUM, comm, NULL);
    }
    cuda.record_event(events[step % 2], NULL);
    if (step > 0) {
        cuda.wait_for_event(events[(step - 1) % 2]);
    }
}

/* The ranks share the text of an id: the simulated library takes any. */
static void join_ranks(int rank)
{
    struct id id = {""};
    snprintf(id.bytes, sizeof id.bytes, "%s", getenv("CUDA_FAULTS_ID"));
    void *library = need("libnccl.so.2", "libnccl.so");
    find(library, &cuda.join, "ncclCommInitRank");
    find(library, &cuda.sum, "ncclAllReduce");
    if (cuda.join(&comm, 2, id, rank) != 0) {
        fprintf(stderr, "cuda_faults: the ranks cannot be joined\n");
        exit(2);
    }
}

/* Each rank is a process that executes this program anew. */
static int run_ranks(char **words)
{
    static const char *const ranks[] = {"0", "1"};
    int status = 0, worst = 0;
    char id[32];
    snprintf(id, sizeof id, "%016d", (int)getpid());
    setenv("CUDA_FAULTS_ID", id, 1);
    setenv("WORLD_SIZE", "2", 1);
    for (int i = 0; i < 2; i++) {
        setenv("RANK", ranks[i], 1);
        setenv("LOCAL_RANK", ranks[i], 1);
        if (fork() == 0) {
            execv("/proc/self/exe", words);
            _exit(2);
        }
    }
    while (wait(&status) > 0) {
        worst = status != 0 ? 2 : worst;
    }
    return worst;
}

int main(int count, char **words)
{
    const char *fault = count > 1 ? words[1] : "healthy";
    int steps = count > 2 ? atoi(words[2]) : 12;
    const char *rank = getenv("RANK");
    bool has_ranks = strcmp(fault, "ranks") == 0 || strcmp(fault, "late") == 0;
    if (has_ranks && getenv("CUDA_FAULTS_ID") == NULL) {
        return run_ranks(words);
    }
    int number = rank != NULL ? atoi(rank) : 0;
    start(number);
    if (has_ranks) {
        join_ranks(number);
    }
    for (int step = 0; step < steps; step++) {
        run_step(step, fault, number);
    }
    cuda.wait();
    return 0;
}
