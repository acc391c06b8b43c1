/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks, execs and exits of a process and all its descendants, reported by the kernel: one perf
 * "dummy" event per CPU with task and comm records, inherited by children. No process is too
 * short-lived to be reported. Opened on a process before it runs; needs perf_event_paranoid ≤ 2 and
 * a seccomp filter that allows perf_event_open; else SS_E_UNSUPPORTED or SS_E_PERMISSION, and
 * callers poll. One owner thread.
 */
#ifndef SS_PLATFORM_TASK_EVENTS_H
#define SS_PLATFORM_TASK_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum ss_task_event_kind {
    SS_TASK_FORKED, /* a new process; `parent` forked it */
    SS_TASK_THREAD, /* a new thread `tid` of process `pid` */
    SS_TASK_EXECED, /* `name` is the new comm */
    SS_TASK_EXITED, /* task `tid` of `pid`; the process when tid == pid */
    SS_TASK_MISSED  /* records were lost: scan /proc */
};

struct ss_task_event {
    enum ss_task_event_kind kind;
    pid_t pid, tid, parent;
    char name[16];
};

struct ss_task_events;

enum ss_status ss_task_events_open(pid_t pid, struct ss_task_events **events, struct ss_error *err);
/* Calls `on_event` for each new event, in time order; makes no system call when there is none. */
void ss_task_events_drain(struct ss_task_events *events,
                          void (*on_event)(void *context, const struct ss_task_event *event),
                          void *context);
void ss_task_events_close(struct ss_task_events *events);

#endif
