/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses HIP: rocm_program ROUNDS [END]. A round has two kernels on each of two
 * streams, a copy there and back, and a collective. END is how it ends: "return", "exit" (_exit),
 * "kill", "fork" (a child that uses HIP and exits), "exec" (itself, with one round), "graph"
 * (captures, then replays), "threads" (rounds on four threads), "devices" (on both devices instead,
 * with communicators), "split" (a communicator of an id, and a part of it).
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

/* In a round: a kernel on the first device and two on the second, a collective of each, a copy from
 * one to the other, and of the first an exchange and a group of two reductions. */
static void on_devices(int count)
{
    enum { INT8 = 0, FLOAT = 7, SUM = 0, MAX = 2 };
    void *communicators[2], *memory[2], *streams[2], *host = calloc(1, BYTES);
    ncclCommInitAll(communicators, 2, NULL);
    for (int i = 0; i < 2; i++) {
        hipSetDevice(i);
        hipMalloc(&memory[i], BYTES);
        hipStreamCreate(&streams[i]);
    }
    while (count-- > 0) {
        for (int i = 0; i < 2; i++) {
            hipSetDevice(i);
            hipMemcpyAsync(memory[i], host, BYTES, HIP_HOST_TO_DEVICE, streams[i]);
            for (int j = 0; j <= i; j++) {
                launch(scale, streams[i]);
            }
            ncclAllReduce(host, memory[i], 1000, FLOAT, SUM, communicators[i], streams[i]);
        }
        hipSetDevice(0);
        hipMemcpyPeerAsync(memory[1], 1, memory[0], 0, BYTES, streams[0]);
        ncclAllToAll(host, memory[0], 100, INT8, communicators[0], streams[0]);
        ncclGroupStart();
        ncclAllReduce(host, memory[0], 10, FLOAT, MAX, communicators[0], streams[0]);
        ncclAllReduce(host, memory[0], 20, FLOAT, SUM, communicators[0], streams[0]);
        ncclGroupEnd();
        hipDeviceSynchronize();
    }
    ncclCommDestroy(communicators[0]);
    ncclCommDestroy(communicators[1]);
    free(host);
}

static void split(int count)
{
    rccl_unique_id id = {"an id"};
    void *whole, *part, *none, *stream, *host = calloc(1, BYTES);
    hipStreamCreate(&stream);
    ncclCommInitRank(&whole, 4, id, 1);
    ncclCommSplit(whole, -1, 0, &none, NULL);
    ncclCommSplit(whole, 3, 0, &part, NULL);
    while (count-- > 0) {
        ncclAllReduce(host, host, 8, 9, 4, whole, stream);
        ncclAllReduce(host, host, 16, 9, 9, part, stream);
    }
    hipDeviceSynchronize();
    free(host);
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
    } else if (strcmp(how, "devices") == 0) {
        on_devices(wanted);
    } else if (strcmp(how, "split") == 0) {
        split(wanted);
    } else {
        rounds(&wanted);
    }
    return end(how, arguments);
}
