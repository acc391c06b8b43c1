/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one thread of another process does: on a CPU, waiting for one, asleep, and in which call.
 * Keeps the thread's /proc files open: three preads cost less than one open. One per watched
 * thread; owned by the sampling thread.
 *
 * A sleeping thread whose timeslice count has not moved has not run: nothing about it changed.
 */
#ifndef SS_PLATFORM_TASK_STATE_H
#define SS_PLATFORM_TASK_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "platform/task_wait.h"

/* The values are those of enum ss_thread_state of trace/records.h (checked where they meet). */
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
    int schedstat_fd, syscall_fd, stat_fd; /* -1: not kept open, opened for each read */
    uint64_t run_ns, wait_ns, timeslices;  /* as of the last update */
    uint64_t peeked[3];                    /* the same, read ahead of the update… */
    uint64_t peeked_ns;                    /* …at this time; 0: never */
    uint64_t checked_ns;                   /* when `activity` was determined */
    enum ss_task_activity activity;
    int64_t syscall_number; /* it sleeps in; -1: none known */
    uint64_t syscall_argument;
    bool no_syscall_file; /* may not be read */
    bool gone;
    uint8_t moved_looks; /* in a row that found it had run; saturates */
    uint8_t trusted;     /* looks in a row that took this for granted */
};

void ss_task_state_open(struct ss_task_state *task, pid_t pid, pid_t tid);
void ss_task_state_close(struct ss_task_state *task);
/* Determines the activity. Returns false when the thread cannot have moved since the last call: it
 * slept then and has had no timeslice since. Of a thread that has moved at every look for a while
 * this is not asked each time: it may be said to have moved a few times more. */
bool ss_task_state_update(struct ss_task_state *task, uint64_t now_ns);
/* Reads the thread's run time (ns) only; an update with the same `now_ns` uses what was read. */
uint64_t ss_task_state_peek_run_ns(struct ss_task_state *task, uint64_t now_ns);
/* For a thread that sleeps longer: asks the kernel for the kind of sleep (disk, stopped). */
void ss_task_state_refine_sleep(struct ss_task_state *task);
/* For a thread that is known by other means to sleep in a futex call on `address`. */
void ss_task_state_take_wait(struct ss_task_state *task, uint64_t address, uint64_t now_ns);
/* What a thread that sleeps waits for, as of the last update; UNKNOWN for one that does not, and
 * where the kernel does not say. */
enum ss_task_wait ss_task_state_wait(const struct ss_task_state *task);
/* True when the thread sleeps in a futex call on an address in [address, address + length). */
bool ss_task_state_waits_on(const struct ss_task_state *task, uint64_t address, uint64_t length);

/* Run time of all threads of a process, ended ones included, in ns; 0 when unknown. The clock of a
 * process stays the same: it is asked for once. */
int ss_task_process_clock(pid_t pid);
uint64_t ss_task_process_run_ns(int clock);

#endif
