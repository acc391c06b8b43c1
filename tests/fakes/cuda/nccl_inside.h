/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the fake NCCL: communicators in memory that the processes of a machine share. */
#ifndef FAKE_NCCL_INSIDE_H
#define FAKE_NCCL_INSIDE_H

#include "core.h"

#include <stdatomic.h>

#define EXPORT __attribute__((visibility("default")))

enum { NCCL_OK = 0, NCCL_SYSTEM_ERROR = 2, NCCL_INVALID_ARGUMENT = 4, NCCL_INVALID_USAGE = 5 };
enum { NCCL_SUM, NCCL_PRODUCT, NCCL_MAX, NCCL_MIN, NCCL_AVERAGE };
enum { NCCL_INT32 = 2, NCCL_INT64 = 4, NCCL_FLOAT = 7, NCCL_DOUBLE = 8, NCCL_TYPES = 12 };

enum { MOST_RANKS = 8, SLOTS = 256, PAIR_SLOTS = 64, DATA_BYTES = 16384 };

/* What the ranks of one collective share; used again SLOTS collectives later. */
struct slot {
    _Atomic uint64_t come[MOST_RANKS]; /* the number of the collective + 1 */
    uint64_t start_ns[MOST_RANKS];
    unsigned char data[MOST_RANKS][DATA_BYTES]; /* what each sends, if it fits */
};

/* Messages from one rank to another. */
struct pair {
    _Atomic uint64_t sent, received;
    uint64_t start_ns[PAIR_SLOTS];
    unsigned char data[PAIR_SLOTS][DATA_BYTES];
};

struct shared {
    atomic_uint joined, aborted;
    struct slot slots[SLOTS];
    struct pair pairs[MOST_RANKS][MOST_RANKS];
};

struct comm {
    struct shared *shared;
    int rank, ranks, device;
    uint64_t next; /* the number of the next collective */
    uint64_t sent[MOST_RANKS], received[MOST_RANKS];
    uint64_t hash;       /* the same on all ranks */
    uint64_t numbers[8]; /* operations so far, by function */
    void *profiler;      /* a context of the profiler plugin */
};

struct nccl_id {
    char bytes[128];
};

/* One operation of one rank, until its end. */
enum function { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECEIVE };

struct operation {
    enum function function;
    struct comm *comm;
    const void *from;
    void *to;
    size_t count;
    int type, reduction, root; /* root: of a message, the other rank */
    uint64_t number;
    bool has_come;
};

size_t nccl_bytes(int type, size_t count);
/* Moves what has been sent to where it belongs; more than DATA_BYTES is not moved. */
void nccl_move(const struct operation *operation, struct slot *slot);

#endif
