/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a training of steady-state steps, for the tests of the diagnosis: how long each part
 * of a step takes, what runs in it, how many samples are where. training_builder.h makes a model of
 * it. Times are in µs.
 */
#ifndef SS_TESTS_TRAINING_SHAPE_H
#define SS_TESTS_TRAINING_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

struct made; /* of training_builder.h */

struct shape {
    uint32_t steps;
    uint64_t first_us; /* of the first step, more than of the others */
    uint64_t drift_us; /* each step's forward is so much longer than that of the one before */
    uint32_t jump_at;  /* from this step on, the forward is longer by: */
    uint64_t jump_us;
    uint32_t jump_operators;
    /* A step, in this order: data, preparing in no phase, forward, backward, optimizer, the rest
     * in no phase. */
    uint64_t data_us, prepare_us, forward_us, backward_us, optimizer_us, rest_us;
    int64_t workers, threads, cores, cuda;
    int64_t batch_bytes, batch_tensors;
    double cpu_busy;            /* percent of one core; < 0: not recorded */
    double cpu_own;             /* the same, of the process itself; 0: not recorded */
    double cpu_limit, cpu_used; /* of its container; 0: none */
    uint64_t fetch_us, collate_us;
    uint32_t batches;         /* of a step; 0: one */
    uint32_t iterators_each;  /* steps; 0: none is made */
    uint64_t worker_fetch_us; /* a worker fetches for this long, each step of the trainer */
    int64_t ready;
    uint32_t empty_each; /* of the steps, the others find as many as said; 0: all do */
    uint32_t operators;
    uint32_t operators_each; /* recorded in one of so many steps; 0: in each */
    uint64_t operator_us;
    uint32_t reads;
    const char *reads_phase; /* of the step's middle; NULL: forward */
    uint64_t read_us, between_us;
    uint32_t lossy_each;   /* steps, of which half of the reads are lost, as the counter says */
    uint32_t compile_each; /* steps; 0: never */
    uint64_t compile_us;
    uint64_t gc_us;
    uint32_t gc_each; /* steps; 0: in each */
    bool gc_compiles; /* in a phase of compiling */
    uint32_t save_each;
    uint64_t save_us, checkpoint_us; /* torch.save, and the phase around it */
    double memory_bytes;             /* 0: 300 MB */
    double grow_bytes;               /* per step, with some noise */
    bool jumps;                      /* all of it at once */
    /* Samples of later steps. */
    uint32_t epoch_each; /* steps; 0: there is one epoch */
    bool restarts;       /* the workers are of one epoch each */
    uint64_t restart_us, stop_us, first_wait_us, slow_forward_us; /* of its first step */
    uint32_t stall_each;                                          /* steps; 0: never */
    uint64_t stall_in;                                            /* also, bit by bit, in these */
    uint64_t stall_us;
    const char *stall_phase;                    /* NULL: in none */
    uint64_t acts_us;                           /* in the phase inference, in the same steps */
    uint64_t workers_asleep, workers_computing; /* samples */
    int64_t anomaly;
    uint64_t tracebacks; /* samples */
    uint32_t nan_checks; /* of a backward; 10 µs each */
    bool nan_checks_in_node;
    const char *dtype;      /* NULL: unknown */
    uint32_t cells;         /* calls in a forward; 1 ms each */
    uint64_t losses, plain; /* operators between forward and backward; Python in no phase */
    uint64_t direct_forward,
        metrics; /* operators in no phase: of a forward(), of another function */
    uint64_t computing, runnable, prepares, torch_other, logs, prints, reading, collecting,
        collates, receives, saves, writes;
    const struct shape *other; /* of a second trainer, process 142; NULL: none */
    /* Adds rows of its own after those of the shape; NULL: none. */
    void (*more)(struct made *made, const struct shape *shape);
};

/* 100 ms, mostly operators: nothing to say of it. */
static const struct shape clean = {.steps = 40,
                                   .data_us = 1000,
                                   .prepare_us = 1000,
                                   .forward_us = 30000,
                                   .backward_us = 50000,
                                   .optimizer_us = 15000,
                                   .rest_us = 3000,
                                   .workers = 2,
                                   .threads = 2,
                                   .cores = 8,
                                   .cpu_busy = 300,
                                   .worker_fetch_us = 40000,
                                   .ready = 3,
                                   .operators = 90,
                                   .operator_us = 1000,
                                   .computing = 400};

/* 199 ms a step, in which both workers fetch: a batch takes 398 ms. */
static inline struct shape waiting_for_workers(void)
{
    struct shape shape = clean;
    shape.data_us = 100000;
    shape.worker_fetch_us = 398000;
    shape.ready = 0;
    shape.workers_computing = 100;
    return shape;
}

#endif
