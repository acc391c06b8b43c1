/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libstepscope offers to the library that observes an implementation of MPI (observe.c): the
 * events of calls, the groups of communicators, the requests under way. Handles of MPI, which are
 * numbers in one implementation and addresses in another, are 64-bit numbers here.
 *
 * Any thread; nothing is allocated but when a communicator is first seen, and nothing communicates:
 * ranks that are not recorded take part in each collective, too.
 */
#ifndef SS_INJECT_MPI_RECORDER_H
#define SS_INJECT_MPI_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SS_MPI_RECORDER_VERSION = 1, SS_MPI_NO_RANK = -1, SS_MPI_ALL = -1 };

/* A function of MPI. Its names are defined with its first events. */
struct ss_mpi_function {
    const char *text;
    bool transfers; /* a collective, a send, a receive; false: it waits, or makes a communicator */
    _Atomic uint32_t names[2]; /* as a plain range, as a collective */
};

/* Of a communicator. */
struct ss_mpi_group {
    uint32_t name; /* 0: it has ranks of several worlds, or is of two sides */
    uint32_t size;
    _Atomic int64_t collectives; /* begun so far */
    /* Ranks in the world: first + stride * rank, or listed. */
    int32_t first, stride;
    const int32_t *ranks;
    uint64_t hash;   /* of its ranks */
    uint32_t number; /* among the groups of the same ranks, from 0 */
    bool is_used;    /* by a communicator, now */
};

/* What a call does. */
struct ss_mpi_call {
    struct ss_mpi_function *function;
    struct ss_mpi_group *group; /* NULL: unknown, or several worlds */
    int64_t bytes;              /* -1: unknown */
    uint32_t datatype;          /* a name; 0: unknown */
    int32_t rank;               /* in the group: of the root, or of the partner */
    bool is_collective;         /* counts in its group */
    bool waits_for_none;        /* counts, but need not wait for the others: without their data */
};

/* The requests that one call waits for. */
struct ss_mpi_claims {
    uint32_t first, last; /* 0: none */
};

/* What MPI says when it is initialised. */
struct ss_mpi_world {
    const char *library, *threads;
    int rank, size;
};

struct ss_mpi_recorder {
    uint32_t version;
    /* Returns 0 where nothing is recorded. */
    uint64_t (*begin)(const struct ss_mpi_call *call);
    void (*end)(uint64_t id);

    /* `key`: the handle of a communicator. NULL: not added yet. */
    struct ss_mpi_group *(*find_group)(uint64_t key);
    /* `ranks`: in the world, of each rank of the group; NULL: a group without a name. `is_world`:
     * it is MPI_COMM_WORLD. NULL: no room. */
    struct ss_mpi_group *(*add_group)(uint64_t key, const int *ranks, uint32_t size, bool is_world);
    void (*remove_group)(uint64_t key);
    uint32_t (*group_size)(const struct ss_mpi_group *group); /* 0: it has no name */
    /* Two lists of `size` numbers, until unlock_ranks; NULL: no memory, and there is no lock. */
    int *(*lock_ranks)(uint32_t size);
    void (*unlock_ranks)(void);

    /* A request with an event that ends with it, or with a call that it repeats. */
    void (*put_request)(uint64_t key, uint64_t id);
    void (*put_persistent)(uint64_t key, const struct ss_mpi_call *call);
    void (*start_request)(uint64_t key);
    void (*free_request)(uint64_t key);
    /* Before the call, for each of its requests; `index` is its place among them. */
    void (*claim)(struct ss_mpi_claims *claims, uint64_t key, uint32_t index);
    /* After it: those that are complete (SS_MPI_ALL), then the rest. */
    void (*complete)(struct ss_mpi_claims *claims, int index);
    void (*release)(struct ss_mpi_claims *claims);

    uint32_t (*define)(const char *text);
    void (*begin_world)(const struct ss_mpi_world *world);
    void (*end_world)(void);
};

#endif
