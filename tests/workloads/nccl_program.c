/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of two processes that uses NCCL, built without its headers: it opens the libraries by
 * name.
 *
 *   nccl_program ROUNDS [group]
 *
 * In each round both ranks reduce 1000 floats, scatter the reduction of 2 x 64 halves, to which
 * rank 1 comes 20 ms late, and send a message of 16 bytes. With `group`, they reduce 1000 and 200
 * floats in one group of calls instead. Prints the number of its collectives.
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

enum { RANKS = 2, BYTES = 1 << 20, LATE_NS = 20000000 };
enum { INT8 = 0, HALF = 6, FLOAT = 7, SUM = 0, MAX = 2 }; /* as NCCL numbers them */

struct id {
    char bytes[128];
};

static struct {
    int (*get_id)(struct id *);
    int (*join)(void **, int, struct id, int);
    int (*leave)(void *);
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*reduce_scatter)(const void *, void *, size_t, int, int, void *, void *);
    int (*send)(const void *, size_t, int, int, void *, void *);
    int (*receive)(void *, size_t, int, int, void *, void *);
    int (*begin_group)(void);
    int (*end_group)(void);
    int (*use)(int);
    int (*allocate)(void **, size_t);
    int (*wait)(void);
} nccl;

static void fail(const char *what)
{
    fprintf(stderr, "nccl_program: %s\n", what);
    exit(2);
}

static void *open_library(const char *first, const char *second)
{
    void *library = dlopen(first, RTLD_NOW);
    library = library != NULL ? library : dlopen(second, RTLD_NOW);
    if (library == NULL) {
        fail(dlerror());
    }
    return library;
}

static void find(void *library, void *function, const char *name)
{
    *(void **)function = dlsym(library, name);
    if (*(void **)function == NULL) {
        fail(name);
    }
}

static void open_libraries(void)
{
    void *runtime = open_library("libcudart.so.13", "libcudart.so.12");
    void *library = open_library("libnccl.so.2", "libnccl.so");
    find(runtime, &nccl.use, "cudaSetDevice");
    find(runtime, &nccl.allocate, "cudaMalloc");
    find(runtime, &nccl.wait, "cudaDeviceSynchronize");
    find(library, &nccl.get_id, "ncclGetUniqueId");
    find(library, &nccl.join, "ncclCommInitRank");
    find(library, &nccl.leave, "ncclCommDestroy");
    find(library, &nccl.all_reduce, "ncclAllReduce");
    find(library, &nccl.reduce_scatter, "ncclReduceScatter");
    find(library, &nccl.send, "ncclSend");
    find(library, &nccl.receive, "ncclRecv");
    find(library, &nccl.begin_group, "ncclGroupStart");
    find(library, &nccl.end_group, "ncclGroupEnd");
}

static void run_round(int rank, char *memory, void *comm)
{
    int error = nccl.all_reduce(memory, memory, 1000, FLOAT, SUM, comm, NULL);
    if (rank == 1) {
        nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
    }
    error |= nccl.reduce_scatter(memory, memory + BYTES / 2, 64, HALF, SUM, comm, NULL);
    error |= rank == 0 ? nccl.send(memory, 16, INT8, 1, comm, NULL)
                       : nccl.receive(memory, 16, INT8, 0, comm, NULL);
    if (error != 0 || nccl.wait() != 0) {
        fail("a collective failed");
    }
}

static void run_group(char *memory, void *comm)
{
    int error = nccl.begin_group();
    error |= nccl.all_reduce(memory, memory, 1000, FLOAT, SUM, comm, NULL);
    error |= nccl.all_reduce(memory + BYTES / 2, memory + BYTES / 2, 200, FLOAT, MAX, comm, NULL);
    error |= nccl.end_group();
    if (error != 0 || nccl.wait() != 0) {
        fail("a group failed");
    }
}

static void run_rank(int rank, struct id id, int rounds, bool has_groups)
{
    void *comm = NULL, *memory = NULL;
    if (nccl.use(rank) != 0 || nccl.allocate(&memory, BYTES) != 0 ||
        nccl.join(&comm, RANKS, id, rank) != 0) {
        fail("a rank cannot begin");
    }
    for (int i = 0; i < rounds; i++) {
        if (has_groups) {
            run_group(memory, comm);
        } else {
            run_round(rank, memory, comm);
        }
    }
    nccl.leave(comm);
}

int main(int count, char **words)
{
    int rounds = count > 1 ? atoi(words[1]) : 3, status = -1;
    struct id id;
    open_libraries();
    if (nccl.get_id(&id) != 0) {
        fail("no id");
    }
    pid_t child = fork(); /* before either uses a device */
    run_rank(child == 0, id, rounds, count > 2 && strcmp(words[2], "group") == 0);
    if (child == 0) {
        return 0;
    }
    waitpid(child, &status, 0);
    printf("%d\n", rounds * 2);
    return status == 0 ? 0 : 1;
}
