/* SPDX-License-Identifier: Apache-2.0 */
/* What a sleeping thread waits for, derived from the system call in which it sleeps. Stateless. */
#ifndef SS_PLATFORM_TASK_WAIT_H
#define SS_PLATFORM_TASK_WAIT_H

#include <stdint.h>
#include <sys/types.h>

/* The values equal those of enum ss_wait_kind of trace/records.h (statically asserted). */
enum ss_task_wait {
    SS_TASK_WAIT_UNKNOWN,
    SS_TASK_WAIT_FUTEX, /* a lock, a condition, another thread */
    SS_TASK_WAIT_TIMER, /* nanosleep, clock_nanosleep */
    SS_TASK_WAIT_POLL,  /* poll, select, epoll: any of several descriptors */
    SS_TASK_WAIT_SOCKET,
    SS_TASK_WAIT_PIPE, /* or a terminal, or another file below /dev */
    SS_TASK_WAIT_FILE, /* a file, its metadata, or a page fault from disk */
    SS_TASK_WAIT_CHILD,
    SS_TASK_WAIT_OTHER /* any other call */
};

/* `number` -1: in no call, as at a page fault. `descriptor` is the call's first argument; for calls
 * that accept any kind of descriptor, the link in /proc/PID/fd gives the kind. */
enum ss_task_wait ss_task_wait_of_call(pid_t pid, int64_t number, uint64_t descriptor);

#endif
