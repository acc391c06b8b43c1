/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct ss_python_sampler, shared by the files that implement python_sampler.h. */
#ifndef SS_SOURCE_SAMPLER_INSIDE_H
#define SS_SOURCE_SAMPLER_INSIDE_H

#include <uthash.h>

#include "base/vec.h"
#include "source/python_sampler.h"

struct ss_sampler_entry {
    struct ss_sampler_thread public;
    struct ss_task_state state;
    pid_t inner_tid; /* in the target's own pid namespace */
    struct ss_python_thread *python;
    struct ss_vec_of(uint32_t) frames; /* of the last sample */
    bool has_sample;
    bool partial;
    enum ss_sampler_gil gil;
    enum ss_task_activity activity;
    enum ss_task_wait wait;
    uint32_t pending_weight; /* ticks without movement, not handed out yet */
    uint64_t pending_ns;     /* the last of them */
    uint32_t still_looks;    /* looks in a row that found it asleep and unmoved */
    bool parked;             /* still for a while: watched by the sum of run times */
    uint32_t name_looks;     /* without finding one */
    bool named;
    bool listed;           /* mark of the task scan */
    uint64_t still_from;   /* still ticks up to here are in pending_weight; while parked */
    uint64_t look_tick;    /* without Python frames: the tick of the last look… */
    uint64_t look_still;   /* …and the still ticks until then */
    uint64_t gil_holder;   /* when it was last looked at: who had the GIL, … */
    uint64_t gil_switches; /* …and how often it had changed hands */
    uint32_t inferred;     /* times in a row that its wait for the GIL was inferred */
    UT_hash_handle hh;     /* by tid */
};

/* Work that is done now and then, and less often the longer it takes: at most a twentieth of the
 * time goes into one of them, however many threads there are. */
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
    ss_sampler_entries named; /* Python threads by pthread; while names are read */
    struct ss_sampler_entry *by_tid;
    struct ss_sampler_counts counts;
    uint64_t tick_ns;
    uint64_t bare_ns, threads_ns;
    struct ss_sampler_chore thread_list, task_list, names; /* what costs more with more threads */
    struct ss_sampler_chore cache;
    uint64_t cache_ns; /* between two checks of it */
    uint32_t next_id;
    bool other_namespace, tids_known;
    bool threads_changed, names_wanted;
    /* A tick goes through those of its own kind only: a look at each of a hundred entries that are
     * not in the CPU's cache would cost more than all that is asked of the kernel. */
    ss_sampler_entries active, bare, parked;
    bool lists_stale, has_unborn;
    uint32_t thread_round;
    uint64_t ticks;
    /* Parked threads: one clock read tells that none of them has run. */
    int run_clock;                  /* of the process */
    uint64_t parked_run_ns;         /* run time of the parked and the ended threads together… */
    bool parked_known;              /* …when this is set */
    bool parked_still;              /* none has run since the last tick */
    uint64_t still_ticks, still_ns; /* such ticks, and the last of them */
    /* This tick's batch. */
    struct ss_vec_of(struct ss_python_thread *) moved;
    /* The GIL at this tick. */
    struct ss_python_gil gil;
    bool has_gil;
    uint32_t waiters_trust; /* ticks in a row that the number of waiters was what the kernel said */
};

bool ss_sampler_chore_is_due(const struct ss_sampler_chore *chore, uint64_t now_ns);
void ss_sampler_chore_begin(struct ss_sampler_chore *chore);
void ss_sampler_chore_end(struct ss_sampler_chore *chore, uint64_t interval_ns);

/* The entry of a Python thread, made where there is none; NULL: not to be sampled yet. May free
 * entries of threads that have ended. */
struct ss_sampler_entry *ss_sampler_entry_of(struct ss_python_sampler *sampler,
                                             struct ss_python_thread *thread);
/* Hands out the weight that has grown. */
void ss_sampler_flush_entry(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry);

/* sampler_names.c */
void ss_sampler_look_at_names(struct ss_python_sampler *sampler);

/* sampler_states.c */
void ss_sampler_unpark(struct ss_python_sampler *sampler, struct ss_sampler_entry *entry);
/* The state and the stack of each thread. False: the process is gone. */
bool ss_sampler_sample_threads(struct ss_python_sampler *sampler);

#endif
