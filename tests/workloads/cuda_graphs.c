/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that launches CUDA graphs, built without CUDA's headers: it opens the runtime by name.
 *
 *   cuda_graphs STEPS KERNELS [MODE]
 *
 * captures a graph of KERNELS kernels in its first step, and launches it once in each other step.
 * MODE: "plain" (the default); "eager": each step also launches KERNELS kernels one by one;
 * "marked": in step 4 it captures a second graph, and marks a step within that capture; "threads":
 * another thread launches kernels all the time, while each step captures a graph anew; "once": the
 * graph is launched in the second step only, kernels in all; "devices": each second step is marked
 * while a second device is the current one. Ends with 3 if a capture is broken.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stepscope/stepscope.h"

struct size3 {
    unsigned x, y, z;
};

static struct {
    int (*launch)(const void *, struct size3, struct size3, void **, size_t, void *);
    int (*wait)(void);
    int (*use_device)(int);
    int (*make_stream)(void **, unsigned);
    int (*begin_capture)(void *, int);
    int (*end_capture)(void *, void **);
    int (*instantiate)(void **, void *, unsigned long long);
    int (*launch_graph)(void *, void *);
    int (*end_graph)(void *);
    int (*end_executable)(void *);
    void **(*add_binary)(void *);
    void (*add_function)(void **, const char *, char *, const char *, int, void *, void *, void *,
                         void *, int *);
} cuda;

enum { KERNELS = 3, RELAXED = 2, NON_BLOCKING = 1 };
static char kernels[KERNELS];
static atomic_bool is_over;

static void find(void *library, void *function, const char *name)
{
    *(void **)function = dlsym(library, name);
    if (*(void **)function == NULL) {
        fprintf(stderr, "cuda_graphs: no %s\n", name);
        exit(2);
    }
}

static void start(void)
{
    static const char *const names[] = {"_Z3addPfS_i", "_Z4gemmPKfS0_Pfi", "_Z6reducePfi"};
    void *library = dlopen("libcudart.so.13", RTLD_NOW);
    library = library != NULL ? library : dlopen("libcudart.so.12", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "cuda_graphs: %s\n", dlerror());
        exit(2);
    }
    find(library, &cuda.launch, "cudaLaunchKernel");
    find(library, &cuda.wait, "cudaDeviceSynchronize");
    find(library, &cuda.use_device, "cudaSetDevice");
    find(library, &cuda.make_stream, "cudaStreamCreateWithFlags");
    find(library, &cuda.begin_capture, "cudaStreamBeginCapture");
    find(library, &cuda.end_capture, "cudaStreamEndCapture");
    find(library, &cuda.instantiate, "cudaGraphInstantiate");
    find(library, &cuda.launch_graph, "cudaGraphLaunch");
    find(library, &cuda.end_graph, "cudaGraphDestroy");
    find(library, &cuda.end_executable, "cudaGraphExecDestroy");
    find(library, &cuda.add_binary, "__cudaRegisterFatBinary");
    find(library, &cuda.add_function, "__cudaRegisterFunction");
    void **binary = cuda.add_binary(NULL);
    for (int i = 0; i < KERNELS; i++) {
        cuda.add_function(binary, &kernels[i], &kernels[i], names[i], -1, NULL, NULL, NULL, NULL,
                          NULL);
    }
}

static void need(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "cuda_graphs: %s: CUDA's error %d\n", what, result);
        exit(3);
    }
}

static void launch(int number, void *stream)
{
    void *arguments[] = {NULL};
    need(cuda.launch(&kernels[number % KERNELS], (struct size3){4, 1, 1}, (struct size3){128, 1, 1},
                     arguments, 0, stream),
         "a launch");
}

/* `marks`: a step within the capture; -1: none. */
static void *capture(void *stream, int count, int marks)
{
    void *graph = NULL, *executable = NULL;
    need(cuda.begin_capture(stream, RELAXED), "begin a capture");
    for (int i = 0; i < count; i++) {
        launch(i, stream);
        if (i == 0 && marks >= 0) {
            stepscope_step(marks);
        }
    }
    need(cuda.end_capture(stream, &graph), "end a capture");
    need(cuda.instantiate(&executable, graph, 0), "instantiate a graph");
    need(cuda.end_graph(graph), "end a graph");
    return executable;
}

static void *launch_all_the_time(void *argument)
{
    (void)argument;
    while (!atomic_load(&is_over)) {
        launch(1, NULL);
    }
    return NULL;
}

static void run_step(int step, int count, const char *mode, void *stream, void *graph)
{
    bool is_once = strcmp(mode, "once") == 0;
    if (strcmp(mode, "marked") == 0 && step == 4) {
        void *second = capture(stream, count, 1000);
        need(cuda.launch_graph(second, stream), "launch a graph");
        need(cuda.wait(), "a wait");
        need(cuda.end_executable(second), "end a graph");
    }
    if (strcmp(mode, "threads") == 0) {
        void *second = capture(stream, count, -1);
        need(cuda.launch_graph(second, stream), "launch a graph");
    }
    if (!is_once || step == 1) {
        need(cuda.launch_graph(graph, stream), "launch a graph");
    }
    for (int i = 0; i < count && (is_once || strcmp(mode, "eager") == 0); i++) {
        launch(i, stream);
    }
}

int main(int count, char **words)
{
    int steps = count > 1 ? atoi(words[1]) : 12, of_graph = count > 2 ? atoi(words[2]) : 6;
    const char *mode = count > 3 ? words[3] : "plain";
    bool has_thread = strcmp(mode, "threads") == 0;
    void *stream = NULL, *graph = NULL;
    pthread_t thread;
    start();
    need(cuda.make_stream(&stream, NON_BLOCKING), "a stream");
    for (int step = 0; step < steps; step++) {
        if (strcmp(mode, "devices") == 0) {
            need(cuda.use_device(step % 2), "the other device");
            need(cuda.wait(), "a wait"); /* it has a context */
        }
        stepscope_step(step);
        need(cuda.use_device(0), "the first device");
        if (step == 0) {
            graph = capture(stream, of_graph, -1);
            if (has_thread && pthread_create(&thread, NULL, launch_all_the_time, NULL) != 0) {
                return 2;
            }
        } else {
            run_step(step, of_graph, mode, stream, graph);
        }
        bool is_ahead = has_thread || strcmp(mode, "devices") == 0;
        need(is_ahead ? 0 : cuda.wait(), "a wait");
    }
    atomic_store(&is_over, true);
    if (has_thread) {
        pthread_join(thread, NULL);
    }
    need(cuda.wait(), "a wait");
    return 0;
}
