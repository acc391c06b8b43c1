/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_python_sampler. Private to the implementation of python_sampler.h. */
#ifndef SS_SOURCE_PYTHON_SAMPLER_INSIDE_H
#define SS_SOURCE_PYTHON_SAMPLER_INSIDE_H

#include <uthash.h>

#include "base/vec.h"
#include "source/python_sampler.h"

struct ss_sampler_entry {
    struct ss_sampler_thread public;
    struct ss_task_state state;
    pid_t inner_tid; /* in the pid namespace of the target */
    struct ss_python_thread *python;
    /* Its states in other interpreters, in the order of these: each was entered from the one
     * before. */
    struct ss_vec_of(struct ss_python_thread *) inner;
    struct ss_vec_of(uint32_t) joined; /* frames of its states so far, while they are read */
    size_t joined_states;
    enum ss_python_result joined_result;
    bool joined_holds_gil;
    struct ss_vec_of(uint32_t) frames; /* of the last sample */
    bool has_sample;
    bool partial;
    bool is_confirmed; /* the last sample */
    enum ss_sampler_gil gil;
    enum ss_task_activity activity;
    enum ss_task_wait wait;
    uint32_t pending_weight; /* ticks without movement, not emitted yet */
    uint64_t pending_ns;     /* the last of these ticks */
    uint32_t still_polls;    /* consecutive polls that found it asleep and unmoved */
    bool parked;             /* unmoved for a while: watched by the sum of run times */
    uint32_t name_polls;     /* name polls without result */
    bool named;
    bool listed;           /* found by the current task listing */
    uint64_t still_from;   /* while parked: pending_weight includes still ticks up to here */
    uint64_t poll_tick;    /* without Python frames: tick of the last poll… */
    uint64_t poll_still;   /* …and still_ticks at that poll */
    uint64_t gil_holder;   /* GIL holder at the last poll… */
    uint64_t gil_switches; /* …and number of holder changes */
    uint32_t inferred;     /* consecutive ticks with an inferred wait for the GIL */
    UT_hash_handle hh;     /* by tid */
};

/* Periodic work whose interval grows with its cost: at most a twentieth of the time, for any number
 * of threads. */
struct ss_sampler_chore {
    uint64_t next_ns, started_cpu_ns;
};

typedef struct ss_vec_of(struct ss_sampler_entry *) ss_sampler_entries;

struct ss_python_sampler {
    pid_t pid;
    struct ss_sampler_sink sink;
    struct ss_memory_reader *reader;
    struct ss_python *python;
    ss_sampler_entries entries;
    ss_sampler_entries named; /* Python threads sorted by pthread, while names are read */
    struct ss_sampler_entry *by_tid;
    struct ss_sampler_counts counts;
    uint64_t tick_ns;
    uint64_t bare_ns, threads_ns;
    struct ss_sampler_chore thread_list, task_list, names; /* cost grows with threads */
    struct ss_sampler_chore cache;
    /* Code objects are replaced at present: each stack is confirmed as it is read, until then. */
    uint64_t confirms_until_ns;
    uint64_t loads;    /* of code objects, before the current batch of stacks was read */
    uint64_t cache_ns; /* interval between two cache checks */
    uint32_t next_id;
    bool other_namespace, tids_known;
    bool threads_changed, names_wanted;
    /* A tick visits only the lists it needs: touching a hundred entries outside of the CPU cache
     * would cost more than all system calls of the tick. */
    ss_sampler_entries active, bare, parked;
    bool lists_stale, has_unborn;
    uint32_t thread_round;
    uint64_t ticks;
    /* Parked threads: one clock read shows whether any of them has run. */
    int run_clock;                  /* CPU clock of the process */
    uint64_t parked_run_ns;         /* total run time of parked and ended threads… */
    bool parked_known;              /* …valid when set */
    bool parked_still;              /* no parked thread has run since the last tick */
    uint64_t still_ticks, still_ns; /* number of such ticks; time of the last */
    /* The current batch of threads that moved. */
    struct ss_vec_of(struct ss_python_thread *) moved;
    /* The GIL at this tick. */
    struct ss_python_gil gil;
    bool has_gil;
    uint32_t waiters_trust; /* rises while the waiter count agrees with the kernel */
};

bool ss_sampler_chore_is_due(const struct ss_sampler_chore *chore, uint64_t now_ns);
void ss_sampler_chore_begin(struct ss_sampler_chore *chore);
void ss_sampler_chore_end(struct ss_sampler_chore *chore, const struct ss_clock *clock,
                          uint64_t interval_ns);

/* The entry of a Python thread, created if needed; NULL: not to be sampled yet. May free entries of
 * ended threads. */
struct ss_sampler_entry *ss_sampler_entry_of(struct ss_python_sampler *sampler,
                                             struct ss_python_thread *thread);
/* Emits the accumulated weight. */
void ss_sampler_flush_entry(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry);

void ss_sampler_note_replaced(struct ss_python_sampler *sampler, bool is_replaced);

/* python_sampler_names.c: how often the pause before the next poll is doubled. */
unsigned ss_sampler_poll_names(struct ss_python_sampler *sampler);

/* python_sampler_states.c */
void ss_sampler_unpark(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry);
/* Samples state and stack of each thread. False: the process has ended. */
bool ss_sampler_sample_threads(struct ss_python_sampler *sampler);

#endif
