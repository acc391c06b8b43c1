/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of MPI with collectives of all kinds; rank LATE sleeps before each step.
 *
 *     mpi_ranks STEPS LATE MILLISECONDS [PART…]
 *
 * Parts: calls (each kind of call once), split (communicators), waits (requests), threads (from
 * two threads at once), kill (rank LATE kills itself), fork (a child of rank 0 lives on).
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef MARKS_STEPS
#include "stepscope/stepscope.h"
#endif

enum { ELEMENTS = 1000 };

static int rank, size;
static double from[ELEMENTS], to[ELEMENTS];

static void pause_for(int milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

static void call_each(void)
{
    int counts[64], places[64], next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < size; i++) {
        counts[i] = 10;
        places[i] = 10 * i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(from, 100, MPI_FLOAT, 1, MPI_COMM_WORLD);
    MPI_Reduce(from, to, 100, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
    MPI_Gather(from, 10, MPI_INT, to, 10, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(from, 10, MPI_INT, to, 10, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(from, 10, MPI_LONG, to, 10, MPI_LONG, MPI_COMM_WORLD);
    MPI_Allgatherv(from, 10, MPI_BYTE, to, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Alltoall(from, 10, MPI_DOUBLE, to, 10, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoallv(from, counts, places, MPI_DOUBLE, to, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(from, to, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(from, to, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, to, 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(from, 5, MPI_CHAR, next, 1, to, 5, MPI_CHAR, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void split(void)
{
    MPI_Comm half, odd, copy, again;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd); /* in reverse order */
    MPI_Comm_dup(half, &copy);
    for (int i = 0; i < 3; i++) {
        MPI_Allreduce(from, to, 10, MPI_DOUBLE, MPI_MAX, half);
    }
    MPI_Bcast(from, 10, MPI_DOUBLE, 1, odd);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_dup(half, &again);
    MPI_Barrier(again);
    MPI_Comm_free(&again);
    MPI_Comm_free(&half);
    MPI_Comm_free(&odd);
}

static void wait_for(void)
{
    MPI_Request requests[2], one;
    int next = (rank + 1) % size, before = (rank + size - 1) % size, flag = 0, index;
    MPI_Iallreduce(from, to, ELEMENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &one);
    pause_for(20); /* other work, which hides it */
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &one);
    while (!flag) {
        MPI_Test(&one, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Irecv(to, ELEMENTS, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, ELEMENTS, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Recv_init(to, 3, MPI_DOUBLE, before, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(from, 3, MPI_DOUBLE, next, 8, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1 - index], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void *exchange(void *comm)
{
    double sum = 1, all;
    for (int i = 0; i < 50; i++) {
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, *(MPI_Comm *)comm);
    }
    return NULL;
}

static void use_threads(void)
{
    MPI_Comm comms[2];
    pthread_t thread;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    if (pthread_create(&thread, NULL, exchange, &comms[0]) == 0) {
        exchange(&comms[1]);
        pthread_join(thread, NULL);
    }
}

static void fork_one(void)
{
    pid_t child = rank == 0 ? fork() : -1;
    if (child == 0) {
        pause_for(50);
        _exit(0);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}

static int has(int argc, char **argv, const char *part)
{
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], part) == 0) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10, threads;
    int late = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    int milliseconds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 10;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < steps; step++) {
#ifdef MARKS_STEPS
        stepscope_step(step);
#endif
        pause_for(2 + (rank == late ? milliseconds : 0));
        MPI_Allreduce(from, to, ELEMENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (step == steps / 2 && rank == late && has(argc, argv, "kill")) {
            raise(SIGKILL);
        }
    }
    if (has(argc, argv, "calls")) {
        call_each();
    }
    if (has(argc, argv, "split")) {
        split();
    }
    if (has(argc, argv, "waits")) {
        wait_for();
    }
    if (has(argc, argv, "threads") && threads == MPI_THREAD_MULTIPLE) {
        use_threads();
    }
    if (has(argc, argv, "fork")) {
        fork_one();
    }
    MPI_Finalize();
    if (rank == 0) {
        puts("done");
    }
    return 0;
}
