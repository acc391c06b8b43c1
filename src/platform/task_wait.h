/* SPDX-License-Identifier: Apache-2.0 */
/* What a sleeping thread waits for, by the system call that it sleeps in. Stateless. */
#ifndef SS_PLATFORM_TASK_WAIT_H
#define SS_PLATFORM_TASK_WAIT_H

#include <stdint.h>
#include <sys/types.h>

/* The values are those of enum ss_wait_kind of trace/records.h (checked where they meet). */
enum ss_task_wait {
    SS_TASK_WAIT_UNKNOWN,
    SS_TASK_WAIT_FUTEX, /* a lock, a condition, another thread */
    SS_TASK_WAIT_TIMER, /* nanosleep and the like */
    SS_TASK_WAIT_POLL,  /* poll, select, epoll: any of several descriptors */
    SS_TASK_WAIT_SOCKET,
    SS_TASK_WAIT_PIPE, /* or a terminal, or another device that is read like one */
    SS_TASK_WAIT_FILE, /* a file, its metadata, or a page that is read from disk */
    SS_TASK_WAIT_CHILD,
    SS_TASK_WAIT_OTHER /* another call */
};

/* `number` -1: in no call, as at a page fault. `descriptor` is the call's first argument; where the
 * call works on any kind of descriptor, the link in /proc/PID/fd says which it is. */
enum ss_task_wait ss_task_wait_of_call(pid_t pid, int64_t number, uint64_t descriptor);

#endif
