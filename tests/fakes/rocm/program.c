/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses HIP: rocm_program ROUNDS [END]. A round has two kernels on each of two
 * streams, a copy there and back, and a collective. END is how it ends: "return", "exit" (_exit),
 * "kill", "fork" (a child that uses HIP and exits), "exec" (itself, with one round), "graph"
 * (captures, then replays), "threads" (rounds on four threads).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hip.h"

enum { BYTES = 1 << 16 };

static const void *scale, *reduce;

static void launch(const void *kernel, void *stream)
{
    hipLaunchKernel(kernel, (hip_dim3){32, 2, 1}, (hip_dim3){256, 1, 1}, NULL, 512, stream);
}

static void *rounds(void *count)
{
    void *memory, *host = calloc(1, BYTES), *streams[2];
    int device;
    hipMalloc(&memory, BYTES);
    hipStreamCreate(&streams[0]);
    hipStreamCreate(&streams[1]);
    for (int i = 0; i < *(int *)count; i++) {
        hipGetDevice(&device);
        hipMemcpyAsync(memory, host, BYTES, HIP_HOST_TO_DEVICE, streams[0]);
        for (int j = 0; j < 2; j++) {
            launch(scale, streams[j]);
            launch(reduce, streams[j]);
        }
        ncclAllReduce(host, memory, BYTES / 4, 7, 0, NULL, streams[1]);
        hipMemcpy(host, memory, BYTES, HIP_DEVICE_TO_HOST);
        hipDeviceSynchronize();
    }
    hipFree(memory);
    free(host);
    return NULL;
}

static void on_threads(int count)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, rounds, &count);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void replay(void)
{
    void *stream, *graph;
    hipStreamCreate(&stream);
    hipStreamBeginCapture(stream, 0);
    launch(scale, stream);
    launch(scale, stream);
    hipStreamEndCapture(stream, &graph);
    hipGraphLaunch(graph, stream);
    hipStreamSynchronize(stream);
}

static int end(const char *how, char **arguments)
{
    if (strcmp(how, "exit") == 0) {
        _exit(7);
    } else if (strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(how, "exec") == 0) {
        char *again[] = {arguments[0], "1", NULL};
        execv("/proc/self/exe", again);
    } else if (strcmp(how, "graph") == 0) {
        replay();
    } else if (strcmp(how, "fork") == 0) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            launch(scale, NULL); /* its callbacks find another process */
            exit(3);
        }
        waitpid(child, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 0 : 1;
    }
    return 0;
}

int main(int count, char **arguments)
{
    int wanted = count > 1 ? atoi(arguments[1]) : 1;
    const char *how = count > 2 ? arguments[2] : "return";
    scale = fake_hip_kernel("_Z5scalePff.kd", 0, 32, 0);
    reduce = fake_hip_kernel("_Z6reducePfi.kd", 2048, 64, 8);
    if (strcmp(how, "threads") == 0) {
        on_threads(wanted);
    } else {
        rounds(&wanted);
    }
    return end(how, arguments);
}
