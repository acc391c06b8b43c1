/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one thread of another process: on a CPU, runnable, or asleep, and in which call.
 * Caches descriptors of the thread's /proc files: three preads cost less than one open. One per
 * sampled thread; owned by the sampling thread.
 *
 * A sleeping thread whose timeslice count is unchanged has not run: its state is unchanged.
 */
#ifndef SS_PLATFORM_TASK_STATE_H
#define SS_PLATFORM_TASK_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "platform/task_wait.h"

/* The values equal those of enum ss_thread_state of trace/records.h (statically asserted). */
enum ss_task_activity {
    SS_TASK_UNKNOWN,
    SS_TASK_ON_CPU,
    SS_TASK_RUNNABLE,
    SS_TASK_SLEEPING,
    SS_TASK_UNINTERRUPTIBLE,
    SS_TASK_STOPPED
};

struct ss_task_state {
    pid_t pid, tid;
    int schedstat_fd, syscall_fd, stat_fd; /* -1: not cached, opened for each read */
    uint64_t run_ns, wait_ns, timeslices;  /* as of the last update */
    uint64_t peeked[3];                    /* the same values, read before the update… */
    uint64_t peeked_ns;                    /* …at this time; 0: never */
    uint64_t checked_ns;                   /* when `activity` was determined */
    enum ss_task_activity activity;
    int64_t syscall_number; /* of the call in which it sleeps; -1: unknown */
    uint64_t syscall_argument;
    bool no_syscall_file; /* the syscall file is not readable */
    bool gone;
    uint8_t moved_polls; /* consecutive polls that found that it ran; saturates */
    uint8_t trusted;     /* consecutive polls that assumed that it ran */
};

void ss_task_state_open(struct ss_task_state *task, pid_t pid, pid_t tid);
void ss_task_state_close(struct ss_task_state *task);
/* Determines the activity. Returns false when the thread cannot have run since the last call: it
 * was asleep and has had no timeslice since. For a thread that ran in every recent poll this is not
 * checked each time: a few further calls may return true although it did not run. */
bool ss_task_state_update(struct ss_task_state *task, uint64_t now_ns);
/* Reads only the thread's run time (ns); an update with the same `now_ns` reuses the values. */
uint64_t ss_task_state_peek_run_ns(struct ss_task_state *task, uint64_t now_ns);
/* For a thread in a long sleep: reads the kind of sleep (disk, stopped). */
void ss_task_state_refine_sleep(struct ss_task_state *task);
/* Sets the state of a thread that the caller knows to sleep in a futex call on `address`. */
void ss_task_state_assume_wait(struct ss_task_state *task, uint64_t address, uint64_t now_ns);
/* The cause of a sleep, as of the last update; UNKNOWN for a thread that does not sleep, and where
 * the kernel does not report it. */
enum ss_task_wait ss_task_state_wait(const struct ss_task_state *task);
/* true: the thread sleeps in a futex call on an address in [address, address + length). */
bool ss_task_state_waits_on(const struct ss_task_state *task, uint64_t address, uint64_t length);

/* Run time of all threads of a process, including ended ones, in ns; 0: unknown. The clock id of a
 * process is constant: callers get it once. */
int ss_task_process_clock(pid_t pid);
uint64_t ss_task_process_run_ns(int clock);

#endif
