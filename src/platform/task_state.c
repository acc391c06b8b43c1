/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/task_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/procfs.h"

enum {
    TRUST_AFTER_POLLS = 4, /* after so many consecutive polls in which the thread ran… */
    TRUSTED_POLLS = 7      /* …so many polls assume that it ran again */
};

/* Maximum of cached descriptors over all threads: half the limit, the rest is for other files. */
static int cached_fd_limit(void)
{
    static int limit = -1;
    if (limit < 0) {
        struct rlimit files;
        limit = 400;
        if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
            limit = (int)(files.rlim_cur / 2 > 65536 ? 65536 : files.rlim_cur / 2);
        }
    }
    return limit;
}

static int cached_fds;

static int open_cached(pid_t pid, pid_t tid, const char *name)
{
    char path[96];
    if (cached_fds >= cached_fd_limit()) {
        return -1;
    }
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cached_fds += fd >= 0;
    return fd;
}

static void close_cached(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        cached_fds--;
        *fd = -1;
    }
}

void ss_task_state_open(struct ss_task_state *task, pid_t pid, pid_t tid)
{
    *task = (struct ss_task_state){.pid = pid, .tid = tid, .syscall_number = -1};
    task->schedstat_fd = open_cached(pid, tid, "schedstat");
    task->syscall_fd = task->stat_fd = -1;
}

void ss_task_state_close(struct ss_task_state *task)
{
    close_cached(&task->schedstat_fd);
    close_cached(&task->syscall_fd);
    close_cached(&task->stat_fd);
}

static ssize_t read_task_file(struct ss_task_state *task, int fd, const char *name, char *text,
                              size_t size)
{
    ssize_t length;
    if (fd >= 0) {
        length = pread(fd, text, size - 1, 0);
    } else {
        char path[96];
        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)task->pid, (int)task->tid, name);
        length = ss_procfs_read(path, text, size);
    }
    if (length < 0) {
        task->gone = errno == ESRCH || errno == ENOENT;
        return -1;
    }
    text[length] = '\0';
    return length;
}

static enum ss_task_activity sleeping_kind(char state)
{
    switch (state) {
    case 'S':
    case 'I':
        return SS_TASK_SLEEPING;
    case 'D':
        return SS_TASK_UNINTERRUPTIBLE;
    case 'T':
    case 't':
        return SS_TASK_STOPPED;
    default:
        return SS_TASK_UNKNOWN;
    }
}

static char read_state(struct ss_task_state *task)
{
    char text[1024];
    if (task->stat_fd < 0) {
        task->stat_fd = open_cached(task->pid, task->tid, "stat");
    }
    if (read_task_file(task, task->stat_fd, "stat", text, sizeof text) <= 0) {
        return '?';
    }
    const char *close_at = strrchr(text, ')');
    char state = close_at != NULL && close_at[1] == ' ' ? close_at[2] : '?';
    task->gone = task->gone || state == 'Z' || state == 'X';
    return state;
}

/* Calls that sleep interruptibly: the stat file need not be read. */
static bool is_plain_wait(int64_t number)
{
    switch (number) {
    case SYS_futex:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_rt_sigtimedwait:
    case SYS_restart_syscall:
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
        return true;
    default:
        return false;
    }
}

/* /proc/…/syscall contains "running", or the call in which the thread sleeps with its arguments:
 * cheaper and more specific than stat. Returns 'R', 'S', or '?' when stat must be read. */
static char read_syscall(struct ss_task_state *task)
{
    char text[256];
    task->syscall_number = -1;
    if (task->no_syscall_file) {
        return '?';
    }
    if (task->syscall_fd < 0) {
        task->syscall_fd = open_cached(task->pid, task->tid, "syscall");
    }
    ssize_t length = read_task_file(task, task->syscall_fd, "syscall", text, sizeof text);
    if (length <= 0) {
        task->no_syscall_file = !task->gone;
        return '?';
    }
    if (text[0] == 'r') {
        return 'R';
    }
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || number < 0) {
        return '?';
    }
    task->syscall_number = number;
    task->syscall_argument = strtoull(end, NULL, 16);
    return is_plain_wait(number) ? 'S' : '?';
}

static bool read_schedstat(struct ss_task_state *task, uint64_t values[3])
{
    char text[128];
    if (read_task_file(task, task->schedstat_fd, "schedstat", text, sizeof text) <= 0) {
        return false;
    }
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        uint64_t value = 0;
        if (*at < '0' || *at > '9') {
            return false;
        }
        while (*at >= '0' && *at <= '9') {
            value = value * 10 + (uint64_t)(*at++ - '0');
        }
        values[i] = value;
        at += *at == ' ';
    }
    return true;
}

uint64_t ss_task_state_peek_run_ns(struct ss_task_state *task, uint64_t now_ns)
{
    if (!read_schedstat(task, task->peeked)) {
        task->peeked_ns = 0;
        return 0;
    }
    task->peeked_ns = now_ns;
    return task->peeked[0];
}

/* For a thread that ran in recent polls, reads the syscall file first and skips the counters when
 * it sleeps. Returns the state, or 0: not polled. */
static char poll_syscall_first(struct ss_task_state *task, uint64_t now_ns)
{
    bool is_peeked = task->peeked_ns == now_ns && now_ns != 0;
    if (is_peeked || task->moved_polls < TRUST_AFTER_POLLS || task->trusted >= TRUSTED_POLLS) {
        return 0;
    }
    char state = read_syscall(task);
    if (state == 'S') {
        task->activity = SS_TASK_SLEEPING;
        task->checked_ns = now_ns;
        task->trusted++;
    }
    return state;
}

/* State R covers running and runnable; the larger increment since the last poll decides. The
 * counters advance only at scheduler ticks: without an increment a thread runs unless it was
 * runnable. */
static enum ss_task_activity activity_of(const struct ss_task_state *task, char state,
                                         uint64_t ran_ns, uint64_t waited_ns)
{
    if (state != 'R') {
        return sleeping_kind(state);
    }
    bool has_advanced = ran_ns + waited_ns > 0;
    bool runs = has_advanced ? ran_ns >= waited_ns : task->activity != SS_TASK_RUNNABLE;
    return runs ? SS_TASK_ON_CPU : SS_TASK_RUNNABLE;
}

bool ss_task_state_update(struct ss_task_state *task, uint64_t now_ns)
{
    uint64_t values[3] = {0, 0, 0};
    bool known = true;
    bool slept = task->activity >= SS_TASK_SLEEPING;
    char state = poll_syscall_first(task, now_ns);
    if (state == 'S') {
        return true;
    }
    task->trusted = 0;
    if (task->peeked_ns == now_ns && now_ns != 0) {
        memcpy(values, task->peeked, sizeof values);
    } else {
        known = read_schedstat(task, values);
    }
    if (known && slept && state != 'R' && values[2] == task->timeslices &&
        values[0] == task->run_ns) {
        task->moved_polls = 0;
        return false;
    }
    uint64_t ran_ns = values[0] - task->run_ns;
    uint64_t waited_ns = values[1] - task->wait_ns;
    state = state != 0 ? state : read_syscall(task);
    if (state == '?') {
        state = read_state(task);
    }
    task->activity = activity_of(task, state, ran_ns, waited_ns);
    /* Without schedstat (kernels built without it) every poll counts as a new timeslice. */
    task->run_ns = values[0];
    task->wait_ns = values[1];
    task->timeslices = known ? values[2] : task->timeslices + 1;
    task->checked_ns = now_ns;
    task->moved_polls += task->moved_polls < TRUST_AFTER_POLLS;
    return true;
}

void ss_task_state_assume_wait(struct ss_task_state *task, uint64_t address, uint64_t now_ns)
{
    task->activity = SS_TASK_SLEEPING;
    task->syscall_number = SYS_futex;
    task->syscall_argument = address;
    task->checked_ns = now_ns;
}

void ss_task_state_refine_sleep(struct ss_task_state *task)
{
    enum ss_task_activity kind = sleeping_kind(read_state(task));
    if (kind != SS_TASK_UNKNOWN) {
        task->activity = kind;
    }
}

enum ss_task_wait ss_task_state_wait(const struct ss_task_state *task)
{
    bool is_asleep =
        task->activity == SS_TASK_SLEEPING || task->activity == SS_TASK_UNINTERRUPTIBLE;
    bool in_call = task->syscall_number >= 0 || task->activity == SS_TASK_UNINTERRUPTIBLE;
    return is_asleep && in_call && !task->no_syscall_file
               ? ss_task_wait_of_call(task->pid, task->syscall_number, task->syscall_argument)
               : SS_TASK_WAIT_UNKNOWN;
}

bool ss_task_state_waits_on(const struct ss_task_state *task, uint64_t address, uint64_t length)
{
    return task->syscall_number == SYS_futex && task->syscall_argument >= address &&
           task->syscall_argument - address < length;
}

int ss_task_process_clock(pid_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) == 0 ? clock : 0;
}

uint64_t ss_task_process_run_ns(int clock)
{
    struct timespec time;
    if (clock == 0 || clock_gettime(clock, &time) != 0) {
        return 0;
    }
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}
