/* SPDX-License-Identifier: Apache-2.0 */
#include "source/children.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "base/alloc.h"
#include "platform/procfs.h"
#include "platform/task_events.h"

static const uint64_t poll_ns = UINT64_C(20000000);   /* check of the newest pid, without events */
static const uint64_t scan_ns = UINT64_C(1000000000); /* full scan of /proc, without events */
static const uint64_t ended_ns =
    UINT64_C(200000000); /* check for ended processes, without events */
static const uint64_t recheck_ns =
    UINT64_C(10000000); /* re-check of a process whose main thread has ended */
enum { MAX_NEW_PIDS = 2048 };

struct child {
    pid_t pid;
    uint64_t start_time_ticks; /* 0: not polled yet */
    char name[16];
    bool main_thread_ended; /* other threads may still run */
    UT_hash_handle hh;
};

struct ss_children {
    pid_t root, adopt;
    bool follow;
    struct ss_children_sink sink;
    struct ss_task_events *events;
    struct child *by_pid;
    int loadavg_fd;
    pid_t last_pid;
    uint64_t polled_ns, scanned_ns, ended_ns;
    bool missed;
    bool needs_recheck; /* the main thread of a child has ended, the process may still run */
};

static struct child *find_child(struct ss_children *children, pid_t pid)
{
    struct child *child = NULL;
    HASH_FIND_INT(children->by_pid, &pid, child);
    return child;
}

static struct child *add_child(struct ss_children *children, pid_t pid, pid_t parent)
{
    struct child *child = ss_alloc_zero(1, sizeof *child);
    child->pid = pid;
    HASH_ADD_INT(children->by_pid, pid, child);
    if (pid != children->root) {
        children->sink.appeared(children->sink.context, pid, parent);
    }
    return child;
}

static void remove_child(struct ss_children *children, struct child *child)
{
    HASH_DEL(children->by_pid, child);
    children->sink.ended(children->sink.context, child->pid, child->name);
    ss_free(child);
}

struct ss_children *ss_children_open(pid_t root, bool follow, bool use_events, pid_t adopt,
                                     const struct ss_children_sink *sink, char *reason)
{
    struct ss_children *children = ss_alloc_zero(1, sizeof *children);
    children->root = root;
    children->adopt = adopt;
    children->follow = follow;
    children->sink = *sink;
    children->loadavg_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    struct ss_error err = {.message = "the process ran before it was watched"};
    if (!use_events || ss_task_events_open(root, &children->events, &err) != SS_OK) {
        children->events = NULL;
    }
    if (reason != NULL) {
        snprintf(reason, 512, "%s", children->events != NULL ? "" : err.message);
    }
    add_child(children, root, 0);
    return children;
}

bool ss_children_uses_events(const struct ss_children *children)
{
    return children->events != NULL;
}

/* --- kernel events --------------------------------------------------------------------------- */

/* The end of the main thread is not always the end of the process: another thread may have called
 * exec, which ends the main thread and inherits its id, or the other threads may still run. */
static bool is_over(const struct ss_procfs_stat *stat)
{
    return (stat->state == 'Z' || stat->state == 'X') && stat->thread_count <= 1;
}

static bool has_ended(pid_t pid)
{
    struct ss_procfs_stat stat;
    return !ss_procfs_stat(pid, 0, &stat) || is_over(&stat);
}

static void on_exited(struct ss_children *children, struct child *child, pid_t tid)
{
    bool is_main_thread = tid == child->pid;
    child->main_thread_ended = child->main_thread_ended || is_main_thread;
    if (child->main_thread_ended && has_ended(child->pid)) {
        remove_child(children, child);
    } else {
        children->needs_recheck = children->needs_recheck || is_main_thread;
        children->sink.threads_changed(children->sink.context, child->pid);
    }
}

/* The kernel reports an exit shortly before /proc shows it. */
static void recheck_ended(struct ss_children *children)
{
    struct child *child, *next;
    children->needs_recheck = false;
    HASH_ITER(hh, children->by_pid, child, next)
    {
        if (child->main_thread_ended && has_ended(child->pid)) {
            remove_child(children, child);
        } else {
            children->needs_recheck = children->needs_recheck || child->main_thread_ended;
        }
    }
}

static void on_event(void *context, const struct ss_task_event *event)
{
    struct ss_children *children = context;
    struct child *child = find_child(children, event->pid);
    switch (event->kind) {
    case SS_TASK_FORKED:
        if (children->follow && child == NULL) {
            child = add_child(children, event->pid, event->parent);
            const struct child *parent = find_child(children, event->parent);
            if (parent != NULL) {
                memcpy(child->name, parent->name, sizeof child->name);
            }
        }
        break;
    case SS_TASK_THREAD:
        if (child != NULL) {
            children->sink.threads_changed(children->sink.context, event->pid);
        }
        break;
    case SS_TASK_EXECED:
        if (child != NULL) {
            memcpy(child->name, event->name, sizeof child->name);
            child->main_thread_ended = false;
            children->sink.execed(children->sink.context, event->pid, event->name);
        }
        break;
    case SS_TASK_EXITED:
        if (child != NULL) {
            on_exited(children, child, event->tid);
        }
        break;
    case SS_TASK_MISSED:
        children->missed = true;
        break;
    }
}

/* --- polling --------------------------------------------------------------------------------- */

static void check_pid(void *context, pid_t pid)
{
    struct ss_children *children = context;
    pid_t tgid, parent;
    if (find_child(children, pid) != NULL || pid == children->adopt ||
        !ss_procfs_task_parents(pid, &tgid, &parent)) {
        return;
    }
    if (tgid != pid) {
        if (find_child(children, tgid) != NULL) {
            children->sink.threads_changed(children->sink.context, tgid);
        }
        return;
    }
    bool ours =
        find_child(children, parent) != NULL || (children->adopt != 0 && parent == children->adopt);
    if (children->follow && ours) {
        add_child(children, pid, parent);
    }
}

static void check_new_pids(struct ss_children *children)
{
    pid_t last = ss_procfs_last_pid(children->loadavg_fd);
    if (last == children->last_pid && last != 0) {
        return;
    }
    bool wrapped = last < children->last_pid || children->last_pid == 0 || last == 0;
    if (wrapped || last - children->last_pid > MAX_NEW_PIDS) {
        ss_procfs_each_id("/proc", check_pid, children);
    } else {
        for (pid_t pid = children->last_pid + 1; pid <= last; pid++) {
            check_pid(children, pid);
        }
    }
    children->last_pid = last;
}

static void check_ended(struct ss_children *children)
{
    struct child *child, *next;
    HASH_ITER(hh, children->by_pid, child, next)
    {
        struct ss_procfs_stat stat;
        bool is_alive = ss_procfs_stat(child->pid, 0, &stat) && !is_over(&stat);
        if (!is_alive ||
            (child->start_time_ticks != 0 && stat.start_time_ticks != child->start_time_ticks)) {
            remove_child(children, child);
            continue;
        }
        child->start_time_ticks = stat.start_time_ticks;
        snprintf(child->name, sizeof child->name, "%.15s", stat.comm);
    }
}

void ss_children_poll(struct ss_children *children, uint64_t now_ns)
{
    if (children->events != NULL) {
        ss_task_events_drain(children->events, on_event, children);
        if (children->missed) {
            children->missed = false;
            ss_procfs_each_id("/proc", check_pid, children);
            check_ended(children);
        }
        if (children->needs_recheck && now_ns - children->ended_ns >= recheck_ns) {
            children->ended_ns = now_ns;
            recheck_ended(children);
        }
        return;
    }
    if (now_ns - children->polled_ns >= poll_ns) {
        children->polled_ns = now_ns;
        check_new_pids(children);
    }
    if (now_ns - children->scanned_ns >= scan_ns) {
        children->scanned_ns = now_ns;
        ss_procfs_each_id("/proc", check_pid, children);
    }
    if (now_ns - children->ended_ns >= ended_ns) {
        children->ended_ns = now_ns;
        check_ended(children);
    }
}

void ss_children_close(struct ss_children *children)
{
    if (children == NULL) {
        return;
    }
    struct child *child, *next;
    HASH_ITER(hh, children->by_pid, child, next)
    {
        HASH_DEL(children->by_pid, child);
        ss_free(child);
    }
    ss_task_events_close(children->events);
    if (children->loadavg_fd >= 0) {
        close(children->loadavg_fd);
    }
    ss_free(children);
}
